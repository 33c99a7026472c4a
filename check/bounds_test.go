package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/check/timer"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// played is a Checker with all rules that has seen a conversation. What is done
// before the last entry is done by set, which may be nil.
func played(t *testing.T, text string, set func(*Checker)) *Checker {
	t.Helper()
	s, err := script.Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rules, _ := Select([]string{"all"}, nil)
	k := NewChecker(Options{Rules: rules})
	all := slices.Collect(s.Entries())
	for i := range all {
		if i == len(all)-1 && set != nil {
			set(k)
		}
		k.Step(&all[i])
	}
	return k
}

// moment is an event on a type of a stream, after a conversation, with the last
// request and response of the type.
func moment(t *testing.T, text string, id session.StreamID, typ string) *event {
	t.Helper()
	k := played(t, text, nil)
	for _, stream := range k.Streams {
		if stream.ID != id {
			continue
		}
		x := &event{k: k, rule: &Rule{ID: "rule"}, now: k.Now, stream: stream, sub: stream.Sub(typ)}
		if x.sub != nil {
			x.req, x.resp = x.sub.Last, x.sub.Newest()
		}
		if x.resp != nil {
			x.resp.Message = &decode.Message{}
		}
		return x
	}
	t.Fatalf("there is no stream %d", id)
	return nil
}

const (
	simple = "C> type=EDS V= N= R=[a,b] node=n1\nS< type=EDS V=1 N=1 res=[a,b]\nC> type=EDS V=1 N=1 R=[a,b]\n"
	delta  = "D> type=CDS N= sub=[] node=n1\nd< type=CDS N=1 res=[a@1,b@1]\nD> type=CDS N=1 sub=[c]\n"
)

// filled is a map with n entries, of names that nobody has.
func filled[V any](n int) map[string]V {
	m := make(map[string]V, n)
	for i := range n {
		var none V
		m["other"+strconv.Itoa(i)] = none
	}
	return m
}

// numbered are n names.
func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "x" + strconv.Itoa(i)
	}
	return out
}

func size(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d are kept, want %d", what, got, want)
	}
}

// Of the flaws of one response so many are told apart, each with so many names.
func TestFlawsHaveABound(t *testing.T) {
	var f flaws
	for _, cause := range numbered(maxFlaws + 1) {
		f.add(cause, "", "")
	}
	size(t, "flaws", len(f.causes), maxFlaws)
	for _, name := range numbered(maxFindingNames + 1) {
		f.add("x0", name, "")
	}
	size(t, "names of a flaw", len(f.by["x0"].names), maxFindingNames)
}

// Lists of the last few lose the first once there is one too many, and lists of
// the first few have no more.
func TestListsHaveABound(t *testing.T) {
	var last []int
	for i := range maxOmissions + 1 {
		if last = keepLast(last, i, maxOmissions); last[0] != max(0, i-maxOmissions+1) {
			t.Errorf("after %d: %v", i+1, last)
		}
	}
	size(t, "the last", len(last), maxOmissions)
	size(t, "first names", len(firstNames(plain(maxFindingNames+1))), maxFindingNames)

	var m nameMemory
	m.set = filled[struct{}](maxContentNames - 1)
	if m.add("last"); m.full || !m.has("last") {
		t.Error("there was no room for the last name")
	}
	if m.add("over"); !m.full || m.has("over") || m.has("last") {
		t.Error("one name too many is remembered")
	}
}

// plain are n resources that refer to nothing.
func plain(n int) []*engine.Resource {
	out := make([]*engine.Resource, n)
	for i, name := range numbered(n) {
		out[i] = &engine.Resource{Name: name, Content: &engine.Content{Facts: &inspect.Facts{}}}
	}
	return out
}

// What was said of names is forgotten as a whole when there is no room for more.
func TestNamesThatWereToldHaveABound(t *testing.T) {
	text := func([]string) string { return "told" }
	x := moment(t, simple, 1, "EDS")
	x.k.hints.said = filled[string](maxSaid - 1)
	for _, c := range []struct {
		name string
		want int
	}{{"last", maxSaid}, {"over", 1}} {
		x.proveOnce(Info, []string{c.name}, text)
		size(t, "names with the "+c.name, len(x.k.hints.said), c.want)
	}
	x.proveOnce(Info, numbered(maxSaid+1), text)
	size(t, "of very many names", len(x.k.hints.said), maxSaid)
	x = moment(t, simple, 1, "EDS")
	x.proveOnce(Info, numbered(maxFindingNames+1), text)
	for _, cause := range x.k.hints.said {
		size(t, "names of a cause", strings.Count(cause, "\x00")+1, maxFindingNames)
	}
}

// Names that requests ask for are remembered up to a number.
func TestNamesAskedForHaveABound(t *testing.T) {
	x := moment(t, "C> type=CDS V= N= R=[] node=n1\n", 1, "CDS")
	c := contentOf(x.sub)
	c.asked, x.req.Added = make([]string, maxContentNames-1), []string{"a"}
	noteNamesAsked(x)
	noteNamesAsked(x)
	size(t, "names that were asked for", len(c.asked), maxContentNames)

	x = moment(t, delta, 1, "CDS")
	p := &contentOf(x.sub).pushes
	p.again, p.allAgain = filled[struct{}](maxContentNames-1), time.Time{}
	x.req.Message = &decode.Message{Kind: decode.DeltaRequest, Subscribe: []string{"a"}}
	if noteAsked(x); len(p.again) != maxContentNames || !p.allAgain.IsZero() {
		t.Errorf("%d names are asked for again, all of them %v", len(p.again), p.allAgain)
	}
	x.req.Message.Subscribe[0] = "b"
	if noteAsked(x); len(p.again) != 1 || !p.allAgain.Equal(x.now) {
		t.Errorf("%d names are asked for again, all of them %v", len(p.again), p.allAgain)
	}

	x = moment(t, simple, 1, "EDS")
	late := lateOf(x.sub)
	late.names = filled[bool](engine.MaxDropped - 1)
	x.req.Fresh, x.req.Added = false, []string{"a", "b"}
	x.await()
	size(t, "names with an outdated nonce", len(late.names), engine.MaxDropped)
}

// A load report is expected within a day at the latest.
func TestLoadsHaveABound(t *testing.T) {
	x := moment(t, simple, 1, "EDS")
	x.entry = &session.Entry{Seq: 9}
	for said, want := range map[time.Duration]time.Duration{-1: 0, time.Second: time.Second, maxInterval: maxInterval, maxInterval + 1: maxInterval} {
		l := loads{watching: true}
		if x.loadsAsked(&l, &decode.LoadStats{Interval: said}); l.asked.interval != want {
			t.Errorf("an interval of %v is taken for %v", said, l.asked.interval)
		}
	}
}

// A client status is compared until it would cost too much.
func TestComparesHaveABound(t *testing.T) {
	x := moment(t, "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=1 res=[a,b]\nC> type=CDS V=1 N=1 R=[]\nt=+11s -- tick\n", 1, "CDS")
	x.entry = &session.Entry{Seq: 9}
	streams := slices.Repeat([]*engine.Stream{x.stream}, 1<<12)
	list := make([]decode.ResourceStatus, maxCompares/len(streams)-1)
	for _, name := range []string{"a", "b"} {
		list = append(list, decode.ResourceStatus{TypeURL: x.sub.URL, Name: name, Client: "NACKED"})
	}
	x.compareStatus(&decode.ClientConfig{Resources: list}, streams)
	if all := x.k.Findings(); len(all) != 1 || !slices.Equal(all[0].Names, []string{"a"}) {
		t.Errorf("%+v", all)
	}
}

// A finding about very many resources has so many names; how many more there are,
// its message says.
func TestNamesOfFindingsHaveABound(t *testing.T) {
	list := func(format string) string {
		var out []string
		for _, n := range numbered(maxFindingNames + 1) {
			out = append(out, fmt.Sprintf(format, n))
		}
		return strings.Join(out, ",")
	}
	for id, text := range map[string]string{
		"delta-resource-without-version": "D> type=CDS N= sub=[] node=n1\nd< type=CDS N=a res=[" + list("%s@") + "]\n",
		"resource-undecodable":           "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[" + list("w:%s#corrupt") + "]\n",
		"resource-type-mismatch":         "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[" + list("LDS:%s") + "]\n",
		"lrs-protocol":                   "L> node=n1\nl< clusters=[c1] interval=10s\nt=+10s L> stats=[" + list("%s") + "]\n",
		"wildcard-unsubscribe-ignored": "D> type=CDS N= sub=[*,c1] node=n1\nd< type=CDS N=a res=[c1@1," + list("%s@1") + "]\n" +
			"D> type=CDS N=a unsub=[*]\nt=+13s d< type=CDS N=b res=[" + list("%s@2") + "]\n",
	} {
		all := played(t, text, nil).Findings()
		at := slices.IndexFunc(all, func(f Finding) bool { return f.Rule.ID == id })
		if at < 0 {
			t.Fatalf("no finding of %s", id)
		}
		size(t, "names of "+id, len(all[at].Names), maxFindingNames)
		if _, more, is := strings.Cut(all[at].Message, `"x2" and `); is && !strings.HasPrefix(more, fmt.Sprint(maxFindingNames+1-3, " more")) {
			t.Errorf("%s: %s", id, all[at].Message)
		}
	}
}

// What a rejected response refers to is looked at up to a number of references,
// and of resources, and so is what the reason says.
func TestReferencesOfARejectionHaveABound(t *testing.T) {
	refs := func(n int) *inspect.Facts {
		return &inspect.Facts{Refs: append(slices.Repeat([]inspect.Ref{{Type: "EDS", Name: "a"}}, n), inspect.Ref{Type: "EDS", Name: "lacks"})}
	}
	for _, c := range []struct {
		items, refs, words int
		found              bool
	}{
		{0, maxLacked - 1, 0, true},
		{0, maxLacked, 0, false},
		{maxLacked - 1, 0, 0, true},
		{maxLacked, 0, 0, false},
		{0, 0, engine.MaxReason - len("lacks"), true},
		{0, 0, engine.MaxReason - len("lacks") + 1, false},
	} {
		x := moment(t, simple, 1, "EDS")
		x.resp.Added = append(plain(c.items), &engine.Resource{Name: "r", Content: &engine.Content{Facts: refs(c.refs)}})
		got := x.lacked(x.resp, strings.Repeat(" ", c.words)+"lacks")
		if found := strings.HasSuffix(got, "which the reason names"); found != c.found {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// So many other streams of a node are looked at for one that was used beside it.
func TestTwinsHaveABound(t *testing.T) {
	for between, found := range map[int]bool{maxTwins - 1: true, maxTwins: false} {
		text := "-- stream 1 peer=other-ip\nC> type=CDS V= N= R=[] node=n1\n"
		for i := range between + 1 {
			text += fmt.Sprintf("-- stream %d\nC> type=CDS V= N= R=[] node=n1\n", i+2)
		}
		x := moment(t, text, session.StreamID(between+2), "CDS")
		if findTwin(x); (identityOf(x.stream).twin != nil) != found {
			t.Errorf("behind %d others a twin is found: %v", between, !found)
		}
	}
}

// So many types with made-up nonces are told apart.
func TestInventedNoncesHaveABound(t *testing.T) {
	x := moment(t, simple, 1, "EDS")
	v := invented{types: filled[struct{}](maxInvented - 1)}
	for _, x.sub.Key = range []string{"last", "over"} {
		v.note(x)
	}
	if _, over := v.types["over"]; over || len(v.types) != maxInvented || v.streams != 1 {
		t.Errorf("%d types on %d streams", len(v.types), v.streams)
	}
}

// On one stream so many clusters are waited for, whether they are to come or to
// warm up, and so many responses for their verdict.
func TestWaitingHasABound(t *testing.T) {
	clusters := "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c]\nC> type=CDS V=1 N=a R=[]\n"
	routes := clusters + "C> type=RDS V= N= R=[r]\nS< type=RDS V=1 N=b res=[r{c}]\nC> type=RDS V=1 N=b R=[r]\n"
	var stream *engine.Stream
	set := func(f func(*engine.Stream)) func(*Checker) {
		return func(k *Checker) {
			for _, stream = range k.Streams {
				f(stream)
			}
		}
	}
	played(t, routes+"S< type=RDS V=2 N=c res=[r{x1,x2}]\n", set(func(t *engine.Stream) { aheadOf(t).byName = filled[*ahead](maxAhead - 1) }))
	size(t, "clusters ahead", len(aheadOf(stream).byName), maxAhead)

	x := moment(t, routes+"S< type=RDS V=2 N=c res=[r{"+strings.Join(numbered(maxPlaces+1), ",")+"}]\n", 1, "RDS")
	places := 0
	for _, r := range unsentOf(x.stream).byName {
		if r.place != "" {
			places++
		}
	}
	size(t, "places", places, maxPlaces)

	for _, had := range []int{maxBroken - 1, maxBroken} {
		played(t, "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c1#pgv-bad]\n", set(func(t *engine.Stream) { payloadOf(t.Sub("CDS")).broken = had }))
		size(t, "responses without a verdict", payloadOf(stream.Sub("CDS")).broken, maxBroken)
	}

	x = moment(t, simple, 1, "EDS")
	w := &warmings{byName: filled[*warming](maxWarming - 1)}
	it := &engine.Resource{Name: "c", Content: &engine.Content{Facts: &inspect.Facts{}}}
	for _, name := range []string{"last", "over"} {
		it.Content.Facts.Refs = append(it.Content.Facts.Refs, inspect.Ref{Type: "EDS", Name: name, Source: inspect.SourceADS})
	}
	w.enter(it, x.resp, nil)
	if size(t, "clusters that warm up", len(w.byName), maxWarming); w.byName["last"] == nil {
		t.Error("the last one had room")
	}
}

// What was looked for is forgotten as a whole when there is no room for more, and
// nothing is looked for once no finding is entered.
func TestLookupsHaveABound(t *testing.T) {
	const text = "C> type=CDS V= N= R=[] node=n1\nS< type=CDS V=1 N=a res=[c]\nC> type=CDS V=1 N=a R=[]\nC> type=RDS V= N= R=[r]\nS< type=RDS V=1 N=b res=[r{d}]\n"
	for had, want := range map[int]int{maxLookups - 1: maxLookups, maxLookups: 1} {
		k := played(t, text, func(k *Checker) {
			k.lookups.places = make(map[[16]byte]map[string]string)
			for i := range had {
				k.lookups.places[[16]byte{byte(i), 1}] = nil
			}
		})
		size(t, "places", len(k.lookups.places), want)

		x := moment(t, simple, 1, "EDS")
		x.k.lookups.near = make(map[nearKey]string)
		for i := range had {
			x.k.lookups.near[nearKey{clusters: [2]uint64{uint64(i)}}] = ""
		}
		x.nearestCluster("a1", &neighbours{})
		size(t, "nearest names", len(x.k.lookups.near), want)
	}
	for had, want := range map[int]int{maxFindings - 1: 1, maxFindings: 0} {
		x := moment(t, simple, 1, "EDS")
		x.k.ledger = newLedger()
		fullLedger(&x.k.ledger, had, Warning, x.now)
		x.nearestCluster("a1", &neighbours{})
		size(t, "nearest names of the last finding", len(x.k.lookups.near), want)
	}
}

// What a server sends after a reconnect is kept as far as there is room; with more
// nothing is known of what is missing.
func TestResumedHasABound(t *testing.T) {
	for name, c := range map[string]resumed{
		"resources": {count: maxResumed - 1},
		"responses": {batches: make([][]*engine.Resource, engine.MaxNonces-1)},
	} {
		x := moment(t, simple, 1, "EDS")
		wishesOf(x.sub).resumed, x.resp.Resolved = &c, plain(1)
		if noteResent(x); wishesOf(x.sub).resumed == nil {
			t.Errorf("the last of %s had room", name)
		}
		if noteResent(x); wishesOf(x.sub).resumed != nil {
			t.Errorf("one too many of %s are kept", name)
		}
	}
	w := resumed{excused: filled[struct{}](maxWished - 1)}
	w.excuse("last")
	w.excuse("over")
	size(t, "excused names", len(w.excused), maxWished)
}

// Who reconnects is forgotten as a whole when there is no room for more.
func TestStormsHaveABound(t *testing.T) {
	for had, want := range map[int]int{maxStorms - 1: maxStorms, maxStorms: 1} {
		x := moment(t, simple, 1, "EDS")
		x.k.storms, x.stream.Responses = filled[*storm](had), 0
		reconnectStorm(x)
		size(t, "storms", len(x.k.storms), want)
	}
}

// Names that come and go are remembered up to a number; old ones make room.
func TestWishesHaveABound(t *testing.T) {
	now := time.Unix(1e9, 0)
	w := wishes{flaps: make(map[string][]time.Time)}
	for _, n := range numbered(maxWished - 1) {
		w.flaps[n] = []time.Time{now.Add(1)}
	}
	w.flap("last", []time.Time{now}, now)
	w.flap("over", []time.Time{now}, now)
	if size(t, "names that came back", len(w.flaps), maxWished); w.flaps["over"] != nil {
		t.Error("one name too many is remembered")
	}
	w.flap("over", []time.Time{now}, now.Add(1))
	if size(t, "names once an old one was swept", len(w.flaps), maxWished); w.flaps["over"] == nil {
		t.Error("an old name made no room")
	}

	x := moment(t, delta, 1, "CDS")
	x.sub.Accepted, x.req.Removed = x.resp, []string{"a", "b"}
	wishesOf(x.sub).released = filled[*engine.Request](maxWished - 1)
	noteReleased(x)
	size(t, "names that were given up", len(wishesOf(x.sub).released), maxWished)

	for n, watched := range map[int]bool{maxWidened - 1: true, maxWidened: false} {
		x := moment(t, delta, 1, "CDS")
		x.k.hints.widened, *wishesOf(x.sub) = slices.Repeat([]*engine.Subscription{x.sub}, n), wishes{}
		if noteWidened(x); wishesOf(x.sub).watched != watched {
			t.Errorf("after %d others the stream is compared: %v", n, !watched)
		}
	}
}

// A name is looked for on so many other streams, and so many names of one request are.
func TestSearchElsewhereHasABound(t *testing.T) {
	var text strings.Builder
	for i := range maxElsewhere + 2 {
		fmt.Fprintf(&text, "-- stream %d\nC> type=EDS V= N= R=[a,b] node=n%d\nS< type=EDS V=1 N=1 res=[a,b]\n", i+1, i)
	}
	x := moment(t, text.String(), maxElsewhere+2, "EDS")
	size(t, "streams", len(x.elsewhere(time.Time{})), maxElsewhere)
	x.wait = &wait{from: x.req}
	names := append(numbered(maxNewNames-1), "a", "b")
	if got := x.newHere(names); len(got) != 1 {
		t.Errorf("of %d names there are elsewhere %v", len(names), got)
	}
}

// The same request may come so often within a time, and not once more.
func TestRepeatedRequestsHaveABound(t *testing.T) {
	for times, told := range map[int]bool{maxRepeats: false, maxRepeats + 1: true} {
		text := fmt.Sprintf("C> type=EDS V= N= R=[e1] node=n1\nS< type=EDS V=1 N=a res=[e1]\nC> type=EDS V=1 N=a R=[e1] x%d\n", times)
		found := slices.ContainsFunc(played(t, text, nil).Findings(), func(f Finding) bool { return f.Rule.ID == "request-flood" })
		if found != told {
			t.Errorf("%d times is a flood: %v", times, found)
		}
	}
}

// Of the changes of one response the first are compared with what other clients get.
func TestComparedChangesHaveABound(t *testing.T) {
	at := func(version int) string {
		return strings.Join(numbered(maxCompared+1), fmt.Sprintf("@%d,", version)) + fmt.Sprintf("@%d", version)
	}
	for _, c := range []struct {
		has   int // what the other client has of all
		found bool
	}{{maxCompared - 1, true}, {maxCompared, false}} {
		forgotten := fmt.Sprintf("D> type=CDS N= sub=[] node=n1\nd< type=CDS N=a res=[x%d@1]\nD> type=CDS N=a sub=[]\nD> type=CDS N= sub=[y]\n", c.has) +
			"-- stream 2\nD> type=CDS N= sub=[] node=n2\nd< type=CDS N=a res=[" + at(1) + "]\nD> type=CDS N=a sub=[]\nd< type=CDS N=b res=[" + at(2) + "]\nt=+16s -- tick\n"
		removed := fmt.Sprintf("D> type=CDS N= sub=[] node=n1\nd< type=CDS N=a res=[x%d@1]\n", c.has) +
			"-- stream 2\nD> type=CDS N= sub=[] node=n2\nd< type=CDS N=a res=[" + at(1) + "]\nD> type=CDS N=a sub=[]\nD> type=CDS N= sub=[y]\nd< type=CDS N=b res=[y@1] rm=[" + strings.Join(numbered(maxCompared+1), ",") + "]\n"
		for _, text := range []string{forgotten, removed} {
			found := slices.ContainsFunc(played(t, text, nil).Findings(), func(f Finding) bool { return f.Rule.ID == "legacy-wildcard-lost" })
			if found != c.found {
				t.Errorf("x%d: %v\n%s", c.has, found, text)
			}
		}
	}
}

// A reason is read up to a length, and so are names in it.
func TestReasonsHaveABound(t *testing.T) {
	items := plain(2)
	for before, want := range map[int]int{engine.MaxReason - len("x1"): 1, engine.MaxReason - len("x1") + 1: 2} {
		size(t, fmt.Sprintf("culprits after %d bytes", before), len(culprits(items, strings.Repeat(" ", before)+"x1")), want)
	}
}

// A resource is awaited until its TTL is over, if that is no longer than sensible.
func TestLeasesHaveABound(t *testing.T) {
	for ttl, want := range map[time.Duration]int{timer.MaxTTL: 1, timer.MaxTTL + 1: 0} {
		x := moment(t, delta, 1, "CDS")
		x.resp.Message.Resources, x.resp.Timed = []decode.Resource{{Name: "a", TTL: ttl}}, []int{0}
		ttlExpired(x)
		size(t, fmt.Sprintf("leases of %v", ttl), len(leasesOf(x.sub).ByName), want)
	}
}
