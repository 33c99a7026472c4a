package bisect

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// needs are what a client has to be given, and asks for, before it is given the
// culprits: what refers to them, up to what is asked for without a name, and what
// all of that refers to.
type needs struct {
	*proof
	in    *inspect.Inspector
	whole bool                       // all that the client held of the culprits' type; else it gets nothing of that before
	index map[inspect.Ref][]referrer // what refers to a name; nil: not made yet
	named map[inspect.Ref]*held      // what the recorded client held
	seen  map[*held]bool
	asked map[inspect.Ref]bool

	items map[string][]*held  // that it is given, by type key
	names map[string][]string // that it asks for, by type key
}

type referrer struct {
	key string
	*held
}

func needsOf(p *proof) *needs {
	n := &needs{
		proof: p, in: inspect.New(nil), named: map[inspect.Ref]*held{},
		seen: map[*held]bool{}, asked: map[inspect.Ref]bool{}, items: map[string][]*held{}, names: map[string][]string{},
	}
	for key, h := range p.has {
		for _, it := range h.list() {
			n.named[ref(key, it.name)] = it
			for _, a := range it.aliases {
				n.named[ref(key, a)] = it
			}
		}
	}
	n.whole = slices.ContainsFunc(p.turns, func(w turn) bool { return w.whole })
	if n.whole {
		for _, it := range p.base.list() {
			n.give(p.key, it.name, it)
			n.above(p.key, it)
		}
	}
	for i := range p.turns {
		for _, it := range p.turns[i].items {
			n.ask(p.key, it.name)
			n.above(p.key, it)
			n.below(it, n.whole || p.turns[i].suspects > 1)
		}
	}
	return n
}

// ref is a name as it is looked up.
func ref(key, name string) inspect.Ref {
	return inspect.Ref{Type: key, Name: decode.NormalName(name)}
}

func (n *needs) refs(it *held) []inspect.Ref {
	return n.in.Inspect(it.typeURL, it.body, it.masked).Refs
}

// ask enters that the client asks for a name.
func (n *needs) ask(key, name string) {
	if a, r := n.asks[key], ref(key, name); a != nil && !a.wild && !n.asked[r] {
		n.asked[r] = true
		n.names[key] = append(n.names[key], name)
	}
}

// give enters that the client is given something, and what that refers to.
func (n *needs) give(key, name string, it *held) {
	n.ask(key, name)
	if n.seen[it] || key == n.key && !n.whole {
		return
	}
	n.seen[it] = true
	n.items[key] = append(n.items[key], it)
	n.below(it, true)
}

// below gives the client what something refers to. If that is rejected, only
// clusters and the like count, which have to be there before.
func (n *needs) below(it *held, taken bool) {
	for _, r := range n.refs(it) {
		a := n.asks[r.Type]
		if a == nil || !taken && !a.wild {
			continue
		}
		switch to := n.named[ref(r.Type, r.Name)]; {
		case to != nil:
			n.give(r.Type, r.Name, to)
		case a.wild:
		case r.Type == "EDS" && !n.asked[ref(r.Type, r.Name)]:
			n.give(r.Type, r.Name, noEndpoints(a.typeURL, r.Name))
		default:
			n.ask(r.Type, r.Name)
		}
	}
}

// above gives the client that by which it comes to ask for something.
func (n *needs) above(key string, it *held) {
	if a := n.asks[key]; a == nil || a.wild {
		return
	}
	if n.index == nil {
		n.index = map[inspect.Ref][]referrer{}
		for k, h := range n.has {
			for _, from := range h.list() {
				for _, r := range n.refs(from) {
					at := ref(r.Type, r.Name)
					n.index[at] = append(n.index[at], referrer{k, from})
				}
			}
		}
	}
	for _, from := range n.index[ref(xds.ShortType(it.typeURL), it.name)] {
		if !n.seen[from.held] {
			n.give(from.key, from.name, from.held)
			n.above(from.key, from.held)
		}
	}
}
