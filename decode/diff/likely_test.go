package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/diff"
)

// listOf is an object with a list of items whose order counts, without names.
func listOf(items ...string) string { return `{"a":[` + strings.Join(items, ",") + `]}` }

// Items without names are found again by what they have in common; too little is
// no reason.
func TestLikely(t *testing.T) {
	const big = `{"x":"1","y":"2","z":"3","w":"4"}`
	for name, c := range map[string]struct {
		old, new string
		want     []string
	}{
		"one member differs":       {listOf(big), listOf(`{"x":"1","y":"2","z":"3","w":"5"}`), []string{`changed a[0].w: "4" -> "5"`}},
		"nothing in common":        {listOf(`{"x":"1"}`), listOf(`{"y":"1"}`), []string{`removed a[0]: {"x":"1"}`, `added a[0]: {"y":"1"}`}},
		"the same names":           {listOf(`{"x":"1","y":"2"}`), listOf(`{"x":"3","y":"4"}`), []string{`changed a[0].x: "1" -> "3"`, `changed a[0].y: "2" -> "4"`}},
		"one of many":              {listOf(big), listOf(`{"x":"1"}`), []string{`removed a[0].y: "2"`, `removed a[0].z: "3"`, `removed a[0].w: "4"`}},
		"another type":             {listOf(`{"@type":"#a.B","x":"1"}`), listOf(`{"@type":"#a.C","x":"1"}`), []string{`removed a[@type=type.googleapis.com/a.B]: {"@type":"type.googleapis.com/a.B","x":"1"}`, `added a[@type=type.googleapis.com/a.C]: {"@type":"type.googleapis.com/a.C","x":"1"}`}},
		"lists in a list":          {listOf(`[1,2]`), listOf(`[1,3]`), []string{`removed a[0][1]: 2`, `added a[0][1]: 3`}},
		"empty objects":            {listOf(`{}`), listOf(`{"x":"1"}`), []string{`removed a[0]: {}`, `added a[0]: {"x":"1"}`}},
		"between others":           {listOf(`"p"`, big, `"q"`), listOf(`"p"`, `{"x":"1","y":"2","z":"3","w":"5"}`, `"q"`), []string{`changed a[1].w: "4" -> "5"`}},
		"two, each to its own":     {listOf(`{"x":"1","y":"2"}`, `{"p":"1","q":"2"}`), listOf(`{"n":"9"}`, `{"x":"1","y":"3"}`, `{"p":"1","q":"3"}`), []string{`added a[0]: {"n":"9"}`, `changed a[0].y: "2" -> "3"`, `changed a[1].q: "2" -> "3"`}},
		"a scalar is never likely": {listOf(`"abc"`), listOf(`"abd"`), []string{`removed a[0]: "abc"`, `added a[0]: "abd"`}},
	} {
		r := diff.Compare(parse(t, c.old), parse(t, c.new), diff.Options{})
		if got := told(r); !slices.Equal(got, c.want) || r.Coarse {
			t.Errorf("%s, coarse %v:\n got %s\nwant %s", name, r.Coarse, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

// Where there are too many to weigh, they are paired in their order, and that is
// said.
func TestTooManyToWeigh(t *testing.T) {
	items := func(n int, value string) []string {
		out := make([]string, n)
		for i := range out {
			out[i] = fmt.Sprintf(`{"x":"%d","y":"%s"}`, i, value)
		}
		return out
	}
	for n, coarse := range map[int]bool{64: false, 65: true} {
		r := diff.Compare(parse(t, listOf(items(n, "old")...)), parse(t, listOf(items(n, "new")...)), diff.Options{})
		got := told(r)
		if len(got) != n || r.Coarse != coarse || got[n-1] != fmt.Sprintf(`changed a[%d].y: "old" -> "new"`, n-1) {
			t.Errorf("%d items: coarse %v, %d changes, the last is %s", n, r.Coarse, len(got), got[len(got)-1])
		}
	}
}

// Which names and labels there are in a path.
func TestPaths(t *testing.T) {
	long := strings.Repeat("é", 61) // 122 bytes
	for name, c := range map[string]struct{ old, new, want string }{
		"words":          {`{"a_1":{"@b":1}}`, `{"a_1":{"@b":2}}`, "a_1.@b"},
		"a dash":         {`{"a-b":1}`, `{"a-b":2}`, `["a-b"]`},
		"digits":         {`{"a":{"0":{"9z":1}}}`, `{"a":{"0":{"9z":2}}}`, "a.0.9z"},
		"around letters": {`{"[":{"{":{"` + "`" + `":{"@":{"Z":1}}}}}`, `{"[":{"{":{"` + "`" + `":{"@":{"Z":2}}}}}`, "[\"[\"][\"{\"][\"`\"].@.Z"},
		"a label":        {`{"l":[{"name":"a b","v":1}]}`, `{"l":[{"name":"a b","v":2}]}`, `l[name=a b].v`},
		"quoted":         {`{"l":[{"name":"a[0]","v":1}]}`, `{"l":[{"name":"a[0]","v":2}]}`, `l[name="a[0]"].v`},
		"a tab":          {`{"l":[{"name":"a\tb","v":1}]}`, `{"l":[{"name":"a\tb","v":2}]}`, `l[name="a\tb"].v`},
		"120 bytes":      {`{"l":[{"name":"` + long[:120] + `","v":1}]}`, `{"l":[{"name":"` + long[:120] + `","v":2}]}`, `l[name=` + long[:120] + `].v`},
		"too long":       {`{"l":[{"name":"x` + long[:120] + `","v":1}]}`, `{"l":[{"name":"x` + long[:120] + `","v":2}]}`, `l[name=x` + long[:118] + `…].v`},
		"no name":        {`{"l":[{"name":"","v":1,"w":1}]}`, `{"l":[{"name":"","v":2,"w":1}]}`, "l[0].v"},
	} {
		r := diff.Compare(parse(t, c.old), parse(t, c.new), diff.Options{})
		var got []string
		for ch := range r.Changes() {
			got = append(got, ch.Path.String())
			last := ch.Path[len(ch.Path)-1]
			if last.Item() {
				t.Errorf("%s: the last step is to an item", name)
			}
		}
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	for k, want := range map[diff.Kind]string{diff.Same: "same", diff.Added: "added", diff.Removed: "removed", diff.Changed: "changed", diff.Moved: "moved"} {
		if k.String() != want {
			t.Errorf("%d is %s", k, k)
		}
	}
	// Who has enough stops.
	r := diff.Compare(parse(t, `{"a":1,"b":{"c":1},"d":[1]}`), parse(t, `{"a":2,"b":{"c":2},"d":[2]}`), diff.Options{})
	for most := 1; most < 5; most++ {
		n := 0
		for range r.Changes() {
			if n++; n == most {
				break
			}
		}
		if n != most {
			t.Errorf("%d changes, not %d", n, most)
		}
	}
}

// What a node is a part of, and how many that are the same it stands for.
func TestNodes(t *testing.T) {
	r := diff.Compare(parse(t, listOf(`1`, `2`, `3`)), parse(t, listOf(`1`, `2`, `3`, `4`, `5`)), diff.Options{})
	root := &r.Root
	if !root.Root() || root.Item() || len(root.Nodes) != 1 {
		t.Fatalf("the root is %+v", root)
	}
	member := &root.Nodes[0]
	if member.Root() || member.Item() {
		t.Errorf("a member is the root: %v, an item: %v", member.Root(), member.Item())
	}
	var runs []string
	for i := range member.Nodes {
		n := &member.Nodes[i]
		if n.Root() || !n.Item() {
			t.Errorf("item %d is the root: %v, an item: %v", i, n.Root(), n.Item())
		}
		runs = append(runs, fmt.Sprintf("%s x%d", n.Kind, n.Run))
	}
	if want := []string{"same x3", "added x1", "added x1"}; !slices.Equal(runs, want) {
		t.Errorf("%q, not %q", runs, want)
	}
}
