package diff

import (
	"hash/maphash"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/document"
)

// comparing begins to compare two trees.
func comparing(a, b *document.Tree) *comparer {
	x := indexer{seed: maphash.MakeSeed()}
	return &comparer{indexer: x, result: &Result{}, a: x.of(a, place{}), b: x.of(b, place{})}
}

func texts(n int, text string) document.Tree {
	t := document.Tree{Kind: document.Array}
	for range n {
		t.Items = append(t.Items, document.Tree{Kind: document.String, Text: text})
	}
	return t
}

// Where there would be too many nodes, a list is changed as a whole, and that is said.
func TestNodesAreBounded(t *testing.T) {
	for left, coarse := range map[int]bool{2: false, 1: true} {
		a, b := texts(1, "a"), texts(1, "b")
		c := comparing(&a, &b)
		c.nodes = maxNodes - left
		if n := c.value(value{&a, 0}, value{&b, 0}, place{}); c.result.Coarse != coarse || (len(n.Nodes) == 0) != coarse {
			t.Errorf("with room for %d: %d nodes, coarse: %v", left, len(n.Nodes), c.result.Coarse)
		}
	}
}

// A table is filled while it is not too large, and all of them together are not.
func TestTablesAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		work, cells int
		want        bool
	}{
		"the largest": {0, maxTable, true}, "a larger one": {0, maxTable + 1, false},
		"the last": {maxWork - 1, 1, true}, "one after the last": {maxWork, 1, false},
	} {
		m := &comparer{result: &Result{}, work: c.work}
		if got := m.afford(c.cells); got != c.want || m.result.Coarse == c.want {
			t.Errorf("%s: %v, coarse: %v", name, got, m.result.Coarse)
		}
	}
}

// Too many that are alike are not weighed, in a list and in a set.
func TestPairsAreBounded(t *testing.T) {
	for olds, coarse := range map[int]bool{maxLikely: false, maxLikely + 1: true} {
		a, b := document.Tree{Kind: document.Array, Items: make([]document.Tree, olds)}, document.Tree{Kind: document.Array, Items: make([]document.Tree, 1)}
		for _, set := range []bool{false, true} {
			c := comparing(&a, &b)
			m := matcher{comparer: c, rule: &listRule{set: set}, a: c.a.items(value{&a, 0}), b: c.b.items(value{&b, 0}), pairs: newPairing(olds, 1)}
			if set {
				m.joinLikeliest()
			} else {
				m.joinLikely()
			}
			if c.result.Coarse != coarse {
				t.Errorf("%d pairs, a set: %v, coarse: %v", olds, set, c.result.Coarse)
			}
		}
	}
}

// Items are one changed item where just enough of them is the same.
func TestLeastLikeness(t *testing.T) {
	item := func(text string, others int) document.Tree {
		t := document.Tree{Kind: document.Object}
		t.Members = append(t.Members, document.Member{Name: "same", Value: document.Tree{Kind: document.String, Text: "same"}})
		t.Members = append(t.Members, document.Member{Name: text, Value: texts(others, text)})
		return t
	}
	// One value of five is the same, or of six: of 100, 20 and 16.
	for others, want := range map[int]int{3: leastLikeness, 4: 0} {
		a, b := item("a", others), item("b", others)
		c := comparing(&a, &b)
		m := matcher{comparer: c, a: []value{{&a, 0}}, b: []value{{&b, 0}}}
		if got := m.likeness(0, 0); got != want {
			t.Errorf("with %d others it is %d", others, got)
		}
	}
}

// A label has the first texts of a value.
func TestLabelIsShort(t *testing.T) {
	four, five := texts(maxLeaves, "a"), texts(maxLeaves+1, "a")
	if a, b := brief(&four), brief(&five); a != "a:a:a:a" || b != a {
		t.Errorf("%s, %s", a, b)
	}
}

// In a set those are paired first that have most in common, and each once.
func TestLikeliestFirst(t *testing.T) {
	list := func(items ...string) document.Tree { // each letter is a member
		out := document.Tree{Kind: document.Array}
		for _, item := range items {
			t := document.Tree{Kind: document.Object}
			for i, value := range item {
				t.Members = append(t.Members, document.Member{Name: string(rune('k' + i)), Value: document.Tree{Kind: document.String, Text: string(value)}})
			}
			out.Items = append(out.Items, t)
		}
		return out
	}
	for _, c := range []struct {
		old, new document.Tree
		want     []int // of each old one, which new one it is
	}{
		{list("abcd"), list("abxx", "abcx"), []int{1}},
		{list("abcd", "abxy"), list("abxx", "abcx"), []int{1, 0}},
		{list("abcd", "abxy"), list("abxx", "abcx", "abzz"), []int{1, 0}},
		{list("abcd", "abxy", "abqq"), list("abxx", "abcx"), []int{1, 0, -1}},
		{list("abcd", "efgh"), list("ijkl", "efgx"), []int{0, 1}},
	} {
		a, b := c.old, c.new
		x := comparing(&a, &b)
		m := matcher{comparer: x, rule: &listRule{set: true}, a: x.a.items(value{&a, 0}), b: x.b.items(value{&b, 0}), pairs: newPairing(len(a.Items), len(b.Items))}
		if m.joinLikeliest(); !slices.Equal(m.pairs.old, c.want) {
			t.Errorf("%d and %d are paired as %v, not %v", len(a.Items), len(b.Items), m.pairs.old, c.want)
		}
		for i, j := range m.pairs.old {
			if j >= 0 && m.pairs.new[j] != i {
				t.Errorf("%d is %d, which is %d", i, j, m.pairs.new[j])
			}
		}
	}
}
