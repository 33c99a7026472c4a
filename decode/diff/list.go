package diff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/clip"
)

// list compares the items of two arrays.
func (c *comparer) list(a, b value, p place) []Node {
	m := matcher{comparer: c, rule: p.list(), a: c.a.items(a), b: c.b.items(b)}
	if m.rule == nil {
		m.rule = &listRule{}
	}
	m.pairs = newPairing(len(m.a), len(m.b))
	c.joinEqual(m.pairs, hashes(c.a, m.a), hashes(c.b, m.b), !m.rule.set)
	m.old, m.new = m.names(c.a, m.a), m.names(c.b, m.b)
	joinByRank(m.pairs, 0, len(m.a), 0, len(m.b),
		func(i int) uint64 { return m.old.id(i) }, func(j int) uint64 { return m.new.id(j) }, true)
	for i := range m.rule.alike {
		path := m.rule.alike[i].path
		joinByRank(m.pairs, 0, len(m.a), 0, len(m.b),
			func(i int) uint64 { return c.a.idAt(m.a[i], path) }, func(j int) uint64 { return c.b.idAt(m.b[j], path) }, true)
	}
	if m.rule.set {
		m.joinLikeliest()
	} else {
		m.joinLikely()
	}
	item := p.item()
	l := layout{c: c, a: m.a, b: m.b, pairs: m.pairs, ordered: !m.rule.set, part: func(n *Node, i, j int) {
		n.in, n.Key = inList, m.label(i, j)
	}}
	l.compare = func(i, j int) Node { return c.value(m.a[i], m.b[j], item) }
	return l.nodes()
}

func hashes(ix *index, list []value) []uint64 {
	out := make([]uint64, len(list))
	for i, v := range list {
		out[i] = ix.hashOf(v)
	}
	return out
}

// matcher pairs the items of two lists.
type matcher struct {
	*comparer
	rule     *listRule
	a, b     []value
	old, new names
	pairs    pairing
}

// names are what the items of a list are known by; 0 for those without.
type names struct {
	ids   []uint64
	count map[uint64]int
}

func (n *names) id(i int) uint64 {
	if n.ids == nil {
		return 0
	}
	return n.ids[i]
}

// only says whether no other item has the name of an item.
func (n *names) only(i int) bool { return n.id(i) != 0 && n.count[n.id(i)] == 1 }

func (m *matcher) names(ix *index, list []value) (n names) {
	for i, v := range list {
		id := m.nameOf(ix, v)
		if id == 0 {
			continue
		}
		if n.ids == nil {
			n.ids, n.count = make([]uint64, len(list)), make(map[uint64]int, len(list))
		}
		n.ids[i] = id
		n.count[id]++
	}
	return n
}

// idAt is equal for equal members, 0 where there is none.
func (ix *index) idAt(v value, path []string) uint64 {
	if part, ok := ix.get(v, path); ok {
		return 1 | ix.hashOf(part)
	}
	return 0
}

func (m *matcher) nameOf(ix *index, v value) uint64 {
	if v.tree.Kind != document.Object {
		return 0
	}
	if m.rule.key == nil {
		for i := range nameKeys {
			if part, ok := ix.get(v, nameKeys[i].path); ok && part.tree.Kind == document.String && part.tree.Text != "" {
				return 1 | mix(ix.hashOf(part)+uint64(i))
			}
		}
		return 0
	}
	h := uint64(1)
	for i := range m.rule.key {
		h *= 3
		if part, ok := ix.get(v, m.rule.key[i].path); ok {
			h = mix(h ^ ix.hashOf(part))
		}
	}
	return 1 | h
}

// label is what a person calls an item, "" if only its position tells it from
// others.
func (m *matcher) label(i, j int) string {
	if i >= 0 && !m.old.only(i) || j >= 0 && !m.new.only(j) || i >= 0 && j >= 0 && m.old.id(i) != m.new.id(j) {
		return ""
	}
	ix, v := m.comparer.a, value{}
	if j >= 0 {
		ix, v = m.comparer.b, m.b[j]
	} else {
		v = m.a[i]
	}
	parts, all := nameKeys, false
	if m.rule.key != nil {
		parts, all = m.rule.key, true
	}
	var out []string
	for i := range parts {
		part, ok := ix.get(v, parts[i].path)
		if !ok || !all && (part.tree.Kind != document.String || part.tree.Text == "") {
			continue
		}
		out = append(out, parts[i].label+"="+brief(part.tree))
		if !all {
			break
		}
	}
	return strings.Join(out, ",")
}

const (
	maxLabel  = 120 // bytes
	maxLeaves = 4
)

// brief is the texts in a value, one after the other: of a socket address
// "10.0.0.1:80".
func brief(t *document.Tree) string {
	var leaves []string
	var collect func(t *document.Tree)
	collect = func(t *document.Tree) {
		if len(leaves) == maxLeaves {
			return
		}
		for i := range t.Members {
			collect(&t.Members[i].Value)
		}
		for i := range t.Items {
			collect(&t.Items[i])
		}
		if t.Kind > document.Array {
			leaves = append(leaves, t.Text)
		}
	}
	collect(t)
	s := clip.Text(strings.Join(leaves, ":"), maxLabel)
	if strings.ContainsAny(s, `[]"`) || strings.ContainsFunc(s, func(r rune) bool { return r != '…' && !strconv.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// maxLikely bounds the pairs that are weighed between two anchors.
const maxLikely = 1 << 12

// lost says whether an item may be found again by what it has in common with
// another: if it has no name of its own that the other list does not have.
func (m *matcher) lost(n *names, pairs []int, list []value, i int) bool {
	return pairs[i] < 0 && list[i].tree.Kind <= document.Array && !n.only(i)
}

// joinLikely pairs what has a part in common, in a list whose order counts,
// between those that are paired already.
func (m *matcher) joinLikely() {
	anchor := anchors(m.pairs)
	i, j := 0, 0
	for j < len(m.b) || i < len(m.a) {
		// The gap up to the next anchor.
		endNew := j
		for endNew < len(m.b) && !anchor[endNew] {
			endNew++
		}
		endOld := len(m.a)
		if endNew < len(m.b) {
			endOld = m.pairs.new[endNew]
		}
		var olds, news []int
		for ; i < endOld; i++ {
			if m.lost(&m.old, m.pairs.old, m.a, i) {
				olds = append(olds, i)
			}
		}
		for ; j < endNew; j++ {
			if m.lost(&m.new, m.pairs.new, m.b, j) {
				news = append(news, j)
			}
		}
		i, j = endOld+1, endNew+1
		m.joinGap(olds, news)
	}
}

func (m *matcher) joinGap(olds, news []int) {
	if len(olds) == 0 || len(news) == 0 {
		return
	}
	if len(olds)*len(news) > maxLikely || !m.afford(len(olds)*len(news)*64) {
		m.result.Coarse = true
		for k := range min(len(olds), len(news)) {
			if m.likeness(olds[k], news[k]) > 0 {
				m.pairs.join(olds[k], news[k])
			}
		}
		return
	}
	weights := make([]int, len(olds)*len(news))
	for i := range olds {
		for j := range news {
			weights[i*len(news)+j] = m.likeness(olds[i], news[j])
		}
	}
	align(len(olds), len(news), func(i, j int) int { return weights[i*len(news)+j] }, func(i, j int) {
		m.pairs.join(olds[i], news[j])
	})
}

// joinLikeliest pairs what has a part in common, in a set: what has most first.
func (m *matcher) joinLikeliest() {
	var olds, news []int
	for i := range m.a {
		if m.lost(&m.old, m.pairs.old, m.a, i) {
			olds = append(olds, i)
		}
	}
	for j := range m.b {
		if m.lost(&m.new, m.pairs.new, m.b, j) {
			news = append(news, j)
		}
	}
	if len(olds) == 0 || len(news) == 0 {
		return
	}
	if len(olds)*len(news) > maxLikely || !m.afford(len(olds)*len(news)*64) {
		m.result.Coarse = true
		return
	}
	type pair struct{ i, j, weight int }
	var all []pair
	for _, i := range olds {
		for _, j := range news {
			if w := m.likeness(i, j); w > 0 {
				all = append(all, pair{i, j, w})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b pair) int { return cmp.Compare(b.weight, a.weight) })
	for _, p := range all {
		if m.pairs.old[p.i] < 0 && m.pairs.new[p.j] < 0 {
			m.pairs.join(p.i, p.j)
		}
	}
}

const (
	maxLikenessMembers = 24
	leastLikeness      = 20
)

// likeness says, up to 100, how much of two items is the same; 0 if too little
// is.
func (m *matcher) likeness(i, j int) int {
	a, b := m.a[i], m.b[j]
	if a.tree.Kind != b.tree.Kind || typeIn(a.tree) != typeIn(b.tree) {
		return 0
	}
	if a.tree.Kind == document.Array {
		return leastLikeness
	}
	olds, news := m.comparer.a.heads(a), m.comparer.b.heads(b)
	same := 0
	for x, v := range olds {
		for y, w := range news {
			if a.tree.Members[x].Name != b.tree.Members[y].Name {
				continue
			}
			was, is := m.comparer.a.sizeOf(v), m.comparer.b.sizeOf(w)
			if m.comparer.a.hashOf(v) == m.comparer.b.hashOf(w) {
				same += 10 * is
			} else {
				same += 3 * min(was, is)
			}
		}
	}
	all := max(m.comparer.a.sizeOf(a), m.comparer.b.sizeOf(b)) - 1
	if all <= 0 {
		return 0
	}
	if w := 10 * same / all; w >= leastLikeness {
		return min(w, 100)
	}
	return 0
}

// heads are the values of the first members of an object.
func (ix *index) heads(v value) []value {
	n := min(len(v.tree.Members), maxLikenessMembers)
	out := make([]value, n)
	at := v.at + 1
	for i := range n {
		out[i] = value{&v.tree.Members[i].Value, at}
		at += ix.size[at]
	}
	return out
}
