package pushes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// Where a client stands with a type of a push is told by its newest response on each
// stream, and by what was rejected and not sent again.
func TestStateOfAPart(t *testing.T) {
	on := func(stream int, state string) *ref { return &ref{stream: 1, state: state, seq: 1, delta: stream < 0} }
	sotw := func(states ...string) (out []*ref) {
		for _, s := range states {
			out = append(out, on(1, s))
		}
		return out
	}
	delta := func(state string, names ...string) *ref {
		r := on(-1, state)
		r.names = names
		return r
	}
	other := on(1, Accepts)
	other.stream = 2
	for i, v := range []struct {
		refs []*ref
		want string
	}{
		{sotw(Accepts), Accepts},
		{sotw(Rejects), Rejects},
		{sotw(Rejects, Accepts), Accepts},
		{sotw(Accepts, Rejects), Rejects},
		{sotw(Rejects, Pends), Rejects},
		{sotw(Rejects, Gone), Rejects},
		{sotw(Rejects, Unclear), Unclear},
		{sotw(Accepts, Pends), Pends},
		{sotw(Pends, Accepts), Accepts},
		{sotw(Rejects, Accepts, Pends), Pends},
		{sotw(Rejects, Pends, Pends), Rejects},
		{sotw(Rejects, Gone, Gone), Rejects},
		{sotw(Rejects, Pends, Accepts), Accepts},
		{sotw(passed), Unclear},
		{sotw(passed, Accepts), Accepts},
		{append(sotw(Rejects), other), Rejects},
		{[]*ref{delta(Rejects, "a"), delta(Accepts, "a")}, Accepts},
		{[]*ref{delta(Rejects, "a", "b"), delta(Accepts, "a")}, Rejects},
		{[]*ref{delta(Rejects, "a", "b"), delta(Accepts, "a"), delta(Accepts, "b")}, Accepts},
		{[]*ref{delta(Accepts, "a"), delta(Rejects, "a")}, Rejects},
		{[]*ref{delta(Rejects, "a"), delta(Pends, "a")}, Rejects},
		{[]*ref{delta(Rejects), delta(Accepts, "a")}, Rejects},
		{[]*ref{delta(Pends, "a"), delta(Accepts, "b")}, Pends},
		{[]*ref{delta(passed, "a"), delta(Accepts, "b")}, Accepts},
	} {
		is(t, fmt.Sprint(i), (&part{refs: v.refs}).state(), v.want)
	}
}

// A resource that was removed and one that was added with its content are one that was
// renamed, if nothing else happened to them and there is one of each.
func TestRenames(t *testing.T) {
	old := func(added, altered, removed int) *changed {
		return &changed{resourceKey: resourceKey{"CDS", "old"}, added: added, changed: altered, removed: removed, old: 7}
	}
	come := func(name string, added, altered, removed int) *changed {
		return &changed{resourceKey: resourceKey{"CDS", name}, added: added, changed: altered, removed: removed, body: 7}
	}
	typ, unknown := come("a", 1, 0, 0), come("a", 1, 0, 0)
	typ.typ, unknown.body = "LDS", 0
	for i, v := range []struct {
		list []*changed
		want string
	}{
		{[]*changed{old(0, 0, 1), come("a", 1, 0, 0)}, "a"},
		{[]*changed{old(0, 0, 2), come("a", 3, 0, 0)}, "a"},
		{[]*changed{old(0, 0, 1), come("a", 1, 1, 1)}, ""},
		{[]*changed{old(0, 0, 1), come("a", 1, 1, 0)}, ""},
		{[]*changed{old(0, 0, 1), come("a", 1, 0, 1)}, ""},
		{[]*changed{old(1, 1, 1), come("a", 1, 0, 0)}, ""},
		{[]*changed{old(1, 0, 1), come("a", 1, 0, 0)}, ""},
		{[]*changed{old(0, 1, 1), come("a", 1, 0, 0)}, ""},
		{[]*changed{old(0, 0, 1), typ}, ""},
		{[]*changed{old(0, 0, 1), unknown}, ""},
		{[]*changed{old(0, 0, 1), come("a", 1, 0, 0), come("b", 1, 0, 0)}, ""},
	} {
		p := &push{changes: make(map[resourceKey]*changed)}
		for _, ch := range v.list {
			p.changes[ch.resourceKey] = ch
		}
		got := ""
		renamed, was := p.renames()
		for to, from := range renamed {
			got += to.name
			is(t, fmt.Sprint(i, " from"), from, v.list[0])
		}
		is(t, fmt.Sprint(i), got, v.want)
		is(t, fmt.Sprint(i, " was"), was[v.list[0]], v.want != "")
	}
}

// A resource that changed in several ways is told in that of most clients; of two ways that
// are as many, one that it has after it over its removal, and a change over its coming.
func TestHowAResourceChanged(t *testing.T) {
	for _, v := range []struct {
		added, whole, changed, removed int
		how                            string
		clients, contents              int
	}{
		{1, 0, 0, 0, Added, 1, 2},
		{0, 0, 1, 0, Changed, 1, 2},
		{0, 0, 0, 1, Removed, 1, 0},
		{1, 0, 1, 0, Changed, 1, 2},
		{1, 1, 1, 0, Added, 2, 2},
		{1, 0, 1, 1, Changed, 1, 2},
		{1, 0, 0, 1, Added, 1, 2},
		{1, 1, 0, 2, Added, 2, 2},
		{1, 1, 0, 3, Removed, 3, 0},
		{0, 0, 1, 2, Removed, 2, 0},
	} {
		ch := &changed{resourceKey: resource(0), added: v.added, changed: v.changed, removed: v.removed, is: map[[16]byte]bool{{1}: true, {2}: true}}
		p := &push{
			changes: map[resourceKey]*changed{ch.resourceKey: ch},
			wholes:  map[wholeKey]*whole{{}: {clients: v.whole, changes: []*changed{ch}}},
		}
		got := p.listChanges()[0]
		is(t, fmt.Sprint(v), fmt.Sprint(got.How, got.Clients, got.Contents), fmt.Sprint(v.how, v.clients, v.contents))
	}
}

// What came with a push and is changed by the next response is of another push.
func TestAgain(t *testing.T) {
	some := items(1)
	all, named := lot{all: true}, lot{names: map[string]bool{"r0": true}}
	for i, v := range []struct {
		of   lot
		n    *engine.Response
		want bool
	}{
		{all, response(t, nil, nil, nil), false},
		{all, response(t, some, nil, nil), false},
		{all, response(t, nil, some, nil), true},
		{all, response(t, nil, nil, some), true},
		{all, response(t, nil, some, some), true},
		{named, response(t, nil, nil, nil), false},
		{named, response(t, some, nil, nil), true},
		{named, response(t, nil, some, nil), true},
		{named, response(t, nil, nil, some), true},
		{lot{names: map[string]bool{"r1": true}}, response(t, some, some, some), false},
	} {
		is(t, fmt.Sprint(i), v.of.again(v.n), v.want)
	}
	for i, v := range []struct {
		n    *engine.Response
		want bool
	}{
		{response(t, nil, nil, nil), false},
		{response(t, some, nil, nil), true},
		{response(t, nil, some, nil), true},
		{response(t, nil, nil, some), true},
		{response(t, some, some, nil), true},
		{response(t, nil, some, some), true},
	} {
		is(t, fmt.Sprint("news ", i), (&incoming{n: v.n}).news(), v.want)
	}
}

func response(t *testing.T, added, changed, removed []*engine.Resource) *engine.Response {
	t.Helper()
	_, _, in, _ := one(t)
	in.n.Added, in.n.Changed, in.n.Removed = added, changed, removed
	return in.n
}

// A number that may grow by one is a counter, and a version may begin with a time.
func TestKindsOfVersions(t *testing.T) {
	for v, want := range map[string]string{
		"": "counter", "1": "counter", "12345678901": "counter", "123456789012": "", "v1": "counter", "v-1": "", "1-2": "counter", "a1b2": "",
		"2026-08-27T10:00:00": "timed", "2026-08-27T10:00:00Z/12": "timed", "2026-08-27T10:00:0": "",
		"2026/08-27T10:00:00": "", "2026-08/27T10:00:00": "", "2026-13-27T10:00:00": "",
	} {
		got := ""
		if counter(v) {
			got += "counter"
		}
		if timed(v) {
			got += "timed"
		}
		is(t, v, got, want)
	}
}

// For how long something was missing is between two bounds, by what was sent and what was
// accepted, and until the client went away.
func TestHowLongAWindowWasOpen(t *testing.T) {
	at := func(s int) time.Time {
		if s == 0 {
			return time.Time{}
		}
		return time.Unix(1000, 0).Add(time.Duration(s) * time.Second)
	}
	for _, v := range []struct {
		agreed, closing, closed, over int // seconds, 0: never; it was opened at 1
		least, most                   time.Duration
	}{
		{0, 0, 0, 0, 0, 99},
		{3, 0, 0, 0, 97, 99},
		{3, 10, 0, 0, 7, 99},
		{3, 10, 12, 0, 7, 11},
		{3, 0, 0, 20, 17, 19},
		{3, 10, 0, 20, 7, 19},
		{3, 10, 12, 20, 7, 11},
		{13, 10, 12, 0, 0, 11},
		{0, 10, 12, 0, 0, 11},
	} {
		w := &window{from: moment{sent: at(1), agreed: at(v.agreed)}, over: at(v.over)}
		if v.closing != 0 {
			w.until = &moment{sent: at(v.closing), agreed: at(v.closed)}
		}
		is(t, fmt.Sprint(v, " least"), w.least(at(100)), v.least*time.Second)
		is(t, fmt.Sprint(v, " most"), w.most(at(100)), v.most*time.Second)
	}
	back := &window{from: moment{sent: at(9)}, until: &moment{sent: at(5), agreed: at(6)}}
	is(t, "closed before it was opened", back.most(at(100)), 0)
}

// What a resource refers to and refers to no more is released, with what it refers to
// instead where that is one.
func TestWhatIsReleased(t *testing.T) {
	const traffic = inspect.UseTraffic
	of := func(refs ...inspect.Ref) *engine.Resource {
		return &engine.Resource{Name: "by", Content: &engine.Content{Facts: &inspect.Facts{Refs: refs}}}
	}
	ref := func(typ, name string) inspect.Ref { return inspect.Ref{Type: typ, Name: name, Use: traffic} }
	for i, v := range []struct {
		was, is *engine.Resource
		want    string
	}{
		{of(ref("CDS", "a")), of(ref("CDS", "a")), ""},
		{of(ref("CDS", "a")), of(ref("CDS", "b")), "CDS a instead b"},
		{of(ref("CDS", "a")), of(ref("CDS", "b"), ref("CDS", "c")), "CDS a instead "},
		{of(ref("CDS", "a")), of(ref("EDS", "b")), "CDS a instead "},
		{of(ref("CDS", "a"), ref("CDS", "b")), of(ref("CDS", "b")), "CDS a instead "},
		{of(ref("CDS", "a")), of(), "CDS a instead "},
		{of(ref("CDS", "a"), ref("EDS", "a")), of(ref("CDS", "b"), ref("EDS", "a")), "CDS a instead b"},
	} {
		var c client
		c.letGo("RDS", v.was, v.is, moment{})
		var got []string
		for key, r := range c.released {
			got = append(got, fmt.Sprintf("%s %s instead %s", key.typ, key.name, r.instead))
			is(t, fmt.Sprint(i, " by"), r.byType+" "+r.by, "RDS by")
		}
		is(t, fmt.Sprint(i), strings.Join(got, ", "), v.want)
	}
	for _, v := range []struct {
		ref  inspect.Ref
		want bool
	}{
		{inspect.Ref{Type: "CDS", Use: traffic}, true},
		{inspect.Ref{Type: "CDS"}, false},
		{inspect.Ref{Type: "EDS"}, true},
		{inspect.Ref{Type: "EDS", Default: true}, false},
		{inspect.Ref{Type: "EDS", Default: true, Use: traffic}, true},
	} {
		is(t, fmt.Sprint(v.ref), needs(v.ref), v.want)
	}
}

func TestClusterThatIsMissedAlready(t *testing.T) {
	c := client{open: []*window{{resourceKey: resourceKey{"EDS", "a"}}, {resourceKey: resourceKey{"CDS", "b"}}}}
	for name, want := range map[string]bool{"a": false, "b": true, "c": false} {
		is(t, name, c.misses(name), want)
	}
}

// Who was sent a type before with half of those who are sent it now is of concern.
func TestJoins(t *testing.T) {
	of := func(ids ...string) *push {
		p := &push{members: make(map[string]*member)}
		for _, id := range ids {
			typ, name, _ := strings.Cut(id, " ")
			p.members[name] = &member{parts: []*part{{typ: typ}}}
		}
		return p
	}
	for i, v := range []struct {
		now, before *push
		want        bool
	}{
		{of(), of(), false},
		{of("LDS a"), of("CDS a"), false},
		{of("CDS a"), of("CDS a"), true},
		{of("CDS a"), of("LDS a"), false},
		{of("CDS a", "CDS b"), of("CDS a"), true},
		{of("CDS a", "CDS b", "CDS c"), of("CDS a"), false},
		{of("CDS a", "CDS b", "CDS c", "LDS d"), of("CDS a", "CDS b", "LDS d"), true},
	} {
		is(t, fmt.Sprint(i), v.now.joins(v.before, "CDS"), v.want)
	}
}

// A push is found by its number also where others before it were forgotten.
func TestNumbersOfPushes(t *testing.T) {
	k, g, in, _ := one(t)
	g.let, g.pushes = 2, []*push{{head: Head{N: 3}, frozen: true}, {head: Head{N: 4}, frozen: true}}
	for n := range 7 {
		p, there := g.Push(k, n)
		is(t, fmt.Sprint(n), there, n == 3 || n == 4)
		if there {
			is(t, "number", p.N, n)
		}
	}
	is(t, "the next", g.begin(k, in).head.N, 5)
}

// What clients get first is looked at once for all who get the same; of a client that had
// something before it is told what that became.
func TestAllThatThereIs(t *testing.T) {
	const first = `C> type=CDS V= N= R=[] node=n1
-- stream 2
C> type=CDS V= N= R=[] node=n2
@1 S< type=CDS V=1 N=a res=[web#1,api#1]
@2 S< type=CDS V=1 N=a res=[web#1,%s]
`
	for other, want := range map[string]string{"api#1": "api added 2, web added 2; 1 whole", "shop#1": "api added 1, shop added 1, web added 2; 2 whole"} {
		k, g, _ := played(t, fmt.Sprintf(first, other))
		is(t, other, changesOf(t, k, g)+fmt.Sprintf("; %d whole", len(g.pushes[0].wholes)), want)
	}
	k, g, in := played(t, `C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[web#1]
C> type=CDS V=1 N=a R=[]
-- cut by=server
-- stream 2
t=+1m C> type=CDS V=1 N= R=[] node=n1
@2 S< type=CDS V=2 N=b res=[api#2]
`)
	is(t, "after it came back", changesOf(t, k, g), "api added 1, web removed 1")
	is(t, "resources that it had", in.n.Was, 1)
}

// changesOf is what became of resources in the newest push.
func changesOf(t *testing.T, k *engine.Engine, g *Grouper) string {
	t.Helper()
	p, _ := g.Push(k, len(g.pushes))
	var out []string
	for _, c := range p.Changes {
		out = append(out, fmt.Sprintf("%s %s %d", c.Name, c.How, c.Clients))
	}
	return strings.Join(out, ", ")
}
