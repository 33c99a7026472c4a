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
	gap   session.Gap
	seen  map[session.StreamID]bool // whether it began in the hole
	conns map[session.ConnID]bool   // that began in it
	ends  []session.Entry           // of streams and connections that began before
}

func (h Holes) Open() bool { return len(h) > 0 }

// Full says that more streams, or more ends, could not be told by name.
func (h Holes) Full() bool {
	return slices.ContainsFunc(h, func(in hole) bool {
		return max(len(in.gap.Streams), len(in.ends)) >= format.MaxGapStreams-1
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
	}
	in := h.reach(e.Seq, e.Seq)
	in.gap.Entries++
	in.touch(e.Stream)
	in.follow(e)
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

// Cost is what all that Close returns is charged.
func (h Holes) Cost() (n int64) {
	for _, in := range h {
		n += int64(EntryCost*(1+len(in.ends)) + 8*len(in.gap.Streams))
	}
	return n
}

// follow notes what begins in the hole, and keeps the end of what began before it:
// who has seen that begin would take it for open for ever.
func (h *hole) follow(e *session.Entry) {
	switch e.Kind {
	case session.KindConnect:
		if h.conns == nil {
			h.conns = make(map[session.ConnID]bool)
		}
		if len(h.conns) < format.MaxGapStreams {
			h.conns[e.Conn] = true
		}
		return
	case session.KindOpen:
		if _, named := h.seen[e.Stream]; named {
			h.seen[e.Stream] = true
		}
		return
	case session.KindTrailer, session.KindCancel:
		if h.seen[e.Stream] {
			return
		}
	case session.KindDisconnect:
		if h.conns[e.Conn] {
			return
		}
	default:
		return
	}
	if len(h.ends) == format.MaxGapStreams {
		return
	}
	end := session.Entry{Conn: e.Conn, Stream: e.Stream, H2: e.H2, Kind: e.Kind, Side: e.Side}
	if s := e.Status; s != nil {
		end.Status = &session.Status{Code: s.Code, Reset: s.Reset, WasReset: s.WasReset, HTTP: s.HTTP}
	}
	h.ends = append(h.ends, end)
}

// Close returns what was collected, as Gap entries, behind each of them what ended
// in it, and begins anew. An end has lost its text and its time.
func (h *Holes) Close() (told []session.Entry) {
	for _, in := range *h {
		told = append(told, session.Entry{Kind: session.KindGap, Side: session.Proxy, Gap: &in.gap})
		told = append(told, in.ends...)
	}
	*h = nil
	return told
}
