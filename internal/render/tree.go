package render

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
)

// Tree is what a client has, by reference, in its machine-readable form.
type Tree struct {
	Schema   string  `json:"schema"`
	Client   string  `json:"client"`
	Seq      uint64  `json:"seq,omitempty"`
	Roots    []*Node `json:"resources"`
	Dangling []*Node `json:"dangling"`
	Missing  []*Node `json:"missing"`

	expected bool // there is word of clients on what they use
	held     bool // it is all that is known: nothing was sent
}

// Node is one resource. Seq is the response that had it last, as far as that is
// known. Again says that what it refers to stands where the
// resource came first.
type Node struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	State   string `json:"state"`
	Version string `json:"version,omitempty"`
	Seq     uint64 `json:"seq,omitempty"`
	Again   bool   `json:"again,omitempty"`
	// Sources are the objects of a control plane that it was made of.
	Sources     []origin.Source `json:"sources,omitempty"`
	MoreSources bool            `json:"more_sources,omitempty"`
	// Effective is yes, no or unknown: whether the client uses it, as it says itself.
	Effective string     `json:"effective"`
	Effect    *Effective `json:"effect,omitempty"`
	Children  []*Node    `json:"children,omitempty"`

	effect effect.Effect
}

// NewTree makes the machine-readable form.
func NewTree(t *engine.Tree, seq uint64) *Tree {
	return &Tree{
		Schema: Schema, Client: t.Client, Seq: seq,
		Roots: nodes(t.Roots), Dangling: nodes(t.Dangling), Missing: nodes(t.Missing),
	}
}

func nodes(list []*engine.Node) []*Node {
	out := []*Node{}
	for _, n := range list {
		m := &Node{Type: n.Type, Name: n.Name, State: string(n.State), Version: n.Version, Seq: uint64(n.Seq), Again: n.Again, Sources: n.Sources, MoreSources: n.MoreSources, Effective: effect.Unknown.Answer()}
		if len(n.Children) > 0 {
			m.Children = nodes(n.Children)
		}
		out = append(out, m)
	}
	return out
}

// AddEffects adds what the client says that it uses.
func (t *Tree) AddEffects(all *effect.Account) {
	t.expected = all.Expected()
	var add func(list []*Node)
	add = func(list []*Node) {
		for _, n := range list {
			if e, known := all.Of(t.Client, n.Type, n.Name); known {
				n.effect, n.Effective, n.Effect = e, e.State.Answer(), newEffective(&e)
			}
			add(n.Children)
		}
	}
	for _, list := range [][]*Node{t.Roots, t.Dangling, t.Missing} {
		add(list)
	}
}

// Text is what a person reads, on a screen of so many columns; 0 stands for a
// pipe or a file.
func (t *Tree) Text(s Style, columns int) string {
	rows := branches(t.Roots, "", nil)
	first := len(rows)
	rows = branches(t.Dangling, "", rows)
	second := len(rows)
	rows = branches(t.Missing, "", rows)
	name, version := 0, 0
	for _, r := range rows {
		name, version = max(name, Width(r.name)), max(version, Width(r.version()))
	}
	const stateWidth, versionWidth, effectWidth = 8, 24, 10
	version = min(version, versionWidth)
	if t.expected {
		version += effectWidth + 2
	}
	if room := columns - len("  ") - stateWidth - len("  ") - version; columns > 0 {
		name = min(name, max(room, 3*namesWidth))
	}
	all := make(map[string][]string) // by type
	for _, r := range rows {
		all[r.node.Type] = append(all[r.node.Type], strings.TrimPrefix(r.name, r.lead))
	}
	names := make(map[string]*shortname.Set, len(all))
	for typ, of := range all {
		names[typ] = shortname.New(of)
	}
	missing, dangling := "missing: referred to or asked for, and not sent", "dangling: sent, and nothing refers to it"
	if t.held {
		missing, dangling = "missing: referred to, and not held", "dangling: held, and nothing refers to it"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.paint(title, Safe(t.Client)))
	for i, r := range rows {
		switch {
		case i == second:
			fmt.Fprintf(&b, "\n%s\n", s.paint(title, missing))
		case i == first:
			fmt.Fprintf(&b, "\n%s\n", s.paint(title, dangling))
		}
		room := max(name-Width(r.lead), namesWidth)
		line := r.lead + PadRight(names[r.node.Type].Fit(strings.TrimPrefix(r.name, r.lead), room), room) + "  " +
			s.paint(r.look(), PadRight(r.node.State, stateWidth)) + "  "
		if room := version; t.expected {
			room -= effectWidth + 2
			line += s.paint(r.effectLook(), PadRight(EffectWord(&r.node.effect), effectWidth)) + "  " + Middle(r.version(), room)
		} else {
			line += Middle(r.version(), room)
		}
		if r.node.Again {
			line = strings.TrimRight(line, " ") + s.paint(muted, "  (see above)")
		}
		fmt.Fprintf(&b, "%s\n", strings.TrimRight(line, " "))
		if from := MadeFrom(r.node.Sources, r.node.MoreSources, 2); from != "" && !r.node.Again {
			from = r.below + from
			if columns > 0 {
				from = Middle(from, columns)
			}
			fmt.Fprintf(&b, "%s\n", s.paint(muted, from))
		}
		if e := &r.node.effect; e.State.Answer() == "no" && !r.node.Again {
			b.WriteString(below(r.below, EffectReason(e), s, columns))
		}
	}
	if len(rows) == 0 {
		b.WriteString("nothing was sent that it has, and nothing is asked for by name\n")
	}
	return b.String()
}

// branch is one line of a tree: lead draws the tree, and name begins with it; below
// leads what stands under it.
type branch struct {
	lead, name, below string
	node              *Node
}

func (r *branch) version() string { return Safe(r.node.Version) }

func (r *branch) look() role {
	switch r.node.State {
	case "ACKED", "active":
		return good
	case "not over xDS", "static":
		return muted
	case "NACKED", "MISSING", "not held":
		return bad
	}
	return warned
}

func (r *branch) effectLook() role {
	switch r.node.effect.State.Answer() {
	case "yes":
		return good
	case "no":
		return warned
	}
	return muted
}

// below is a text below a branch, in one line.
func below(lead, text string, s Style, columns int) string {
	line := lead + Safe(text)
	if columns > 0 {
		line = End(line, columns)
	}
	return s.paint(warned, line) + "\n"
}

func branches(list []*Node, indent string, rows []branch) []branch {
	for i, n := range list {
		twig, next := "├─ ", "│  "
		if i == len(list)-1 {
			twig, next = "└─ ", "   "
		}
		lead := indent + twig + PadRight(Safe(n.Type), typeWidth) + " "
		below := indent + next
		if len(n.Children) > 0 {
			below += "│  "
		} else {
			below += "   "
		}
		rows = append(rows, branch{lead: lead, name: lead + Safe(n.Name), below: below + strings.Repeat(" ", typeWidth-2), node: n})
		rows = branches(n.Children, indent+next, rows)
	}
	return rows
}
