package input

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// marksOf reads which entries of a source are marked: as of now, since a mark is
// a note that comes after its entry. Next goes on with the first entry of all.
func marksOf(ctx context.Context, src *Source) (map[session.Seq]bool, error) {
	said, err := notesIn(ctx, src)
	if err != nil {
		return nil, err
	}
	marked := make(map[session.Seq]bool)
	for seq, n := range src.Notes().Over(said) {
		marked[seq] = n.Marked
	}
	return marked, nil
}

// notesIn are the marks that the recording itself has.
func notesIn(ctx context.Context, src *Source) (*notes.Notes, error) {
	switch {
	case src.Script: // it has no notes of people
		return notes.New(time.Time{}), nil
	case src.Viewer != nil:
		reader := src.Viewer.Open(0, 0)
		again := &Source{Reader: reader.Reader, Name: src.Name, Viewer: src.Viewer, remote: reader}
		defer again.Close()
		again.Follow(false)
		return readMarks(ctx, again)
	}
	src.Reader.Follow(false)
	defer src.Reader.Follow(src.following)
	src.held = nil
	if err := src.Seek(0); err != nil {
		return nil, Unreadable(err)
	}
	src.Want(func(b *recorder.Block) bool {
		return b.ManyLabels || len(b.Labels) == 0 || slices.Contains(b.Labels, store.Marks)
	})
	said, err := readMarks(ctx, src)
	src.Want(nil)
	if err != nil && !Damaged(err) { // what is damaged is met again
		return nil, err
	}
	if err := src.Seek(0); err != nil {
		return nil, Unreadable(err)
	}
	return said, nil
}

func readMarks(ctx context.Context, src *Source) (*notes.Notes, error) {
	said := notes.New(time.Time{})
	for {
		e, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return said, nil
		}
		if err != nil {
			return said, Unreadable(err)
		}
		said.Said(e.Note)
	}
}
