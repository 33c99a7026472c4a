package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
)

// Standing is where all clients stand, in its machine-readable form.
type Standing struct {
	Schema  string         `json:"schema"`
	At      string         `json:"at,omitempty"`  // the time of the last entry
	Seq     uint64         `json:"seq,omitempty"` // its number
	Clients []ClientStatus `json:"clients"`

	now time.Time
}

// ClientStatus is where one client stands.
type ClientStatus struct {
	Client  string       `json:"client"`
	Agent   string       `json:"user_agent,omitempty"`
	Version string       `json:"user_agent_version,omitempty"`
	Streams int          `json:"streams"`
	Since   string       `json:"since"`
	Last    string       `json:"last"`
	Gone    string       `json:"gone,omitempty"`
	Why     string       `json:"why,omitempty"`
	Types   []TypeStatus `json:"types"`

	of *check.ClientStatus
}

// TypeStatus is where a client stands with one type. Wanted is how many names
// it asks for, or -1 for all there are.
type TypeStatus struct {
	Type    string `json:"type"`
	State   string `json:"state"`
	Since   string `json:"since"`
	Seq     uint64 `json:"seq"`
	Version string `json:"version,omitempty"`
	Sent    string `json:"sent_version,omitempty"`
	Wanted  int    `json:"wanted"`
	Have    int    `json:"have"`
	Nack    string `json:"last_nack,omitempty"`
	NackSeq uint64 `json:"last_nack_seq,omitempty"`
	Lost    bool   `json:"uncertain,omitempty"`
}

// NewStanding makes the machine-readable form of what a Checker says at a time.
func NewStanding(clients []check.ClientStatus, seq uint64, now time.Time) *Standing {
	s := &Standing{Schema: Schema, Seq: seq, Clients: []ClientStatus{}, now: now}
	if !now.IsZero() {
		s.At = Timestamp(now)
	}
	for i := range clients {
		c := &clients[i]
		out := ClientStatus{
			Client: c.Client, Agent: c.Agent, Version: c.Version, Streams: c.Streams,
			Since: Timestamp(c.Since), Last: Timestamp(c.Last), Why: c.Why, Types: []TypeStatus{}, of: c,
		}
		if !c.Gone.IsZero() {
			out.Gone = Timestamp(c.Gone)
		}
		for _, t := range c.Types {
			out.Types = append(out.Types, TypeStatus{
				Type: t.Type, State: t.State.String(), Since: Timestamp(t.Since), Seq: uint64(t.Seq),
				Version: t.Version, Sent: t.Sent, Wanted: t.Wanted, Have: t.Have,
				Nack: t.Nack, NackSeq: uint64(t.NackSeq), Lost: t.Lost,
			})
		}
		s.Clients = append(s.Clients, out)
	}
	return s
}

// Text is the matrix that a person reads: clients by types, each state with its
// age, and below a client why it rejected something.
func (s *Standing) Text(style Style) string {
	types := []string{"LDS", "RDS", "CDS", "EDS"}
	for i := range s.Clients {
		for _, t := range s.Clients[i].of.Types {
			if !slices.Contains(types, t.Type) {
				types = append(types, t.Type)
			}
		}
	}
	const nameWidth, kindWidth = 22, 6
	width := make([]int, len(types))
	cell := func(c *check.ClientStatus, typ string) (text string, look role) {
		for _, t := range c.Types {
			if t.Type != typ {
				continue
			}
			text = t.State.String() + " " + shortAge(s.now.Sub(t.Since))
			if t.Lost {
				text += "?"
			}
			switch t.State {
			case check.Synced:
				look = good
			case check.Nacked, check.Stale:
				look = bad
			default:
				look = warned
			}
			return text, look
		}
		return "-", muted
	}
	for j, typ := range types {
		width[j] = len(typ)
		for i := range s.Clients {
			text, _ := cell(s.Clients[i].of, typ)
			width[j] = max(width[j], len(text))
		}
	}
	var b strings.Builder
	head := padRight("CLIENT", nameWidth) + "  " + padRight("KIND", kindWidth)
	for j, typ := range types {
		head += "  " + padRight(typ, width[j])
	}
	fmt.Fprintf(&b, "%s\n", style.paint(title, strings.TrimRight(head+"  LAST", " ")))
	uncertain := false
	for i := range s.Clients {
		c := s.Clients[i].of
		line := padRight(Middle(Safe(c.Client), nameWidth), nameWidth) + "  " + padRight(End(kind(c.Agent), kindWidth), kindWidth)
		for j, typ := range types {
			text, look := cell(c, typ)
			uncertain = uncertain || strings.HasSuffix(text, "?")
			line += "  " + style.paint(look, padRight(text, width[j]))
		}
		line += "  " + shortAge(s.now.Sub(c.Last))
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(line, " "))
		if !c.Gone.IsZero() {
			fmt.Fprintf(&b, "    %s\n", style.paint(muted, "gone: "+Safe(c.Why)))
		}
		for _, t := range c.Types {
			if t.State == check.Nacked {
				held := "nothing"
				if t.Version != "" {
					held = Safe(t.Version)
				}
				fmt.Fprintf(&b, "    %s\n", style.paint(bad, fmt.Sprintf("%s: rejected %s, has %s (entry %d): %s", t.Type, Safe(orDash(t.Sent)), held, t.NackSeq, Safe(t.Nack))))
			}
		}
	}
	if uncertain {
		b.WriteString(style.paint(muted, "? part of the conversation was not recorded") + "\n")
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// kind is the customary name of a client by its user agent.
func kind(agent string) string {
	switch {
	case agent == "":
		return "-"
	case strings.HasPrefix(agent, "gRPC"):
		return "grpc"
	}
	return Safe(agent)
}

// shortAge is a duration in one or two digits and a unit.
func shortAge(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1fs", max(d, 0).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
