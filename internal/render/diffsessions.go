package render

import (
	"fmt"
	"strings"
)

// SessionsDiff is two sessions against each other: what each client accepted
// last in one and in the other.
type SessionsDiff struct {
	Schema  string       `json:"schema"`
	A       string       `json:"a"`
	B       string       `json:"b"`
	Same    bool         `json:"same"`
	Masked  int          `json:"masked,omitempty"` // values that could not be compared
	Unread  int          `json:"unread,omitempty"` // responses in both that could not be read whole: what is in them was not compared
	Unkept  int          `json:"unkept,omitempty"` // resources of which the contents were more than fit into memory: what differs in them is not known, and may be masks only
	Clients []ClientDiff `json:"clients"`
}

// ClientDiff is one client in two sessions. Other is its node id in B if that
// is another.
type ClientDiff struct {
	Client string     `json:"client"`
	Other  string     `json:"client_b,omitempty"`
	Only   string     `json:"only_in,omitempty"` // "a" or "b"
	Types  []TypeDiff `json:"types"`
}

// TypeDiff is one type of a client.
type TypeDiff struct {
	Type      string         `json:"type"`
	Same      int            `json:"same"`
	Differ    int            `json:"differ"`
	OnlyA     int            `json:"only_a"`
	OnlyB     int            `json:"only_b"`
	Resources []ResourcePair `json:"resources,omitempty"` // that are not the same
}

// ResourcePair is one resource that is not the same in both sessions.
type ResourcePair struct {
	Name    string       `json:"name"`
	State   string       `json:"state"` // "differs", "only-a" or "only-b"
	A       *Accepted    `json:"a,omitempty"`
	B       *Accepted    `json:"b,omitempty"`
	Masked  int          `json:"masked,omitempty"` // values in it that could not be compared
	Changes []ChangeJSON `json:"changes,omitempty"`
	// Sources are the objects of a control plane that it was made of, in b if it is
	// there.
	Sources     []Source `json:"sources,omitempty"`
	MoreSources bool     `json:"more_sources,omitempty"`
}

// Accepted is where what was accepted stands.
type Accepted struct {
	Seq     uint64 `json:"seq"`
	Version string `json:"version,omitempty"`
}

// The states of a ResourcePair.
const (
	PairDiffers = "differs"
	PairOnlyA   = "only-a"
	PairOnlyB   = "only-b"
)

func (a *Accepted) text() string {
	if a.Version == "" {
		return fmt.Sprintf("entry %d", a.Seq)
	}
	return fmt.Sprintf("%s (entry %d)", Safe(a.Version), a.Seq)
}

// Text is what a person reads. Resources are named if there is a list of them.
func (d *SessionsDiff) Text(s Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", s.paint(bad, "- A: "+Safe(d.A)), s.paint(good, "+ B: "+Safe(d.B)))
	for i := range d.Clients {
		c := &d.Clients[i]
		name := Safe(c.Client)
		if c.Client == "" {
			name = "(a client without a node id)"
		}
		switch {
		case c.Other != "":
			name += " in A, " + Safe(c.Other) + " in B"
		case c.Only != "":
			name += ": only in " + strings.ToUpper(c.Only)
		}
		fmt.Fprintf(&b, "\n%s\n", s.paint(title, name))
		for j := range c.Types {
			t := &c.Types[j]
			var words []string
			if t.Same > 0 {
				words = append(words, Number(t.Same)+" the same")
			}
			if t.Differ > 0 {
				words = append(words, s.paint(warned, Number(t.Differ)+" "+plural(t.Differ, "differs", "differ")))
			}
			if t.OnlyA > 0 {
				words = append(words, s.paint(bad, Number(t.OnlyA)+" only in A"))
			}
			if t.OnlyB > 0 {
				words = append(words, s.paint(good, Number(t.OnlyB)+" only in B"))
			}
			fmt.Fprintf(&b, "  %s  %s\n", PadRight(Safe(t.Type), typeWidth), strings.Join(words, ", "))
			for k := range t.Resources {
				b.WriteString(t.Resources[k].line(s) + "\n")
			}
		}
	}
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (r *ResourcePair) line(s Style) string {
	name, from := Safe(r.Name), MadeFrom(r.Sources, r.MoreSources, 2)
	if from != "" {
		from = ", " + from
	}
	switch r.State {
	case PairOnlyA:
		return s.paint(bad, "  - "+name+"  "+r.A.text()+from)
	case PairOnlyB:
		return s.paint(good, "  + "+name+"  "+r.B.text()+from)
	}
	return "  ~ " + name + "  " + r.A.text() + " in A, " + r.B.text() + " in B" + from
}
