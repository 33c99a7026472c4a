package agree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// digest is what a Change says, as text. Entries are named by number.
func digest(c *check.Change, number func(session.Seq) session.Seq) string {
	return fmt.Sprintf("%s %v of %s, %s %s, +%v -%v, answers %d after %v, uncertain %v", c.What, c.Also, c.Client, c.Variant, c.Type,
		c.Added, c.Removed, number(c.Answers), c.Waited, c.Uncertain)
}

// found is what rules proved with an entry, as text.
func found(c *check.Change) string {
	var out []string
	for _, f := range c.Findings {
		out = append(out, fmt.Sprintf("%s %s %v: %s", f.Severity, f.Rule.ID, f.Seqs, f.Message))
	}
	return strings.Join(out, "; ")
}

func same(seq session.Seq) session.Seq { return seq }

// standings is what status says, a line for each type of each client.
func standings(k *check.Checker) map[string]string {
	out := make(map[string]string)
	for _, c := range k.Status() {
		for _, t := range c.Types {
			out[c.Client+" "+t.Type] = fmt.Sprintf("%s, version %q, sent %q, wanted %d, has %d, rejected last for %q", t.State, t.Version, t.Sent, t.Wanted, t.Have, t.Nack)
		}
	}
	return out
}

// treeOf is the tree of a client as text, without the numbers of entries.
func treeOf(k *check.Checker, client string) string {
	t := k.Tree(client)
	if t == nil {
		return "none"
	}
	var b strings.Builder
	var write func(list []*engine.Node, depth int)
	write = func(list []*engine.Node, depth int) {
		for _, n := range list {
			fmt.Fprintf(&b, "%*s%s %s %s %s\n", depth, "", n.Type, n.Name, n.State, n.Version)
			write(n.Children, depth+1)
		}
	}
	for _, list := range [][]*engine.Node{t.Roots, t.Dangling, t.Missing} {
		write(list, 0)
		b.WriteString("-\n")
	}
	return b.String()
}

// differences are the lines that two accounts do not have in common.
func differences(a, b map[string]string) (out []string) {
	for _, key := range sorted(a) {
		if b[key] != a[key] {
			out = append(out, fmt.Sprintf("%s: %q and %q", key, a[key], b[key]))
		}
	}
	for _, key := range sorted(b) {
		if _, is := a[key]; !is {
			out = append(out, fmt.Sprintf("%s: nothing and %q", key, b[key]))
		}
	}
	slices.Sort(out)
	return out
}
