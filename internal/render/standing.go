package render

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Standing is where all clients stand, in its machine-readable form.
type Standing struct {
	Schema  string         `json:"schema"`
	At      string         `json:"at,omitempty"`  // the time of the last entry
	Seq     uint64         `json:"seq,omitempty"` // its number
	Clients []ClientStatus `json:"clients"`
	// Holding are clients that asked for nothing, and say what they hold.
	Holding []Holding `json:"holding,omitempty"`
	// HoldingMore says that there were more of them than are kept.
	HoldingMore bool `json:"holding_more,omitempty"`
	// NotRead is how many recordings of a fleet could not be read.
	NotRead int `json:"recordings_unread,omitempty"`

	now time.Time
}

// ClientStatus is where one client stands.
type ClientStatus struct {
	Client string `json:"client"`
	Of
	Agent   string       `json:"user_agent,omitempty"`
	Version string       `json:"user_agent_version,omitempty"`
	Streams int          `json:"streams"`
	Since   string       `json:"since"`
	Last    string       `json:"last"`
	Gone    string       `json:"gone,omitempty"`
	Why     string       `json:"why,omitempty"`
	Types   []TypeStatus `json:"types"`
	// Behind are resources that the client was sent and does not use, as it says
	// itself; BehindMore is how many there are beside these, and Unread why it is not
	// known what it holds.
	Behind     []*Effective `json:"not_effective,omitempty"`
	BehindMore int          `json:"not_effective_more,omitempty"`
	Unread     string       `json:"held_failed,omitempty"`

	of     *engine.ClientStatus
	now    time.Time // of which ages are
	effect effect.Standing
}

// Of is where something of a fleet was read.
type Of struct {
	Proxy     string `json:"proxy,omitempty"`     // of a fleet
	Recording string `json:"recording,omitempty"` // as a SOURCE, of which numbers of entries are
	AsOf      string `json:"as_of,omitempty"`     // when that ended, if others went on
}

// entry names an entry to a person.
func (o *Of) entry(seq uint64) string {
	if o.Recording == "" {
		return fmt.Sprintf("entry %d", seq)
	}
	return fmt.Sprintf("entry %d of %s", seq, Safe(o.Recording))
}

// TypeStatus is where a client stands with one type. Wanted is how many names
// it asks for, or -1 for all there are.
type TypeStatus struct {
	Type  string `json:"type"`
	State string `json:"state"`
	// Effective is yes, no or unknown: whether the client uses all of the type that it
	// was sent, as it says itself. InEffect is of how many resources that is known to
	// be so.
	Effective string `json:"effective"`
	InEffect  int    `json:"in_effect,omitempty"`
	Since     string `json:"since"`
	Seq       uint64 `json:"seq"`
	Version   string `json:"version,omitempty"`
	Sent      string `json:"sent_version,omitempty"`
	Wanted    int    `json:"wanted"`
	Have      int    `json:"have"`
	Nacks     int    `json:"nacks"` // in a row
	Nack      string `json:"last_nack,omitempty"`
	NackSeq   uint64 `json:"last_nack_seq,omitempty"`
	Lost      bool   `json:"uncertain,omitempty"`
	Gone      string `json:"gone,omitempty"` // when its last stream ended: the rest is how it stood then
}

// NewStanding makes the machine-readable form of what a Checker says at a time.
func NewStanding(clients []engine.ClientStatus, seq uint64, now time.Time) *Standing {
	s := &Standing{Schema: Schema, Seq: seq, Clients: []ClientStatus{}, now: now}
	if !now.IsZero() {
		s.At = Timestamp(now)
	}
	for i := range clients {
		c := &clients[i]
		out := ClientStatus{
			Client: c.Client, Agent: c.Agent, Version: c.Version, Streams: c.Streams,
			Since: Timestamp(c.Since), Last: Timestamp(c.Last), Why: c.Why, Types: []TypeStatus{}, of: c, now: now,
		}
		if !c.Gone.IsZero() {
			out.Gone = Timestamp(c.Gone)
		}
		for _, t := range c.Types {
			one := TypeStatus{
				Type: t.Type, State: t.State.String(), Effective: effect.Count{}.Answer(), Since: Timestamp(t.Since), Seq: uint64(t.Seq),
				Version: t.Version, Sent: t.Sent, Wanted: t.Wanted, Have: t.Have,
				Nacks: t.Nacks, Nack: t.Nack, NackSeq: uint64(t.NackSeq), Lost: t.Lost,
			}
			if !t.Gone.IsZero() {
				one.Gone = Timestamp(t.Gone)
			}
			out.Types = append(out.Types, one)
		}
		s.Clients = append(s.Clients, out)
	}
	return s
}

// AddEffects adds what clients say that they use.
func (s *Standing) AddEffects(all *effect.Account) {
	for i := range s.Clients {
		c := &s.Clients[i]
		c.effect = all.Standing(c.Client)
		c.Unread, c.BehindMore = c.effect.Unread, c.effect.More
		for j := range c.Types {
			n := c.effect.Counts[c.Types[j].Type]
			c.Types[j].Effective, c.Types[j].InEffect = n.Answer(), n.InEffect
		}
		for j := range c.effect.Behind {
			e := newEffective(&c.effect.Behind[j])
			e.Type, e.Name, e.Version = c.effect.Behind[j].Type, c.effect.Behind[j].Name, c.effect.Behind[j].Version
			c.Behind = append(c.Behind, e)
		}
	}
}

// expected says that there is any word of clients on what they use.
func (s *Standing) expected() bool {
	return slices.ContainsFunc(s.Clients, func(c ClientStatus) bool { return c.effect.Expected })
}

// Text is the matrix that a person reads: clients by types, each state with its
// age, and below a client why it rejected something. Where a screen of so many
// columns has no room for all, what a client is goes first, then when it last
// said something, then the middle of its name; 0 stands for a pipe or a file.
func (s *Standing) Text(style Style, columns int) string {
	var b strings.Builder
	if len(s.Clients) > 0 {
		s.matrix(&b, style, columns)
	}
	for i := range s.Holding {
		b.WriteString(s.Holding[i].text() + "\n")
	}
	if s.HoldingMore {
		fmt.Fprintf(&b, "more than %s clients of one recording asked for nothing and said what they hold: the others are left out\n", Number(maxHolders))
	}
	return b.String()
}

// matrix is a line for each client that asked for something.
func (s *Standing) matrix(b *strings.Builder, style Style, columns int) {
	g := s.grid()
	g.fit(columns)
	all := make([]string, 0, len(g.rows))
	for _, row := range g.rows[1:] {
		all = append(all, row[0].text)
	}
	names := shortname.New(all)
	for i, row := range g.rows {
		var line []string
		for j, c := range row {
			if g.width[j] == 0 {
				continue
			}
			text := c.text
			switch {
			case j == len(row)-1:
			case j == 0 && i > 0:
				text = PadRight(names.Fit(c.text, g.width[j]), g.width[j])
			default:
				text = PadRight(Middle(c.text, g.width[j]), g.width[j])
			}
			line = append(line, style.paint(c.look, text))
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(strings.Join(line, "  "), " "))
		if i > 0 {
			s.Clients[i-1].reasons(b, style, columns)
		}
	}
	if g.past {
		b.WriteString(style.paint(muted, "( ) as it was when its stream ended, so long ago") + "\n")
	}
	if g.uncertain {
		b.WriteString(style.paint(muted, "? part of the conversation was not recorded") + "\n")
	}
}

// grid is the matrix before it is laid out: the titles, then a row a client. A
// column of width 0 is left out.
type grid struct {
	rows            [][]cell
	width           []int
	uncertain, past bool
}

type cell struct {
	text string
	look role
}

func (s *Standing) grid() (g grid) {
	types := xds.Core()
	for i := range s.Clients {
		for _, t := range s.Clients[i].of.Types {
			if !slices.Contains(types, t.Type) {
				types = append(types, t.Type)
			}
		}
	}
	head := []cell{{"CLIENT", title}, {"KIND", title}}
	for _, t := range types {
		head = append(head, cell{Safe(t), title})
	}
	expected := s.expected()
	if expected {
		head = append(head, cell{"EFFECT", title})
	}
	g.rows = append(g.rows, append(head, cell{"LAST", title}))
	for i := range s.Clients {
		c := s.Clients[i].of
		row := []cell{{text: Safe(strings.TrimSpace(s.Clients[i].Proxy + " " + c.Client))}, {text: End(kind(c.Agent), 14)}}
		for _, t := range types {
			one := s.Clients[i].cell(t)
			g.uncertain = g.uncertain || strings.Contains(one.text, "?")
			g.past = g.past || strings.HasPrefix(one.text, "(")
			row = append(row, one)
		}
		if expected {
			row = append(row, s.Clients[i].effectCell())
		}
		g.rows = append(g.rows, append(row, cell{text: Age(s.now.Sub(c.Last))}))
	}
	g.width = make([]int, len(head)+1)
	for _, row := range g.rows {
		for j, c := range row {
			g.width[j] = max(g.width[j], Width(c.text))
		}
	}
	return g
}

// cell is how a client stands with a type.
func (c *ClientStatus) cell(typ string) cell {
	i := slices.IndexFunc(c.of.Types, func(t engine.TypeStatus) bool { return t.Type == typ })
	if i < 0 {
		return cell{"-", muted}
	}
	t := &c.of.Types[i]
	text, since, look := t.State.String(), t.Since, warned
	if t.State == engine.Nacked && t.Nacks > 1 {
		text += fmt.Sprintf(" ×%d", t.Nacks)
	}
	past := !t.Gone.IsZero() && c.of.Gone.IsZero()
	if past {
		since = t.Gone
	}
	text += " " + Age(c.now.Sub(since))
	if t.Lost {
		text += "?"
	}
	if past {
		return cell{"(" + text + ")", muted}
	}
	switch t.State {
	case engine.Synced:
		look = good
	case engine.Nacked, engine.Stale:
		look = bad
	}
	return cell{text, look}
}

// fit takes from the columns what a screen has no room for.
func (g *grid) fit(columns int) {
	const name, kind, fewest = 0, 1, 12
	last := len(g.width) - 1
	over := func() int {
		if columns <= 0 {
			return 0
		}
		used := -2
		for _, w := range g.width {
			if w > 0 {
				used += w + 2
			}
		}
		return max(0, used-columns)
	}
	if over() > 0 && g.width[name] > 22 {
		g.width[name] = max(22, g.width[name]-over())
	}
	if over() > 0 {
		g.width[kind] = 0
	}
	if over() > 0 {
		g.width[last] = 0
	}
	g.width[name] = max(min(fewest, g.width[name]), g.width[name]-over())
}

// reasons are the lines below a client: how it went, and what it rejected.
func (c *ClientStatus) reasons(b *strings.Builder, style Style, columns int) {
	const indent = "    "
	say := func(look role, text string) {
		width := columns
		if columns == 0 {
			width = len(indent) + Width(text)
		}
		for line := range strings.Lines(wrap(text, indent, width)) {
			fmt.Fprintf(b, "%s%s\n", indent, style.paint(look, strings.TrimSpace(line)))
		}
	}
	if !c.of.Gone.IsZero() {
		say(muted, "gone: "+Safe(c.Why))
	}
	for _, t := range c.of.Types {
		if t.State == engine.Nacked {
			text := t.Type + ": rejected " + Safe(OrDash(t.Rejected))
			if t.Nacks > 1 {
				text += fmt.Sprintf(", %s in a row", Count(t.Nacks, "time", "times"))
			}
			switch {
			case t.Version != "":
				text += ", accepted " + Safe(t.Version)
			case t.None:
				text += ", accepted none"
			}
			say(bad, fmt.Sprintf("%s (%s): %s", text, c.entry(uint64(t.NackSeq)), Safe(t.Nack)))
		}
	}
	const most = 5
	behind := c.effect.Behind
	for i := range behind[:min(len(behind), most)] {
		say(warned, "not in effect: "+Safe(EffectText(&behind[i], c.now)))
	}
	if n := len(behind) + c.effect.More - most; n > 0 {
		say(warned, "not in effect: "+Number(n)+" more; tree names all")
	}
	if c.Unread != "" {
		say(muted, "what it holds is not known: "+Safe(c.Unread))
	}
}

func (c *ClientStatus) effectCell() cell {
	text := EffectOf(&c.effect)
	switch text {
	case "yes":
		return cell{text, good}
	case "-":
		return cell{text, muted}
	}
	return cell{text, warned}
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
