package diff_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

// parse reads a tree from JSON. "#" at the begin of a type stands for the
// customary prefix.
func parse(t testing.TB, text string) *document.Tree {
	if t != nil {
		t.Helper()
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var read func() document.Tree
	read = func() document.Tree {
		tok, err := dec.Token()
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		var out document.Tree
		switch v := tok.(type) {
		case string:
			if rest, ok := strings.CutPrefix(v, "#"); ok {
				v = "type.googleapis.com/" + rest
			}
			return document.Tree{Kind: document.String, Text: v}
		case json.Number:
			return document.Tree{Kind: document.Number, Text: v.String()}
		case json.Delim:
			if v == '[' {
				out.Kind = document.Array
			}
			for dec.More() {
				if v == '[' {
					out.Items = append(out.Items, read())
					continue
				}
				name, _ := dec.Token()
				out.Members = append(out.Members, document.Member{Name: name.(string), Value: read()})
			}
			_, _ = dec.Token()
			return out
		}
		return document.Tree{Kind: document.Word, Text: fmt.Sprint(tok)}
	}
	out := read()
	return &out
}

func text(t *document.Tree) string {
	if t == nil {
		return ""
	}
	return string(document.Document{Root: *t}.Compact())
}

// told is what a result says, one change a line.
func told(r *diff.Result) (out []string) {
	for c := range r.Changes() {
		line := c.Kind.String() + " " + c.Path.String()
		if last := len(c.Path) - 1; c.Moved {
			line += fmt.Sprintf(" %d to %d", c.Path[last].OldAt, c.Path[last].NewAt)
		}
		switch c.Kind {
		case diff.Added:
			line += ": " + text(c.New)
		case diff.Removed:
			line += ": " + text(c.Old)
		case diff.Changed:
			line += ": " + text(c.Old) + " -> " + text(c.New)
		}
		out = append(out, line)
	}
	return out
}

func TestCompare(t *testing.T) {
	const (
		cla      = `{"@type":"#envoy.config.endpoint.v3.ClusterLoadAssignment","cluster_name":"c","endpoints":[%s]}`
		locality = `{"locality":{"region":"%s"},"lb_endpoints":[%s]}`
		endpoint = `{"endpoint":{"address":{"socket_address":{"address":"%s","port_value":80}}},"load_balancing_weight":%d}`
	)
	ep := func(address string, weight int) string { return fmt.Sprintf(endpoint, address, weight) }
	loc := func(region string, eps ...string) string {
		return fmt.Sprintf(locality, region, strings.Join(eps, ","))
	}
	assignment := func(locs ...string) string { return fmt.Sprintf(cla, strings.Join(locs, ",")) }
	listener := func(chains ...string) string {
		return `{"@type":"#envoy.config.listener.v3.Listener","name":"l","filter_chains":[` + strings.Join(chains, ",") + `]}`
	}
	chain := func(name, filters string) string {
		return `{"name":"` + name + `","filters":[` + filters + `],"transport_socket_connect_timeout":"5s"}`
	}
	routes := func(list string) string {
		return `{"@type":"#envoy.config.route.v3.RouteConfiguration","name":"r","virtual_hosts":[{"name":"v","domains":["a","b"],"routes":[` + list + `]}]}`
	}
	route := func(prefix, cluster string) string {
		return `{"match":{"prefix":"` + prefix + `"},"route":{"cluster":"` + cluster + `"}}`
	}
	for _, test := range []struct {
		name, old, new string
		want           []string
	}{
		{"same", `{"a":1}`, `{"a":1}`, nil},
		{"order of members", `{"a":1,"b":2}`, `{"b":2,"a":1}`, nil},
		{"scalar", `{"a":{"b":1}}`, `{"a":{"b":2}}`, []string{`changed a.b: 1 -> 2`}},
		{"member", `{"a":1,"b":2}`, `{"b":2,"c":3}`, []string{`removed a: 1`, `added c: 3`}},
		{"kind", `{"a":1}`, `{"a":"1"}`, []string{`changed a: 1 -> "1"`}},
		{"root", `1`, `[1]`, []string{`changed : 1 -> [1]`}},
		{
			"names that are no words", `{"a b":{"":1}}`, `{"a b":{"":2}}`,
			[]string{`changed ["a b"][""]: 1 -> 2`},
		},
		{
			"type of an Any", `{"@type":"#a.B","v":1}`, `{"@type":"#a.C","v":1}`,
			[]string{`changed : {"@type":"type.googleapis.com/a.B","v":1} -> {"@type":"type.googleapis.com/a.C","v":1}`},
		},
		{"ordered scalars", `{"a":[1,2,3]}`, `{"a":[1,4,3]}`, []string{`removed a[1]: 2`, `added a[1]: 4`}},
		{"an order that counts", `{"a":[1,2,3,4]}`, `{"a":[4,1,2,3]}`, []string{`moved a[3] 3 to 0`}},
		{"repeats", `{"a":[1,2,1,2]}`, `{"a":[2,1,2]}`, []string{`removed a[0]: 1`}},
		{"endpoints in another order", assignment(loc("x", ep("1", 1), ep("2", 1)), loc("y")), assignment(loc("y"), loc("x", ep("2", 1), ep("1", 1))), nil},
		{
			"endpoints by address", assignment(loc("x", ep("1", 1), ep("2", 1)), loc("y")), assignment(loc("y"), loc("x", ep("3", 1), ep("2", 5))),
			[]string{
				`removed endpoints[locality=x].lb_endpoints[address=1:80]: ` + ep("1", 1),
				`added endpoints[locality=x].lb_endpoints[address=3:80]: ` + ep("3", 1),
				`changed endpoints[locality=x].lb_endpoints[address=2:80].load_balancing_weight: 1 -> 5`,
			},
		},
		{
			"filter chains by name", listener(chain("a", ""), chain("b", `{"name":"f"}`), chain("c", "")), listener(chain("c", ""), chain("a", ""), chain("b", `{"name":"f"},{"name":"g"}`)),
			[]string{`moved filter_chains[name=c] 2 to 0`, `added filter_chains[name=b].filters[name=g]: {"name":"g"}`},
		},
		{
			"moved and changed", listener(chain("a", ""), chain("b", ""), chain("c", `{"name":"f"}`)), listener(chain("c", ""), chain("a", ""), chain("b", "")),
			[]string{`moved filter_chains[name=c] 2 to 0`, `removed filter_chains[name=c].filters[name=f]: {"name":"f"}`},
		},
		{"routes are ordered", routes(route("/a", "x") + "," + route("/b", "y")), routes(route("/b", "y") + "," + route("/a", "x")), []string{`moved virtual_hosts[name=v].routes[1] 1 to 0`}},
		{
			"a route of which the action alone changed", routes(route("/a", "x") + "," + route("/b", "y")),
			routes(route("/a", "x") + `,{"match":{"prefix":"/b"},"route":{"weighted_clusters":{"clusters":[{"name":"c1","weight":1},{"name":"c2","weight":2},{"name":"c3","weight":3}]},"timeout":"1s"}}`),
			[]string{
				`removed virtual_hosts[name=v].routes[1].route.cluster: "y"`,
				`added virtual_hosts[name=v].routes[1].route.weighted_clusters: {"clusters":[{"name":"c1","weight":1},{"name":"c2","weight":2},{"name":"c3","weight":3}]}`,
				`added virtual_hosts[name=v].routes[1].route.timeout: "1s"`,
			},
		},
		{
			"a route without a name", routes(route("/a", "x") + "," + route("/b", "y")), routes(route("/a", "x") + "," + route("/new", "n") + "," + route("/b", "z")),
			[]string{`added virtual_hosts[name=v].routes[1]: ` + route("/new", "n"), `changed virtual_hosts[name=v].routes[1].route.cluster: "y" -> "z"`},
		},
		{
			"lists without a type are ordered", `{"@type":"#x.Y","domains":["a","b"]}`, `{"@type":"#x.Y","domains":["b","a"]}`,
			[]string{`moved domains[1] 1 to 0`},
		},
		{
			"names that come twice", `{"a":[{"name":"x","v":1},{"name":"x","v":2}]}`, `{"a":[{"name":"x","v":1},{"name":"x","v":3}]}`,
			[]string{`changed a[1].v: 2 -> 3`},
		},
		{
			"little in common with something larger is another thing", `{"a":[{"x":1}]}`, `{"a":[{"x":1,"b":2,"c":3,"d":4,"e":5,"f":6}]}`,
			[]string{`removed a[0]: {"x":1}`, `added a[0]: {"x":1,"b":2,"c":3,"d":4,"e":5,"f":6}`},
		},
		{
			"another name is another thing", `{"a":[{"name":"x","v":1}]}`, `{"a":[{"name":"y","v":1}]}`,
			[]string{`removed a[name=x]: {"name":"x","v":1}`, `added a[name=y]: {"name":"y","v":1}`},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := diff.Compare(parse(t, test.old), parse(t, test.new), diff.Options{})
			if got := told(r); !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if r.Same() != (len(test.want) == 0) || r.Coarse {
				t.Errorf("same %v, coarse %v", r.Same(), r.Coarse)
			}
		})
	}
}

// What a response is apart from its version and nonce, and what it ignores.
func TestEnvelope(t *testing.T) {
	response := func(version, nonce, resources string) *document.Tree {
		return parse(t, `{"version_info":"`+version+`","resources":[`+resources+`],"nonce":"`+nonce+`"}`)
	}
	const (
		a = `{"@type":"#envoy.config.cluster.v3.Cluster","name":"a"}`
		b = `{"@type":"#envoy.config.cluster.v3.Cluster","name":"b"}`
	)
	o := diff.Options{Type: "envoy.service.discovery.v3.DiscoveryResponse", Ignore: diff.Envelope()}
	r := diff.Compare(response("1", "n", a+","+b), response("2", "m", b+","+a), o)
	if !r.Same() || !slices.Equal(r.Ignored, []string{"version_info", "nonce"}) {
		t.Errorf("%v, ignored %v", told(r), r.Ignored)
	}
	r = diff.Compare(response("1", "n", a+","+b), response("1", "m", b), o)
	if got := told(r); len(got) != 1 || !strings.HasPrefix(got[0], "removed resources[name=a]: ") || !slices.Equal(r.Ignored, []string{"nonce"}) {
		t.Errorf("%v, ignored %v", got, r.Ignored)
	}
	o.Ignore = nil
	if got := told(diff.Compare(response("1", "n", a), response("2", "n", a), o)); !slices.Equal(got, []string{`changed version_info: "1" -> "2"`}) {
		t.Errorf("%v", got)
	}
}

// Every row of the table is a list that there is.
func TestTable(t *testing.T) {
	for _, name := range diff.Lists() {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if fd, is := d.(protoreflect.FieldDescriptor); !is || !fd.IsList() {
			t.Errorf("%s is no list", name)
		}
	}
	for _, name := range diff.Envelope() {
		if _, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// random makes trees that have much in common: of objects and lists, with names
// that come twice, and with sets in them.
type random struct{ *rand.Rand }

func (r random) tree(depth int) document.Tree {
	switch kind := r.IntN(10); {
	case depth == 0 || kind < 3:
		return document.Tree{Kind: document.Number, Text: fmt.Sprint(r.IntN(4))}
	case kind < 6:
		t := document.Tree{Kind: document.Array}
		for range r.IntN(6) {
			t.Items = append(t.Items, r.tree(depth-1))
		}
		return t
	case kind == 6:
		t := document.Tree{Members: []document.Member{
			{Name: "@type", Value: document.Tree{Kind: document.String, Text: "type.googleapis.com/envoy.config.route.v3.VirtualHost"}},
		}}
		set := document.Tree{Kind: document.Array}
		for range r.IntN(5) {
			set.Items = append(set.Items, document.Tree{Kind: document.String, Text: string(rune('a' + r.IntN(5)))})
		}
		t.Members = append(t.Members, document.Member{Name: "domains", Value: set}, document.Member{Name: "routes", Value: r.tree(depth - 1)})
		return t
	}
	var t document.Tree
	for _, name := range []string{"name", "a", "b", "c"} {
		if r.IntN(2) == 0 {
			continue
		}
		value := r.tree(depth - 1)
		if name == "name" {
			value = document.Tree{Kind: document.String, Text: string(rune('p' + r.IntN(4)))}
		}
		t.Members = append(t.Members, document.Member{Name: name, Value: value})
	}
	return t
}

// alter changes a little here and there.
func (r random) alter(t document.Tree, depth int) document.Tree {
	if r.IntN(12) == 0 {
		return r.tree(depth)
	}
	t.Items, t.Members = slices.Clone(t.Items), slices.Clone(t.Members)
	for i := range t.Items {
		t.Items[i] = r.alter(t.Items[i], max(depth-1, 0))
	}
	for i := range t.Members {
		if name := t.Members[i].Name; name != "@type" && name != "domains" {
			t.Members[i].Value = r.alter(t.Members[i].Value, max(depth-1, 0))
		}
	}
	if n := len(t.Items); n > 1 && r.IntN(3) == 0 {
		i, j := r.IntN(n), r.IntN(n)
		t.Items[i], t.Items[j] = t.Items[j], t.Items[i]
	}
	return t
}

// canonical is the text of a tree in which nothing depends on order where it
// means nothing.
func canonical(t *document.Tree, set bool) string {
	var parts []string
	for i := range t.Members {
		m := &t.Members[i]
		parts = append(parts, fmt.Sprintf("%q:%s", m.Name, canonical(&m.Value, m.Name == "domains")))
	}
	for i := range t.Items {
		parts = append(parts, canonical(&t.Items[i], false))
	}
	if t.Kind == document.Object || set {
		slices.Sort(parts)
	}
	return fmt.Sprintf("%d%q(%s)", t.Kind, t.Text, strings.Join(parts, ","))
}

func TestProperties(t *testing.T) {
	for seed := range uint64(3000) {
		r := random{rand.New(rand.NewPCG(1, seed))}
		a := r.tree(5)
		if got := diff.Compare(&a, &a, diff.Options{}); !got.Same() {
			t.Fatalf("seed %d: a tree differs from itself: %v", seed, told(got))
		}
		b := r.alter(a, 4)
		verify(t, &a, &b)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func verify(t testing.TB, a, b *document.Tree) {
	t.Helper()
	r := diff.Compare(a, b, diff.Options{})
	if same := canonical(a, false) == canonical(b, false); same != r.Same() {
		t.Errorf("same %v: %v\n%s\n%s", r.Same(), told(r), text(a), text(b))
	}
	got := apply(a, slices.Collect(r.Changes()))
	if canonical(&got, false) != canonical(b, false) {
		t.Errorf("changes\n%s\nmake of\n%s\nthis:\n%s\nand not\n%s", strings.Join(told(r), "\n"), text(a), text(&got), text(b))
	}
	total := 0
	for _, n := range r.Count {
		total += n
	}
	if len(told(r)) != total {
		t.Errorf("%d changes, and counted %v", len(told(r)), r.Count)
	}
}

// edit is what changes make of one value.
type edit struct {
	parts    map[int]*edit // by the position in the old tree
	added    []diff.Change
	removed  bool
	movedTo  int // -1: it did not
	replaced *document.Tree
}

func newEdit() *edit { return &edit{parts: map[int]*edit{}, movedTo: -1} }

// apply makes the new tree of the old one, by nothing but the changes.
func apply(old *document.Tree, changes []diff.Change) document.Tree {
	root := newEdit()
	for _, c := range changes {
		at := root
		for i := range c.Path {
			step := &c.Path[i]
			if i == len(c.Path)-1 && c.Kind == diff.Added {
				at.added = append(at.added, c)
				break
			}
			if at.parts[step.OldAt] == nil {
				at.parts[step.OldAt] = newEdit()
			}
			at = at.parts[step.OldAt]
		}
		switch c.Kind {
		case diff.Removed:
			at.removed = true
		case diff.Changed:
			at.replaced = c.New
		}
		if c.Moved {
			at.movedTo = c.Path[len(c.Path)-1].NewAt
		}
	}
	return root.make(old)
}

func (e *edit) make(old *document.Tree) document.Tree {
	if e.replaced != nil {
		return *e.replaced
	}
	out := document.Tree{Kind: old.Kind, Text: old.Text}
	for i := range old.Members {
		m := old.Members[i]
		if part := e.parts[i]; part != nil {
			if part.removed {
				continue
			}
			m.Value = part.make(&m.Value)
		}
		out.Members = append(out.Members, m)
	}
	placed := map[int]document.Tree{}
	var rest []document.Tree
	for i := range old.Items {
		switch part := e.parts[i]; {
		case part == nil:
			rest = append(rest, old.Items[i])
		case part.removed:
		case part.movedTo >= 0:
			placed[part.movedTo] = part.make(&old.Items[i])
		default:
			rest = append(rest, part.make(&old.Items[i]))
		}
	}
	for _, c := range e.added {
		step := c.Path[len(c.Path)-1]
		if step.Item() {
			placed[step.NewAt] = *c.New
		} else {
			out.Members = append(out.Members, document.Member{Name: step.Name, Value: *c.New})
		}
	}
	for i := range len(rest) + len(placed) {
		if one, ok := placed[i]; ok || len(rest) == 0 {
			out.Items = append(out.Items, one)
			continue
		}
		out.Items = append(out.Items, rest[0])
		rest = rest[1:]
	}
	return out
}
