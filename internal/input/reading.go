package input

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Reading is the progress of a reading of src.
func (o *Opener) Reading(src *Source) *console.Progress {
	return o.Progress("reading", src.Name, func() (int64, uint64) {
		f := src.Facts()
		return f.Bytes, f.Entries
	})
}

// Each reads a source to its end, through step, and shows how far it has come.
// Messages come in pieces.
func (o *Opener) Each(ctx context.Context, src *Source, step Stepper, v Visit) error {
	src.Pieces()
	done := o.Reading(src)
	defer done.End()
	return Each(ctx, src, step, func(e *session.Entry, c *check.Change) error {
		done.Advance()
		return v(e, c)
	})
}

// Entries yields the entries of a source to its end, or to an error.
func (o *Opener) Entries(ctx context.Context, src *Source, failure *error) iter.Seq[session.Entry] {
	return func(yield func(session.Entry) bool) {
		done := o.Reading(src)
		defer done.End()
		for {
			e, err := src.Next(ctx)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				*failure = Unreadable(err)
				return
			}
			done.Advance()
			if !yield(e) {
				return
			}
		}
	}
}

// Clients gathers node ids from the headers of blocks. It says whether there
// may be more, in blocks that had no room for them all.
func (s *Source) Clients(ctx context.Context, meet func(id string)) (more bool, err error) {
	s.Want(func(b *recorder.Block) bool {
		more = more || b.ManyLabels
		for _, l := range b.Labels {
			if id, is := strings.CutPrefix(l, filter.ClientLabel); is {
				meet(id)
			}
		}
		return false
	})
	_, err = s.Next(ctx)
	if errors.Is(err, io.EOF) {
		return more, nil
	}
	return more, Unreadable(err)
}

// Header is what a source says of itself at its beginning, of which a running
// proxy has sent nothing before it is read.
func (s *Source) Header() recorder.Facts {
	if s.Viewer != nil {
		return s.Viewer.Info().Facts
	}
	return s.Facts()
}
