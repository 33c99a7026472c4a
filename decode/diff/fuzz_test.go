package diff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

const listenerURL = "type.googleapis.com/envoy.config.listener.v3.Listener"

// read takes bytes for a resource: of REST, or the value of an Any.
func read(data []byte) *document.Tree {
	r := decode.Resource{TypeURL: listenerURL, Body: data}
	doc := r.Decode()
	return &doc.Root
}

func wire(t testing.TB, text string) []byte {
	t.Helper()
	var a anypb.Any
	if err := protojson.Unmarshal([]byte(strings.ReplaceAll(text, `"#`, `"type.googleapis.com/`)), &a); err != nil {
		t.Fatal(err)
	}
	return a.Value
}

// FuzzCompare compares whatever two messages say. The changes of each pair make
// one of the other.
func FuzzCompare(f *testing.F) {
	const listener = `{"@type":"#envoy.config.listener.v3.Listener","name":"l","filter_chains":[%s]}`
	chain := func(name string, more ...string) string {
		return `{"name":"` + name + `","filter_chain_match":{"server_names":["a","b"]},"filters":[` + strings.Join(more, ",") + `]}`
	}
	a := fmt.Sprintf(listener, chain("a", `{"name":"x"}`, `{"name":"y"}`)+","+chain("b"))
	b := fmt.Sprintf(listener, chain("b", `{"name":"y"}`)+","+chain("a", `{"name":"y"}`, `{"name":"x"}`))
	f.Add(wire(f, a), wire(f, b))
	f.Add(wire(f, a), []byte{})
	f.Add([]byte(`{"a":[1,2,1],"b":{"c":1}}`), []byte(`{"a":[2,1,{"name":"x"}],"b":[]}`))
	f.Add([]byte(`{"a":1,"a":2}`), []byte(`{"a":2}`))
	f.Add([]byte(`{"@type":"type.googleapis.com/google.protobuf.Struct","value":{"@type":1}}`), []byte("\x0a\x01x\x12\x00"))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, b := read(x), read(y)
		if r := diff.Compare(a, a, diff.Options{}); !r.Same() {
			t.Errorf("a tree differs from itself: %v", told(r))
		}
		r := diff.Compare(a, b, diff.Options{})
		got := apply(a, slices.Collect(r.Changes()))
		if again := diff.Compare(&got, b, diff.Options{}); !again.Same() {
			t.Errorf("%s\nand the changes %v make\n%s\nwhich is not\n%s: %v", text(a), told(r), text(&got), text(b), told(again))
		}
	})
}

// Hostile trees are compared in reasonable time, and coarsely rather than wrong.
func TestBounds(t *testing.T) {
	list := func(n int, item func(i int) document.Tree) *document.Tree {
		l := document.Tree{Kind: document.Array}
		for i := range n {
			l.Items = append(l.Items, item(i))
		}
		return &document.Tree{Members: []document.Member{{Name: "list", Value: l}}}
	}
	number := func(i int) document.Tree { return document.Tree{Kind: document.Number, Text: fmt.Sprint(i)} }
	object := func(parts ...int) document.Tree {
		var o document.Tree
		for i, p := range parts {
			o.Members = append(o.Members, document.Member{Name: fmt.Sprint("m", i), Value: number(p)})
		}
		return o
	}
	const n = 20000
	for _, test := range []struct {
		name   string
		a, b   *document.Tree
		coarse bool
	}{
		{"repeats in another order", list(n, func(i int) document.Tree { return number(i % 7) }), list(n, func(i int) document.Tree { return number(i % 5) }), true},
		{"reversed", list(n, number), list(n, func(i int) document.Tree { return number(n - i) }), false},
		{"all a little different", list(n, func(i int) document.Tree { return object(i, 1, 2) }), list(n, func(i int) document.Tree { return object(-i, 1, 2) }), true},
		{
			"other names", list(n, func(i int) document.Tree {
				return document.Tree{Members: []document.Member{{Name: "name", Value: document.Tree{Kind: document.String, Text: fmt.Sprint("a", i)}}}}
			}),
			list(n, func(i int) document.Tree {
				return document.Tree{Members: []document.Member{{Name: "name", Value: document.Tree{Kind: document.String, Text: fmt.Sprint("b", i)}}}}
			}), false,
		},
		{"many small tables", list(n/8, func(i int) document.Tree {
			return *list(30, func(j int) document.Tree { return object(j%3, i) })
		}), list(n/8, func(i int) document.Tree {
			return *list(30, func(j int) document.Tree { return object(j%4, i, 1) })
		}), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := diff.Compare(test.a, test.b, diff.Options{})
			if r.Coarse != test.coarse {
				t.Errorf("coarse %v", r.Coarse)
			}
			got := apply(test.a, slices.Collect(r.Changes()))
			if text(&got) != text(test.b) {
				t.Error("the changes do not make the new tree")
			}
		})
	}
	deep := func(leaf string) *document.Tree {
		t := document.Tree{Kind: document.String, Text: leaf}
		for range 2000 {
			t = document.Tree{Kind: document.Array, Items: []document.Tree{t, {Kind: document.Word, Text: "true"}}}
		}
		return &t
	}
	if got := told(diff.Compare(deep("a"), deep("b"), diff.Options{})); len(got) != 2 {
		t.Errorf("%d changes in a deep tree", len(got))
	}
}

// twentyThousand makes a response of clusters.
func twentyThousand(port int) *document.Tree {
	var b strings.Builder
	b.WriteString(`{"version_info":"1","type_url":"x","resources":[`)
	for i := range 20000 {
		if i > 0 {
			b.WriteByte(',')
		}
		p := 80
		if i%2000 == 1999 {
			p = port
		}
		fmt.Fprintf(&b, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"outbound|80||service-%d.default.svc.cluster.local","type":"EDS",
			"eds_cluster_config":{"eds_config":{"ads":{},"resource_api_version":"V3"},"service_name":"service-%d"},"connect_timeout":"10s",
			"circuit_breakers":{"thresholds":[{"max_connections":4294967295,"max_retries":%d}]},
			"metadata":{"filter_metadata":{"istio":{"services":[{"name":"service-%d","namespace":"default","host":"service-%d.default.svc"}]}}}}`, i, i, p, i, i)
	}
	b.WriteString(`]}`)
	return parse(nil, b.String())
}

func BenchmarkCompare(b *testing.B) {
	old, same, other := twentyThousand(80), twentyThousand(80), twentyThousand(81)
	o := diff.Options{Type: "envoy.service.discovery.v3.DiscoveryResponse", Ignore: diff.Envelope()}
	reversed := *other
	reversed.Members = slices.Clone(other.Members)
	items := slices.Clone(other.Members[2].Value.Items)
	slices.Reverse(items)
	reversed.Members[2].Value.Items = items
	for name, with := range map[string]struct {
		tree  *document.Tree
		count int
	}{"same": {same, 0}, "ten-changed": {other, 10}, "ten-changed-reversed": {&reversed, 10}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := diff.Compare(old, with.tree, o); r.Count[diff.Changed] != with.count {
					b.Fatal(r.Count)
				}
			}
		})
	}
}
