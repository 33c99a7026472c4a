package diff

import (
	"hash/maphash"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

// Options say how trees are compared.
type Options struct {
	// Type is the full name of the message that both trees are, as a Document
	// says it. It is not needed of trees that begin with "@type".
	Type string
	// Ignore are the full names of fields that make no difference, wherever
	// they stand: see Envelope.
	Ignore []string
	// Types are those of the trees beside the linked ones; may be nil.
	Types *descriptors.Types
}

// Envelope names the fields of discovery messages that change with each message
// whatever it says: versions and nonces.
func Envelope() []string {
	return []string{
		"envoy.service.discovery.v3.DiscoveryRequest.version_info",
		"envoy.service.discovery.v3.DiscoveryRequest.response_nonce",
		"envoy.service.discovery.v3.DiscoveryResponse.version_info",
		"envoy.service.discovery.v3.DiscoveryResponse.nonce",
		"envoy.service.discovery.v3.DeltaDiscoveryRequest.response_nonce",
		"envoy.service.discovery.v3.DeltaDiscoveryResponse.system_version_info",
		"envoy.service.discovery.v3.DeltaDiscoveryResponse.nonce",
		"envoy.api.v2.DiscoveryRequest.version_info",
		"envoy.api.v2.DiscoveryRequest.response_nonce",
		"envoy.api.v2.DiscoveryResponse.version_info",
		"envoy.api.v2.DiscoveryResponse.nonce",
		"envoy.api.v2.DeltaDiscoveryRequest.response_nonce",
		"envoy.api.v2.DeltaDiscoveryResponse.system_version_info",
		"envoy.api.v2.DeltaDiscoveryResponse.nonce",
	}
}

// maxNodes bounds the nodes of a Result. What lies deeper is changed as a
// whole.
const maxNodes = 1 << 20

// Compare compares two trees. The Result refers to them: nobody may write to
// them as long as it is used.
func Compare(old, new *document.Tree, o Options) *Result {
	p := place{any: true}
	if o.Type != "" {
		p = placeOf(o.Types.Find(protoreflect.FullName(o.Type)))
	}
	x := indexer{types: o.Types, seed: maphash.MakeSeed(), ignore: make(map[protoreflect.FullName][]string, len(o.Ignore))}
	for _, name := range o.Ignore {
		full := protoreflect.FullName(name)
		x.ignore[full.Parent()] = append(x.ignore[full.Parent()], string(full.Name()))
	}
	r := &Result{}
	c := &comparer{indexer: x, result: r, a: x.of(old, p), b: x.of(new, p)}
	r.Root = c.value(value{old, 0}, value{new, 0}, p)
	r.Root.Run = 1
	if len(o.Ignore) > 0 {
		c.tellIgnored(old, new, p)
	}
	for change := range r.Changes() {
		r.Count[change.Kind]++
	}
	return r
}

// comparer is one comparison.
type comparer struct {
	indexer
	a, b   *index
	result *Result
	nodes  int
	work   int // see maxWork
}

// value compares two values at the same place.
func (c *comparer) value(a, b value, p place) Node {
	n := Node{Kind: Changed, Old: a.tree, New: b.tree, Run: 1}
	switch {
	case c.a.hashOf(a) == c.b.hashOf(b):
		n.Kind = Same
	case a.tree.Kind != b.tree.Kind || a.tree.Kind > document.Array:
	case c.nodes+len(a.tree.Items)+len(b.tree.Items)+len(a.tree.Members)+len(b.tree.Members) > maxNodes:
		c.result.Coarse = true
	case a.tree.Kind == document.Array:
		n.Nodes = c.list(a, b, p)
	case typeIn(a.tree) == typeIn(b.tree): // else nothing in one has to do with the other
		n.Nodes = c.object(a, b, p.enter(b.tree, c.types))
	}
	c.nodes += len(n.Nodes)
	return n
}

// typeIn is what an object says that it is; it says so first.
func typeIn(t *document.Tree) string {
	if len(t.Members) > 0 && t.Members[0].Name == "@type" {
		return t.Members[0].Value.Text
	}
	return ""
}

// object compares the members of two objects.
func (c *comparer) object(a, b value, p place) []Node {
	olds, news := c.a.items(a), c.b.items(b)
	pairs := newPairing(len(olds), len(news))
	same := len(olds) == len(news)
	for i := 0; same && i < len(olds); i++ {
		same = a.tree.Members[i].Name == b.tree.Members[i].Name
	}
	if same {
		for i := range olds {
			pairs.join(i, i)
		}
	} else {
		joinByRank(pairs, 0, len(olds), 0, len(news),
			func(i int) uint64 { return 1 | maphash.String(c.seed, a.tree.Members[i].Name) },
			func(j int) uint64 { return 1 | maphash.String(c.seed, b.tree.Members[j].Name) }, false)
	}
	l := layout{c: c, a: olds, b: news, pairs: pairs, part: func(n *Node, i, j int) {
		n.in = inObject
		if j >= 0 {
			n.Name = b.tree.Members[j].Name
		} else {
			n.Name = a.tree.Members[i].Name
		}
	}}
	l.compare = func(i, j int) Node {
		name := b.tree.Members[j].Name
		if c.ignored(p, name) {
			return Node{Kind: Same, Old: olds[i].tree, New: news[j].tree, Run: 1}
		}
		return c.value(olds[i], news[j], p.member(name))
	}
	nodes := l.nodes()
	if len(c.ignore) > 0 {
		nodes = slices.DeleteFunc(nodes, func(n Node) bool { return n.Kind != Same && c.ignored(p, n.Name) })
	}
	return nodes
}

// tellIgnored notes which of the fields to be ignored differ, of those that are
// members of the root.
func (c *comparer) tellIgnored(old, new *document.Tree, p place) {
	p = p.enter(new, c.types)
	differs := func(m *document.Member, other *document.Tree) bool {
		is, there := other.Get(m.Name)
		return c.ignored(p, m.Name) && (!there || is.Text != m.Value.Text)
	}
	for i := range new.Members {
		if m := &new.Members[i]; differs(m, old) {
			c.result.Ignored = append(c.result.Ignored, m.Name)
		}
	}
	for i := range old.Members {
		if m := &old.Members[i]; differs(m, new) && !slices.Contains(c.result.Ignored, m.Name) {
			c.result.Ignored = append(c.result.Ignored, m.Name)
		}
	}
}
