package render

import (
	"fmt"
	"strings"
	"time"
)

// Info are the facts about a recording, in their machine-readable form.
type Info struct {
	Schema   string `json:"schema"`
	Format   string `json:"format"`
	Version  uint32 `json:"version"`
	Complete bool   `json:"complete"`
	Damaged  bool   `json:"damaged"`
	// Writing is that somebody writes it now. UpToSegment is the last segment that is
	// there, where none says that it is the last of all: complete is up to there.
	Writing      bool   `json:"writing,omitempty"`
	UpToSegment  uint64 `json:"up_to_segment,omitempty"`
	Entries      uint64 `json:"entries"`
	Messages     uint64 `json:"messages"`
	Streams      uint64 `json:"streams"`
	Connections  uint64 `json:"connections"`
	Gaps         uint64 `json:"gaps"`
	Lost         uint64 `json:"lost"` // entries that the gaps stand for, and those of files that are not there
	First        string `json:"first,omitempty"`
	Last         string `json:"last,omitempty"`
	Bytes        int64  `json:"bytes"`         // of the recording
	MessageBytes int64  `json:"message_bytes"` // of the messages in it, uncompressed
	Masked       bool   `json:"masked"`
	// Descriptors says that descriptors of message types are in it.
	Descriptors bool `json:"descriptors,omitempty"`

	// PastForgotten is how often something that was over was forgotten by who
	// looks at the recording; nil if nobody has looked.
	PastForgotten *uint64 `json:"past_forgotten,omitempty"`

	Clients *int `json:"clients"` // node ids; nil if nothing is known of them
	// MoreClients says that there may be more of them, and Unread that only
	// the headers of blocks were read: damage within a block was not noticed.
	MoreClients bool `json:"more_clients,omitempty"`
	Unread      bool `json:"headers_only,omitempty"`

	Program string `json:"program,omitempty"`

	// Of a running proxy: that it is one, where it records, and what it proxies.
	Live      bool       `json:"live,omitempty"`
	Recording string     `json:"recording,omitempty"`
	Pairs     []InfoPair `json:"pairs,omitempty"`

	Name     string    `json:"-"`
	From, To time.Time `json:"-"` // First and Last
}

// InfoPair is where a proxy listens, and what is behind it.
type InfoPair struct {
	Listen   string `json:"listen"`
	Upstream string `json:"upstream"`
}

const dateForm = "2006-01-02 15:04:05 MST"

// Text is what a person reads.
func (i *Info) Text(s Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.paint(title, Safe(i.Name)))
	line := func(name, value string) { fmt.Fprintf(&b, "  %-12s %s\n", name, value) }

	state := s.paint(good, "complete")
	switch {
	case i.Damaged:
		state = s.paint(bad, "damaged")
	case i.Live && !i.Complete:
		state = s.paint(good, "being written by a running proxy")
	case i.Writing:
		state = s.paint(good, "still being written")
	case !i.Complete:
		state = s.paint(warned, "incomplete: its end is not there")
	case i.UpToSegment > 0:
		state = s.paint(good, fmt.Sprintf("complete up to segment %d; whether others follow is not known", i.UpToSegment))
	}
	line("state", state)
	line("format", fmt.Sprintf("%s, version %d", i.Format, i.Version))
	if i.Program != "" {
		line("written by", Safe(i.Program))
	}
	for _, p := range i.Pairs {
		line("proxies", Safe(p.Listen)+" to "+Safe(p.Upstream))
	}
	if i.Recording != "" {
		line("recorded in", Safe(i.Recording))
	}
	if !i.From.IsZero() {
		line("from", i.From.UTC().Format(dateForm))
		line("to", i.To.UTC().Format(dateForm)+", "+Duration(i.To.Sub(i.From)))
	}
	line("entries", Number(i.Entries))
	line("messages", fmt.Sprintf("%s, %s", Number(i.Messages), Size(i.MessageBytes)))
	line("on disk", Size(i.Bytes))
	clients := "unknown"
	switch {
	case i.Clients != nil && i.MoreClients:
		clients = "at least " + Number(*i.Clients)
	case i.Clients != nil:
		clients = Number(*i.Clients)
	}
	line("clients", clients)
	line("connections", Number(i.Connections))
	line("streams", Number(i.Streams))
	switch {
	case i.Gaps == 0 && i.Lost == 0:
		line("gaps", "none")
	case i.Gaps == 0:
		line("gaps", s.paint(warned, "none, but "+Count(i.Lost, "entry", "entries")+" before it, in files that are not here"))
	default:
		line("gaps", s.paint(bad, fmt.Sprintf("%s, %s lost", Number(i.Gaps), Count(i.Lost, "entry", "entries"))))
	}
	if i.PastForgotten != nil && *i.PastForgotten > 0 {
		line("memory", s.paint(warned, "of what was over, "+forgotten(*i.PastForgotten)+"; see --memory-past"))
	}
	if i.Masked {
		line("secrets", "masked")
	} else {
		line("secrets", s.paint(warned, "not masked"))
	}
	if i.Descriptors {
		line("descriptors", "in it")
	}
	if i.Unread {
		line("read", "headers only; --all looks for damage within, too")
	}
	return b.String()
}
