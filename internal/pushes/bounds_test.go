package pushes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// played gives a conversation to an Engine and a Grouper. The last entry is in what is
// returned as one that has just come.
func played(t *testing.T, text string) (*engine.Engine, *Grouper, *incoming) {
	t.Helper()
	s, err := script.Parse("bounds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, g := engine.New(engine.Options{}), New(Options{})
	var c engine.Change
	for e := range s.Entries() {
		c = k.Step(&e)
		g.Step(k, &e, &c)
	}
	if c.Response == nil {
		t.Fatal("the last entry is no response")
	}
	cl := g.client(&c)
	return k, g, &incoming{change: &c, n: c.Response, sub: c.Sub, client: cl, server: g.server(c.Sub.Stream.Server), mark: c.Response.Version}
}

// one is a client that was sent its first response.
func one(t *testing.T) (*engine.Engine, *Grouper, *incoming, *push) {
	t.Helper()
	k, g, in := played(t, "C> type=CDS V= N= R=[] node=gw\nS< type=CDS V=x N=a res=[web#1]\n")
	return k, g, in, in.client.push
}

func items(n int) (out []*engine.Resource) {
	for i := range n {
		out = append(out, &engine.Resource{Name: fmt.Sprint("r", i)})
	}
	return out
}

// fill makes a map have so many keys.
func fill[K comparable, V any](m map[K]V, n int, key func(i int) K, value V) {
	for i := 0; len(m) < n; i++ {
		m[key(i)] = value
	}
}

func word(i int) string { return fmt.Sprint("w", i) }

func resource(i int) resourceKey { return resourceKey{"CDS", word(i)} }

func is[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Names of what a response changed are remembered up to a bound; past it whatever comes
// counts as changed again.
func TestNamesOfALotAreBounded(t *testing.T) {
	_, _, in, p := one(t)
	in.n.WasFirst, in.n.Added = false, items(maxChanges+1)
	delete(in.client.of, "CDS")
	in.client.take(p, in)
	l := in.client.of["CDS"]
	is(t, "names", len(l.names), maxChanges)
	in.n.Added, in.n.Changed, in.n.Removed = []*engine.Resource{{Name: "other"}}, nil, nil
	is(t, "again where some are not known", l.again(in.n), true)
	delete(l.names, "r0")
	is(t, "again where all are known", l.again(in.n), false)
}

func TestClientsOfAServerAreBounded(t *testing.T) {
	k, g, in, _ := one(t)
	fill(in.server.clients, maxClients-1, word, &client{})
	for _, v := range []struct {
		id   string
		want int
	}{{"last", maxClients}, {"one more", 1}} {
		in.change.Client = v.id
		g.response(k, in.change)
		is(t, v.id, len(in.server.clients), v.want)
	}
}

// Of a client that is sent more and more and answers nothing the oldest responses are
// forgotten.
func TestResponsesWithoutAVerdictAreBounded(t *testing.T) {
	k, g, in, _ := one(t)
	first := in.n.Seq
	send := func() {
		n := *in.n
		n.Seq += 1000
		in.n, in.change.Response = &n, &n
		g.response(k, in.change)
	}
	for range maxRefs - 1 {
		send()
	}
	is(t, "push of the first", g.Of(first), 1)
	is(t, "the first that waits", g.subs[in.sub].pending[0].seq, first)
	send()
	is(t, "push of the first", g.Of(first), 0)
	is(t, "responses that wait", len(g.subs[in.sub].pending), maxRefs)
	is(t, "the first that waits", g.subs[in.sub].pending[0].seq, first+1000)
}

func TestPushesAreForgottenWithinBounds(t *testing.T) {
	for _, v := range []struct{ count, weight, forgotten int }{
		{maxPushes, maxWeight, 0},
		{maxPushes + 1, 0, 1},
		{2, maxWeight + 1, 1},
		{1, maxWeight + 1, 0},
	} {
		g := New(Options{})
		for range v.count {
			g.pushes = append(g.pushes, &push{})
		}
		g.weigh(g.pushes[0], v.weight)
		g.fit()
		is(t, fmt.Sprint(v), g.Forgotten(), v.forgotten)
		is(t, fmt.Sprint(v, " kept"), len(g.pushes), v.count-v.forgotten)
	}
}

// Versions that each client has for itself show nothing where there may be more of them.
func TestVersionsOfAPushAreBounded(t *testing.T) {
	_, g, in, p := one(t)
	ty := p.types["CDS"]
	fill(ty.marks, maxMarks-1, word, true)
	other := &incoming{sub: in.sub, client: &client{id: "other"}, mark: "another"}
	ty.Clients = len(ty.marks)
	is(t, "own with one less", p.own(other), true)
	for _, mark := range []string{"last", "one-more"} {
		in.mark = mark
		g.enter(p, in)
		is(t, "versions with "+mark, len(ty.marks), maxMarks)
	}
	ty.Clients = len(ty.marks)
	is(t, "own with all", p.own(other), false)
}

func TestClientsOfAPushAreCountedPastTheirBound(t *testing.T) {
	k, g, in, p := one(t)
	fill(p.members, maxMembers-1, word, &member{})
	for more, id := range []string{"last", "one more"} {
		in.client = &client{id: id}
		g.enter(p, in)
		g.enter(p, in) // is one client still
		push, _ := g.Push(k, 1)
		is(t, id, push.MoreClients, more)
	}
	is(t, "clients", g.Heads(k, 0)[0].Clients, maxMembers+1)
}

func TestNamesOfAResponseAreBounded(t *testing.T) {
	_, g, in, p := one(t)
	in.sub.Stream.Method.Variant = xds.VariantDeltaADS
	for n, want := range map[int]int{3: 3, maxNames: maxNames, maxNames + 1: maxNames} {
		in.n.Resolved, in.n.Removed = items(n), nil
		is(t, fmt.Sprint(n, " sent"), len(g.enter(p, in).names), want)
		in.n.Resolved, in.n.Removed = nil, items(n)
		is(t, fmt.Sprint(n, " removed"), len(g.enter(p, in).names), want)
	}
}

func TestChangesOfAPushAreCountedPastTheirBound(t *testing.T) {
	k, g, _, p := one(t)
	fill(p.changes, maxChanges-1, resource, p.changes[resourceKey{"CDS", "web"}])
	for more, name := range []string{"last", "one more"} {
		for range 2 { // clients
			is(t, "room for "+name, g.at(p, resourceKey{"CDS", name}, 1) != nil, more == 0)
		}
		push, _ := g.Push(k, 1)
		is(t, name, push.MoreChanges, more)
	}
	was := g.weight
	for i := range 2 * maxRest {
		g.at(p, resourceKey{"EDS", word(i)}, 1)
	}
	push, _ := g.Push(k, 1)
	is(t, "more than are counted", push.MoreChanges, maxRest)
	is(t, "what they weigh", g.weight-was, maxRest/restPerWeight)
}

func TestContentsOfAResourceAreBounded(t *testing.T) {
	_, g, in, p := one(t)
	ch := p.changes[resourceKey{"CDS", "web"}]
	for i := range 2 * maxContents {
		facts := &inspect.Facts{Hash: [16]byte{1, byte(i)}}
		it := &engine.Resource{Name: "web", Content: &engine.Content{Facts: facts}}
		g.change(p, in, it)
		ch.had(it)
	}
	is(t, "contents", len(ch.is), maxContents)
	is(t, "contents before", len(ch.was), maxContents)
}

// What is missing is counted where there are too many of it, in a push or at a client.
func TestGapsAreCountedPastTheirBounds(t *testing.T) {
	k, g, _, p := one(t)
	for _, v := range []struct {
		gaps, open int
		kept       bool
	}{
		{maxGaps - 1, maxWindows - 1, true},
		{maxGaps, 0, false},
		{0, maxWindows, false},
	} {
		cl := &client{open: make([]*window, v.open)}
		p.gaps, p.moreGaps = nil, 0
		for range v.gaps {
			p.gaps = append(p.gaps, &window{})
		}
		g.open(cl, &window{push: p})
		push, _ := g.Push(k, 1)
		is(t, fmt.Sprint(v, " told"), len(push.Missing) == v.gaps+1, v.kept)
		is(t, fmt.Sprint(v, " more"), push.MoreGaps == 1, !v.kept)
	}
}

func TestReleasesAreForgottenWithinTheirBound(t *testing.T) {
	c := client{released: make(map[resourceKey]release)}
	fill(c.released, maxReleases-1, resource, release{})
	for i, want := range []int{maxReleases, 1} {
		facts := &inspect.Facts{Refs: []inspect.Ref{{Type: "EDS", Name: word(i)}}}
		c.letGo("CDS", &engine.Resource{Content: &engine.Content{Facts: facts}}, nil, moment{})
		is(t, word(i), len(c.released), want)
	}
}

func TestSwapsAreBounded(t *testing.T) {
	p := &push{swaps: make(map[resourceKey]*swapped)}
	for i := range 2 * maxVia {
		p.swap(resource(0), word(i), word(i), 0, true)
	}
	s := p.swaps[resource(0)]
	is(t, "what there is instead", len(s.instead), maxVia)
	is(t, "ways", len(s.via), maxVia)
	fill(p.swaps, maxChanges-1, resource, s)
	for _, name := range []string{"last", "one more"} {
		p.swap(resourceKey{"CDS", name}, "x", "y", 0, true)
		is(t, name, len(p.swaps), maxChanges)
	}
}

// Who was not sent a push is asked of its first changes: a client that is behind with a
// later one alone is not told.
func TestWhoWasNotSentAPushIsAskedOfItsFirstChanges(t *testing.T) {
	for n, told := range map[int]int{maxAsked: 1, maxAsked + 1: 0} {
		list := func(content int, last int) string {
			var out []string
			for i := range n - 1 {
				out = append(out, fmt.Sprintf("c%03d#%d", i, content))
			}
			return strings.Join(append(out, fmt.Sprintf("last#%d", last)), ",")
		}
		k, g, _ := played(t, fmt.Sprintf(`C> type=CDS V= N= R=[] node=n1
-- stream 2
C> type=CDS V= N= R=[] node=n2
@1 S< type=CDS V=2026-08-27T10:00:00Z/1 N=a res=[%s]
@2 S< type=CDS V=2026-08-27T10:00:00Z/1 N=a res=[%s]
@1 C> type=CDS V=2026-08-27T10:00:00Z/1 N=a R=[]
@2 C> type=CDS V=2026-08-27T10:00:00Z/1 N=a R=[]
t=+20s @1 S< type=CDS V=2026-08-27T10:00:20Z/2 N=b res=[%s]
`, list(1, 1), list(2, 1), list(3, 3)))
		heads := g.Heads(k, 0)
		is(t, fmt.Sprint(n, " changed"), heads[len(heads)-1].Changed, n)
		is(t, fmt.Sprint(n, " changes"), heads[len(heads)-1].Unsent, told)
	}
}
