package shadow

import (
	"context"
	"errors"
	"io"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// reading gives the entries of a recording as they come.
type reading struct {
	entries chan session.Entry
	done    chan struct{}
	ended   chan error    // nil if the recording, or the reading, was ended
	over    chan struct{} // closed when nothing is read any more
	stop    <-chan struct{}
}

func follow(ctx context.Context, src replay.Source) *reading {
	r := &reading{
		entries: make(chan session.Entry), done: make(chan struct{}), ended: make(chan error, 1), over: make(chan struct{}), stop: ctx.Done(),
	}
	go func() { // ends with ctx or with the recording
		defer close(r.over)
		for {
			e, err := src.Next(ctx)
			if err != nil {
				if errors.Is(err, io.EOF) || ctx.Err() != nil {
					err = nil
				}
				r.ended <- err
				return
			}
			select {
			case r.entries <- e:
			case <-r.stop:
				return
			}
			select { // what an entry refers to is valid until the next is read
			case <-r.done:
			case <-r.stop:
				return
			}
		}
	}()
	return r
}

// next says that the last entry is not needed any more.
func (r *reading) next() {
	select {
	case r.done <- struct{}{}:
	case <-r.stop:
	}
}
