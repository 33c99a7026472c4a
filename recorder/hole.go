package recorder

import "github.com/xdsproxy/xdsproxy/internal/session"

// maxGapStreams bounds the streams that a Gap entry names.
const maxGapStreams = 1024

// hole collects what was lost since the last Gap entry.
type hole struct {
	gap  session.Gap
	seen map[session.StreamID]struct{}
}

func (h *hole) open() bool { return h.gap.Entries > 0 }

// add counts an entry as lost. If it is itself a Gap entry, what that stood
// for is lost as well.
func (h *hole) add(e *session.Entry) {
	h.reach(e.Seq, e.Seq)
	h.gap.Entries++
	h.touch(e.Stream)
	if e.Message != nil {
		h.gap.Bytes += e.Message.Data.Len()
	}
	if g := e.Gap; g != nil {
		h.reach(g.First, g.Last)
		h.gap.Entries += g.Entries
		h.gap.Bytes += g.Bytes
		for _, s := range g.Streams {
			h.touch(s)
		}
	}
}

func (h *hole) reach(first, last session.Seq) {
	if h.gap.First == 0 || first < h.gap.First {
		h.gap.First = first
	}
	h.gap.Last = max(h.gap.Last, last)
}

func (h *hole) touch(id session.StreamID) {
	if id == 0 || len(h.gap.Streams) == maxGapStreams {
		return
	}
	if _, dup := h.seen[id]; dup {
		return
	}
	if h.seen == nil {
		h.seen = make(map[session.StreamID]struct{})
	}
	h.seen[id] = struct{}{}
	h.gap.Streams = append(h.gap.Streams, id)
}

// close returns what was collected and begins anew.
func (h *hole) close() session.Entry {
	g := h.gap
	*h = hole{}
	return session.Entry{Kind: session.KindGap, Side: session.Proxy, Gap: &g}
}
