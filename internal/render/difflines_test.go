package render

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

func treeOfJSON(t testing.TB, text string) *document.Tree {
	t.Helper()
	tree, err := treeOf(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return &tree
}

func diffText(r *diff.Result, context int) string {
	var b strings.Builder
	for l := range DiffLines(r, context) {
		fmt.Fprintf(&b, "%s\n", l.Line(Style{}, 0))
	}
	return b.String()
}

func TestDiffText(t *testing.T) {
	a := treeOfJSON(t, `{"@type":"type.googleapis.com/envoy.config.listener.v3.Listener","name":"l",
		"address":{"socket_address":{"address":"0.0.0.0","port_value":80}},
		"filter_chains":[
			{"name":"edge","filters":[{"name":"f","typed_config":{"@type":"x","stat_prefix":"a","b":1,"c":2}}]},
			{"name":"b","filters":[{"name":"x","v":["d"],"code":"a\nb\nc\n\u001b[31m\n"},{"name":"y","code":"one\ntwo\nthree\n"}]},
			{"name":"z","filters":[]}],
		"tail":{"a":1,"b":2,"c":3,"d":5}}`)
	b := treeOfJSON(t, `{"@type":"type.googleapis.com/envoy.config.listener.v3.Listener","name":"l",
		"address":{"socket_address":{"address":"0.0.0.0","port_value":81}},
		"filter_chains":[
			{"name":"z","filters":[]},
			{"name":"edge","filters":[{"name":"f","typed_config":{"@type":"x","stat_prefix":"a","b":1,"c":2}}]},
			{"name":"edge-v2","filter_chain_match":{"destination_port":443}},
			{"name":"b","filters":[{"name":"x","v":["d"],"code":"other"},{"name":"y","code":"one\n2\nthree\n"}]}],
		"tail":{"a":1,"b":2,"c":3,"d":5}}`)
	const folded = `  ...  [2 lines equal]
  address:
    socket_address:
      address: "0.0.0.0"
-     port_value: 80
+     port_value: 81
  filter_chains:
+ - name: z  [moved from [2]]
+   filters: []
  - name: edge ...  [8 lines equal]
+ - name: edge-v2
+   filter_chain_match:
+     destination_port: 443
  - name: b
    filters:
    - name: x
      ...  [2 lines equal]
-     code: "a\nb\nc\n\u001b[31m\n"
+     code: other
    - name: "y"
      code: |
        one
-       two
+       2
        three
- - name: z  [moved to [0]]
-   filters: []
  tail: ...  [5 lines equal]
`
	r := diff.Compare(a, b, diff.Options{})
	if got := diffText(r, 0); got != folded {
		t.Errorf("got\n%s\nwant\n%s", got, folded)
	}
	one := diffText(r, 1)
	for _, want := range []string{"  - name: edge\n    ...  [6 lines equal]\n        c: 2\n+ - name: edge-v2\n", "  tail:\n    ...  [4 lines equal]\n"} {
		if !strings.Contains(one, want) {
			t.Errorf("with one line of context there is no\n%s\nin\n%s", want, one)
		}
	}
}

// What moved is folded into its first line if it has more than two, where context is
// limited. What is left of it is counted.
func TestDiffTextOfMoves(t *testing.T) {
	const z, y = `{"name":"z"%s}`, `{"name":"y"}`
	for more, want := range map[string]string{
		``:             "+ - name: z  [moved from [1]]\n  - name: \"y\"\n- - name: z  [moved to [0]]\n",
		`,"a":1`:       "+ - name: z  [moved from [1]]\n+   a: 1\n  - name: \"y\"\n- - name: z  [moved to [0]]\n-   a: 1\n",
		`,"a":1,"b":2`: "+ - name: z  [moved from [1]]\n+   ...  [2 lines equal]\n  - name: \"y\"\n- - name: z  [moved to [0]]\n-   ...  [2 lines equal]\n",
	} {
		z := fmt.Sprintf(z, more)
		r := diff.Compare(treeOfJSON(t, `{"l":[`+y+`,`+z+`]}`), treeOfJSON(t, `{"l":[`+z+`,`+y+`]}`), diff.Options{})
		if got := diffText(r, 0); got != "  l:\n"+want {
			t.Errorf("%s:\n%s\nwant\n%s", more, got, want)
		}
		if got := diffText(r, -1); strings.Contains(got, "...") {
			t.Errorf("%s: with all context\n%s", more, got)
		}
	}
}

func TestDiffTextOfKeys(t *testing.T) {
	const cla = `{"@type":"type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment","endpoints":[{"locality":{"region":"eu"},"lb_endpoints":[
		{"endpoint":{"address":{"socket_address":{"address":"10.0.0.1","port_value":80}}},"load_balancing_weight":%d},
		{"endpoint":{"address":{"socket_address":{"address":"10.0.0.2","port_value":80}}},"load_balancing_weight":1}]}]}`
	r := diff.Compare(treeOfJSON(t, fmt.Sprintf(cla, 1)), treeOfJSON(t, fmt.Sprintf(cla, 2)), diff.Options{})
	const want = `  "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment
  endpoints:
  - locality:  [locality=eu]
      region: eu
    lb_endpoints:
    - endpoint:  [address=10.0.0.1:80]
        ...  [4 lines equal]
-     load_balancing_weight: 1
+     load_balancing_weight: 2
    - endpoint: ...  [6 lines equal]
`
	if got := diffText(r, 0); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDiffTextOfScalars(t *testing.T) {
	for _, test := range [][3]string{
		{`1`, `2`, "- 1\n+ 2\n"},
		{`[1]`, `[[1]]`, "- - 1\n+ - - 1\n"},
		{`[[1,2]]`, `[[1,3]]`, "  - - 1\n-   - 2\n+   - 3\n"},
		{`[{"a":1,"b":2}]`, `[{"b":2}]`, "- - a: 1\n  - b: 2\n"},
		{`{"a":{}}`, `{"a":{"b":1}}`, "- a: {}\n+ a:\n+   b: 1\n"},
		{`[[1]]`, `[[]]`, "- - - 1\n+ - []\n"},
		{`{"a":"x"}`, `{"a":"x"}`, "  a: x\n"},
		{`1`, `1`, "  1\n"},
	} {
		r := diff.Compare(treeOfJSON(t, test[0]), treeOfJSON(t, test[1]), diff.Options{})
		if got := diffText(r, 1); got != test[2] {
			t.Errorf("%s to %s: got\n%s\nwant\n%s", test[0], test[1], got, test[2])
		}
	}
}

func randomTree(r *rand.Rand, depth int) document.Tree {
	texts := []string{"a", "", "true", "one\ntwo\nthree\n", "one\n2\nthree\n", "-", "x: y"}
	switch kind := r.IntN(9); {
	case depth == 0 || kind < 3:
		return document.Tree{Kind: document.String, Text: texts[r.IntN(len(texts))]}
	case kind < 6:
		t := document.Tree{Kind: document.Array}
		for range r.IntN(5) {
			t.Items = append(t.Items, randomTree(r, depth-1))
		}
		return t
	}
	var t document.Tree
	for _, name := range []string{"name", "a", "a b", "no"} {
		if r.IntN(3) > 0 {
			t.Members = append(t.Members, document.Member{Name: name, Value: randomTree(r, depth-1)})
		}
	}
	return t
}

// The lines of the new tree are its YAML, folded or not, and each change has
// its lines.
func TestDiffLinesAreTheNewTree(t *testing.T) {
	compared := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(2, seed))
		a, b := randomTree(r, 5), randomTree(r, 5)
		if b.Kind != a.Kind || b.Kind == document.String {
			continue
		}
		compared++
		result := diff.Compare(&a, &b, diff.Options{})
		want := string(document.Document{Root: b}.YAML())
		var got strings.Builder
		numbers := make(map[int]bool)
		for l := range DiffLines(result, -1) {
			if l.Sign != '-' {
				fmt.Fprintf(&got, "%s%s\n", strings.Repeat(" ", l.Indent), l.Text)
			}
			if l.Change > 0 {
				numbers[l.Change] = true
			}
		}
		if got.String() != want {
			t.Fatalf("seed %d: got\n%s\nwant\n%s\nof\n%s", seed, got.String(), want, diffText(result, -1))
		}
		changes := 0
		for range result.Changes() {
			if changes++; !numbers[changes] {
				t.Fatalf("seed %d: change %d has no line in\n%s", seed, changes, diffText(result, -1))
			}
		}
		if len(numbers) != changes {
			t.Fatalf("seed %d: %d changes, and numbers %v", seed, changes, numbers)
		}
		for context := range 4 {
			n := 0
			for l := range DiffLines(result, context) {
				if l.Sign != '-' {
					n += max(l.Equal, 1)
				}
			}
			if n != strings.Count(want, "\n") {
				t.Fatalf("seed %d, context %d: %d lines of %d in\n%s", seed, context, n, strings.Count(want, "\n"), diffText(result, context))
			}
		}
	}
	if compared < 400 {
		t.Errorf("%d pairs were compared", compared)
	}
}
