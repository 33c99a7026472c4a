package render

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
)

// Tree is what a client has, by reference, in its machine-readable form.
type Tree struct {
	Schema   string  `json:"schema"`
	Client   string  `json:"client"`
	Seq      uint64  `json:"seq,omitempty"`
	Roots    []*Node `json:"resources"`
	Dangling []*Node `json:"dangling"`
	Missing  []*Node `json:"missing"`
}

// Node is one resource. Again says that what it refers to stands where the
// resource came first.
type Node struct {
	Type     string  `json:"type"`
	Name     string  `json:"name"`
	State    string  `json:"state"`
	Version  string  `json:"version,omitempty"`
	Again    bool    `json:"again,omitempty"`
	Children []*Node `json:"children,omitempty"`
}

// NewTree makes the machine-readable form.
func NewTree(t *check.Tree, seq uint64) *Tree {
	return &Tree{
		Schema: Schema, Client: t.Client, Seq: seq,
		Roots: nodes(t.Roots), Dangling: nodes(t.Dangling), Missing: nodes(t.Missing),
	}
}

func nodes(list []*check.Node) []*Node {
	out := []*Node{}
	for _, n := range list {
		m := &Node{Type: n.Type, Name: n.Name, State: string(n.State), Version: n.Version, Again: n.Again}
		if len(n.Children) > 0 {
			m.Children = nodes(n.Children)
		}
		out = append(out, m)
	}
	return out
}

// Text is what a person reads.
func (t *Tree) Text(s Style) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", s.paint(title, Safe(t.Client)))
	write(&b, t.Roots, "", s)
	section := func(head string, list []*Node) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "\n%s\n", s.paint(title, head))
			write(&b, list, "", s)
		}
	}
	section("dangling: sent, and nothing refers to it", t.Dangling)
	section("missing: referred to or asked for, and not sent", t.Missing)
	if len(t.Roots)+len(t.Dangling)+len(t.Missing) == 0 {
		b.WriteString("nothing was asked for and nothing sent\n")
	}
	return b.String()
}

func write(b *strings.Builder, list []*Node, indent string, s Style) {
	for i, n := range list {
		branch, next := "├─ ", "│  "
		if i == len(list)-1 {
			branch, next = "└─ ", "   "
		}
		look := plain
		switch n.State {
		case "ACKED":
			look = good
		case "NACKED", "MISSING":
			look = bad
		default:
			look = warned
		}
		line := indent + branch + fmt.Sprintf("%-4s ", n.Type) + Safe(n.Name)
		line = padRight(line, 52) + "  " + s.paint(look, padRight(n.State, 9))
		if n.Version != "" {
			line += "  " + Middle(Safe(n.Version), 24)
		}
		if n.Again {
			line += s.paint(muted, "  (see above)")
		}
		fmt.Fprintf(b, "%s\n", strings.TrimRight(line, " "))
		write(b, n.Children, indent+next, s)
	}
}
