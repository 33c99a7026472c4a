package queue

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// MaxHoles bounds the ranges that are told apart. The last one takes what
	// is beyond, with what was recorded in between.
	MaxHoles = 8
)

// Holes collects what was lost since the last Gap entry, a hole for each range
// of numbers.
type Holes []hole

// hole is one range.
type hole struct {
	gap  session.Gap
	seen map[session.StreamID]bool // whether its end is lost
}

func (h Holes) Open() bool { return len(h) > 0 }

// Full says that more streams, or connections that ended, could not be told by
// name.
func (h Holes) Full() bool {
	return slices.ContainsFunc(h, func(in hole) bool {
		return max(len(in.gap.Streams), len(in.gap.Closed)) >= format.MaxGapStreams-1
	})
}

// Add counts an entry as lost. If it is itself a Gap entry, what that stood
// for is lost as well.
func (h *Holes) Add(e *session.Entry) {
	if g := e.Gap; g != nil {
		in := h.reach(g.First, g.Last)
		in.gap.Entries += g.Entries
		in.gap.Bytes += g.Bytes
		for _, s := range g.Streams {
			in.touch(s)
		}
		for _, s := range g.Ended {
			in.end(s)
		}
		for _, c := range g.Closed {
			in.close(c)
		}
	}
	in := h.reach(e.Seq, e.Seq)
	in.gap.Entries++
	in.touch(e.Stream)
	switch e.Kind {
	case session.KindTrailer, session.KindCancel:
		in.end(e.Stream)
	case session.KindDisconnect:
		in.close(e.Conn)
	}
	if e.Message != nil {
		in.gap.Bytes += e.Message.Data.Len()
	}
}

// reach returns the hole that these numbers are in.
func (h *Holes) reach(first, last session.Seq) *hole {
	at := slices.IndexFunc(*h, func(in hole) bool { return first <= in.gap.Last+1 && in.gap.First <= last+1 })
	if n := len(*h); at < 0 && n < MaxHoles {
		*h = append(*h, hole{gap: session.Gap{First: first, Last: last}})
		return &(*h)[n]
	}
	if at < 0 {
		at = MaxHoles - 1
	}
	in := &(*h)[at]
	in.gap.First, in.gap.Last = min(in.gap.First, first), max(in.gap.Last, last)
	return in
}

func (h *hole) touch(id session.StreamID) {
	if id == 0 || len(h.gap.Streams) == format.MaxGapStreams {
		return
	}
	if _, dup := h.seen[id]; dup {
		return
	}
	if h.seen == nil {
		h.seen = make(map[session.StreamID]bool)
	}
	h.seen[id] = false
	h.gap.Streams = append(h.gap.Streams, id)
}

// end notes that the end of a stream is lost, if the gap names the stream.
func (h *hole) end(id session.StreamID) {
	if ended, named := h.seen[id]; named && !ended {
		h.seen[id] = true
		h.gap.Ended = append(h.gap.Ended, id)
	}
}

func (h *hole) close(id session.ConnID) {
	if len(h.gap.Closed) < format.MaxGapStreams {
		h.gap.Closed = append(h.gap.Closed, id)
	}
}

// Close returns what was collected, as Gap entries, and begins anew.
func (h *Holes) Close() []session.Entry {
	gaps := make([]session.Entry, len(*h))
	for i, in := range *h {
		gaps[i] = session.Entry{Kind: session.KindGap, Side: session.Proxy, Gap: &in.gap}
	}
	*h = nil
	return gaps
}
