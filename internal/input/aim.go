package input

import (
	"context"
	"errors"
	"io"
	"slices"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// aimed is which streams the few entries are of that are wanted of a recording that
// lies elsewhere. How others began is no matter, and is not fetched.
type aimed struct {
	streams map[session.StreamID]begun
}

// begun is what was seen of how a stream began.
type begun struct{ opened, named bool }

// aimAt finds the streams of the entries that are wanted, if span is of just
// them; nil if all beginnings are to be looked at.
func (w *walker) aimAt(ctx context.Context, span filter.Span) (*aimed, error) {
	if w.src.far == nil || w.src.far.aim.First == 0 || span.First != w.src.far.aim.First {
		return nil, nil
	}
	a, err := w.streamsOf(ctx, span.First, w.src.far.aim.Last)
	if err != nil {
		return nil, err
	}
	w.src.held = nil
	if err := w.src.Seek(0); err != nil && !Damaged(err) { // what is damaged is met again
		return nil, Unreadable(err)
	}
	return a, nil
}

func (w *walker) streamsOf(ctx context.Context, first, last session.Seq) (*aimed, error) {
	if err := w.src.Seek(first); err != nil {
		if Damaged(err) {
			return nil, nil
		}
		return nil, Unreadable(err)
	}
	a := &aimed{streams: make(map[session.StreamID]begun)}
	for range maxAim {
		e, err := w.src.Next(ctx)
		switch {
		case errors.Is(err, io.EOF) || err == nil && e.Seq > last:
			return a, nil
		case Damaged(err):
			return nil, nil
		case err != nil:
			return nil, Unreadable(err)
		case e.Stream != 0:
			a.streams[e.Stream] = begun{}
		case e.Conn != 0: // which streams it had is not said
			return nil, nil
		}
	}
	return a, nil
}

// wants says whether a block with beginnings may have some that count.
func (a *aimed) wants(b *recorder.Block) bool {
	if b.ManyStreams {
		for id, s := range a.streams {
			if (!s.opened || !s.named) && id <= b.Highest {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(b.Streams, func(s session.StreamID) bool {
		_, is := a.streams[s]
		return is
	})
}

// see notes how a stream begins.
func (a *aimed) see(e *session.Entry) {
	s, is := a.streams[e.Stream]
	if !is {
		return
	}
	s.opened = s.opened || e.Kind == session.KindOpen
	s.named = s.named || e.Kind == session.KindMessage && e.Side == session.Client
	a.streams[e.Stream] = s
}
