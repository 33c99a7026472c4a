package recorder

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/xdsproxy/xdsproxy/session"
)

// Entries gives what Next does, up to the end of what is there. An error
// comes last, with an empty entry. What has been written since is given by another
// Entries.
func (r *Reader) Entries(ctx context.Context) iter.Seq2[session.Entry, error] {
	return func(yield func(session.Entry, error) bool) {
		for {
			e, err := r.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}
