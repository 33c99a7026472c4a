// Package facts turns the facts about a recording into text, and into an object for
// machines.
package facts

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/render"
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
func (i *Info) Text(s render.Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.Title(render.Safe(i.Name)))
	line := func(name, value string) { fmt.Fprintf(&b, "  %-12s %s\n", name, value) }

	state := s.Good("complete")
	switch {
	case i.Damaged:
		state = s.Bad("damaged")
	case i.Live && !i.Complete:
		state = s.Good("being written by a running proxy")
	case i.Writing:
		state = s.Good("still being written")
	case !i.Complete:
		state = s.Warned("incomplete: its end is not there")
	case i.UpToSegment > 0:
		state = s.Good(fmt.Sprintf("complete up to segment %d; whether others follow is not known", i.UpToSegment))
	}
	line("state", state)
	line("format", fmt.Sprintf("%s, version %d", i.Format, i.Version))
	if i.Program != "" {
		line("written by", render.Safe(i.Program))
	}
	for _, p := range i.Pairs {
		line("proxies", render.Safe(p.Listen)+" to "+render.Safe(p.Upstream))
	}
	if i.Recording != "" {
		line("recorded in", render.Safe(i.Recording))
	}
	if !i.From.IsZero() {
		line("from", i.From.UTC().Format(dateForm))
		line("to", i.To.UTC().Format(dateForm)+", "+render.Duration(i.To.Sub(i.From)))
	}
	line("entries", render.Number(i.Entries))
	line("messages", fmt.Sprintf("%s, %s", render.Number(i.Messages), render.Size(i.MessageBytes)))
	line("on disk", render.Size(i.Bytes))
	clients := "unknown"
	switch {
	case i.Clients != nil && i.MoreClients:
		clients = "at least " + render.Number(*i.Clients)
	case i.Clients != nil:
		clients = render.Number(*i.Clients)
	}
	line("clients", clients)
	line("connections", render.Number(i.Connections))
	line("streams", render.Number(i.Streams))
	switch {
	case i.Gaps == 0 && i.Lost == 0:
		line("gaps", "none")
	case i.Gaps == 0:
		line("gaps", s.Warned("none, but "+render.Count(i.Lost, "entry", "entries")+" before it, in files that are not here"))
	default:
		line("gaps", s.Bad(fmt.Sprintf("%s, %s lost", render.Number(i.Gaps), render.Count(i.Lost, "entry", "entries"))))
	}
	if i.PastForgotten != nil && *i.PastForgotten > 0 {
		line("memory", s.Warned("of what was over, something was forgotten "+render.Count(*i.PastForgotten, "time", "times")+"; see --memory-past"))
	}
	if i.Masked {
		line("secrets", "masked")
	} else {
		line("secrets", s.Warned("not masked"))
	}
	if i.Descriptors {
		line("descriptors", "in it")
	}
	if i.Unread {
		line("read", "headers only; --all looks for damage within, too")
	}
	return b.String()
}
