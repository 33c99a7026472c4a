package main

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// marksLabel is the label of blocks in which people marked something, or took a
// mark away.
const marksLabel = "marks"

// marksOf reads which entries of a source are marked: as of now, since a mark is
// a note that comes after its entry. Next goes on with the first entry of all.
func marksOf(ctx context.Context, src *source) (map[session.Seq]bool, error) {
	marked := make(map[session.Seq]bool)
	if src.script { // it has no notes of people
		return marked, nil
	}
	following := src.following
	src.Follow(false)
	src.Want(func(b *recorder.Block) bool {
		return b.ManyLabels || len(b.Labels) == 0 || slices.Contains(b.Labels, marksLabel)
	})
	defer func() {
		src.Want(nil)
		src.Follow(following)
	}()
	src.held = nil
	if err := src.Seek(0); err != nil {
		return nil, unreadable(err)
	}
	for {
		e, err := src.Next(ctx)
		if errors.Is(err, io.EOF) || damaged(err) { // what is damaged is met again
			break
		}
		if err != nil {
			return nil, unreadable(err)
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
	src.Want(nil)
	if err := src.Seek(0); err != nil {
		return nil, unreadable(err)
	}
	return marked, nil
}
