package input

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// marksOf reads which entries of a source are marked: as of now, since a mark is
// a note that comes after its entry. Next goes on with the first entry of all.
func marksOf(ctx context.Context, src *Source) (map[session.Seq]bool, error) {
	switch {
	case src.Script: // it has no notes of people
		return nil, nil
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
	marked, err := readMarks(ctx, src)
	src.Want(nil)
	if err != nil && !Damaged(err) { // what is damaged is met again
		return nil, err
	}
	if err := src.Seek(0); err != nil {
		return nil, Unreadable(err)
	}
	return marked, nil
}

func readMarks(ctx context.Context, src *Source) (map[session.Seq]bool, error) {
	marked := make(map[session.Seq]bool)
	for {
		e, err := src.Next(ctx)
		if errors.Is(err, io.EOF) {
			return marked, nil
		}
		if err != nil {
			return marked, Unreadable(err)
		}
		if n := e.Note; n != nil && n.About != 0 {
			switch n.Code {
			case session.NoteMark:
				marked[n.About] = true
			case session.NoteUnmark:
				delete(marked, n.About)
			}
		}
	}
}
