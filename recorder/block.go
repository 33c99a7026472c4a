package recorder

import (
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// Block is what a recording says of some entries that follow each other.
type Block struct {
	First, Last       session.Seq
	From, To          time.Time
	Entries, Messages uint64
	Gaps              uint64 // gap entries among them, but for what was left out on purpose
	// Streams are those that the entries are of, in ascending order. If
	// ManyStreams there are more than are listed, and none is.
	Streams     []session.StreamID
	ManyStreams bool
	// Highest is the highest number of a stream of this and all earlier blocks; those
	// with higher ones began later.
	Highest session.StreamID
	// Labels are those that Options.Labels gave. If ManyLabels there are
	// more than are listed, and none is.
	Labels     []string
	ManyLabels bool
}

func blockOf(h *format.BlockHeader) *Block {
	b := &Block{
		First: h.First, Last: h.Last, From: time.Unix(0, h.Min).UTC(), To: time.Unix(0, h.Max).UTC(),
		Entries: h.Entries, Messages: h.Messages, Gaps: h.Gaps, ManyStreams: h.ManyStreams, Highest: session.StreamID(h.Stream),
		Labels: h.Labels, ManyLabels: h.ManyLabels,
	}
	for _, s := range h.Streams {
		b.Streams = append(b.Streams, session.StreamID(s))
	}
	return b
}
