package effect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

func size(t *testing.T, what string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %d are kept, want %d", what, got, want)
	}
}

// numbered are n names, each after the same word.
func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprint(prefix, i)
	}
	return out
}

// The client that nobody spoke of for longest is forgotten once there is no room
// for all, and the last one is not.
func TestClientsHaveABound(t *testing.T) {
	a := Account{clients: map[string]*client{}}
	a.client("old", 1)
	a.size = maxBytes - int64(256+len("new"))
	if a.client("new", 2); a.clients["old"] == nil || a.size != maxBytes {
		t.Errorf("of %d bytes there was no room", a.size)
	}
	a.size += 1000
	if a.client("new", 3); a.clients["old"] != nil || a.clients["new"] == nil {
		t.Errorf("%d clients are known", len(a.clients))
	}
	a.size = maxBytes + 1
	if a.client("new", 4); a.clients["new"] == nil {
		t.Error("the only client was forgotten")
	}

	a = Account{clients: map[string]*client{}}
	a.client("asked long ago", 1).asked = []Asked{{}}
	a.client("asked", 2).asked = []Asked{{}}
	a.client("never asked", 3)
	for _, gone := range []string{"never asked", "asked long ago", "asked"} {
		a.size += maxBytes - a.size + 1 // the room of one is not enough
		before := len(a.clients)
		if a.clients["new"] == nil {
			before++
		}
		if a.client("new", 4); a.clients[gone] != nil || len(a.clients) != before-1 {
			t.Errorf("%q is not the one that was forgotten: %d are there", gone, len(a.clients))
		}
	}
}

// A resource has an account if there is room, and one that has none is counted.
func TestResourcesHaveABound(t *testing.T) {
	a := Account{clients: map[string]*client{}}
	cl := a.client("n1", 1)
	a.size = maxBytes
	if a.resource(cl, key{"CDS", "last"}) == nil || a.Forgotten() != 0 {
		t.Error("the last resource had no room")
	}
	a.size = maxBytes + 1
	if a.resource(cl, key{"CDS", "over"}) != nil || a.Forgotten() != 1 || a.resource(cl, key{"CDS", "last"}) == nil {
		t.Errorf("one resource too many is known, %d forgotten", a.Forgotten())
	}
}

// Once there is no room for all contents, the oldest are let go of and counted,
// until an eighth is free.
func TestContentsHaveABound(t *testing.T) {
	const each = 1 << 20
	b := make([]byte, each-64)
	var a Account
	for range maxBytes/each - 1 {
		a.bodies, a.bytes = append(a.bodies, &body{b}), a.bytes+each
	}
	first := a.bodies[0]
	if a.keep(b); a.bytes != maxBytes || a.Forgotten() != 0 || first.b == nil {
		t.Errorf("%d of %d bytes are kept, %d forgotten", a.bytes, maxBytes, a.Forgotten())
	}
	last := a.keep(b)
	if a.bytes != maxBytes*7/8 || a.Forgotten() != maxBytes/each/8+1 || first.b != nil || !bytes.Equal(last.b, b) {
		t.Errorf("%d of %d bytes are kept, %d forgotten", a.bytes, maxBytes, a.Forgotten())
	}
	a.bytes = 2 * maxBytes
	if last = a.keep(nil); last.b == nil || len(a.bodies) != 1 {
		t.Errorf("of %d bodies the newest is %v", len(a.bodies), last.b)
	}
}

// A client is asked at so many addresses.
func TestSourcesHaveABound(t *testing.T) {
	var cl client
	for i, address := range append(numbered("a", maxSources+1), "a0") {
		if known := cl.source(&session.Held{Address: address}) != nil; known != (i != maxSources) {
			t.Errorf("source %d is known: %v", i+1, known)
		}
	}
	size(t, "sources", len(cl.asked), maxSources)
}

// Of one resource a client says so many things, and what warms refers to so many.
func TestItemsHaveABound(t *testing.T) {
	s, err := script.Parse("test.xds", []byte("-- held node=n1 CDS/active=[c"+strings.Repeat(",c", maxItems)+"] RDS/warming=[r{"+strings.Join(numbered("x", maxRefs+1), ",")+"}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var a Account
	k := engine.New(engine.Options{})
	for e := range s.Entries() {
		c := k.Step(&e)
		a.Step(k, &e, &c)
	}
	held := a.clients["n1"].resources
	size(t, "items", len(held[key{"CDS", "c"}].held), maxItems)
	size(t, "references", len(held[key{"RDS", "r"}].held[0].refs), maxRefs)
}

// It is told of so many things that a resource waits for, whoever says so.
func TestWaitsHaveABound(t *testing.T) {
	v := view{cl: &client{waits: []decode.Unready{{Of: "listener in", Targets: numbered("x", maxItems+1)}}}}
	size(t, "targets", len(v.waits(key{"LDS", "in"}, &item{})), maxItems)
	size(t, "references", len(v.waits(key{"CDS", "c"}, &item{refs: numbered("EDS x", maxItems+1)})), maxItems)
}

// A client that is behind names so many resources, and counts the others.
func TestBehindHasABound(t *testing.T) {
	cl := &client{resources: map[key]*resource{}, open: map[key]bool{}}
	for _, name := range numbered("c", MaxBehind+1) {
		at := key{"CDS", name}
		cl.resources[at], cl.open[at] = &resource{sent: &content{}, now: judgement{state: Absent}}, true
	}
	a := Account{clients: map[string]*client{"n1": cl}}
	s := a.Standing("n1")
	size(t, "resources behind", len(s.Behind), MaxBehind)
	size(t, "more", s.More, 1)
}

// So many files are known, of each so many names, and the last changes.
func TestFilesHaveABound(t *testing.T) {
	a := Account{loads: map[session.StreamID]*load{}}
	for i := range maxLoads + 1 {
		a.loaded(&session.Entry{Stream: session.StreamID(i), Kind: session.KindHeader}, &engine.Change{})
	}
	if size(t, "files", len(a.loads), maxLoads); a.loads[maxLoads-1] == nil {
		t.Error("the last file had room")
	}
	gone := session.Entry{Stream: 7, Kind: session.KindTrailer}
	a.Step(nil, &gone, &engine.Change{Variant: xds.VariantFile, Stream: &engine.Stream{}})
	a.loaded(&session.Entry{Stream: maxLoads + 7, Kind: session.KindHeader}, &engine.Change{})
	if a.loads[7] != nil || a.loads[maxLoads+7] == nil {
		t.Error("a file that is gone does not give way")
	}
	m := &decode.Message{Resources: make([]decode.Resource, maxRefs+1)}
	for i := range maxSnapshots + 2 {
		a.loaded(&session.Entry{Kind: session.KindMessage, Time: time.Unix(int64(i), 0)}, &engine.Change{Type: "CDS", Message: m, Stream: &engine.Stream{}})
		if l := a.loads[0]; i > 0 && (l.times[0].Unix() != max(1, int64(i-maxSnapshots+1)) || l.times[len(l.times)-1].Unix() != int64(i)) {
			t.Errorf("after change %d there are %v", i, l.times)
		}
	}
	size(t, "names of a file", len(a.loads[0].names), maxRefs)
}

// So many counters of a client are known, and go on.
func TestCountersHaveABound(t *testing.T) {
	var cl client
	for i, name := range append(numbered("s", maxStats+1), "s0") {
		cl.stat(&decode.ResourceStatus{Name: name, Body: []byte{2 << 3, byte(i % 100)}})
	}
	size(t, "counters", len(cl.stats), maxStats)
	if got, want := cl.stats["s0"], uint64((maxStats+1)%100); got != want {
		t.Errorf("a known counter is %d, want %d", got, want)
	}

	l := &load{typ: "CDS"}
	reader := &client{id: "n1", stats: map[string]uint64{"cluster_manager.cds.update_attempt": 1}}
	a := Account{loads: map[session.StreamID]*load{1: l}, clients: map[string]*client{"n1": reader}}
	for i := range maxSnapshots + 1 {
		a.settleLoads(engine.New(engine.Options{}), reader, time.Time{}, Moment{At: time.Unix(int64(i), 0)})
		if first, want := l.snapshots[0].at.Unix(), max(0, int64(i-maxSnapshots+1)); first != want || len(l.snapshots) != min(i+1, maxSnapshots) {
			t.Errorf("after %d answers there are %d of the counters, from %d on", i+1, len(l.snapshots), first)
		}
	}
}

// Responses wait for their answer up to a number; the oldest are forgotten.
func TestPendingHasABound(t *testing.T) {
	a := Account{pending: map[session.Seq][]pend{}}
	for i := range session.Seq(2*maxPending - 2) {
		a.pending[i], a.order = []pend{{}}, append(a.order, i)
	}
	for _, want := range []int{2*maxPending - 1, maxPending} {
		a.await(session.Seq(len(a.order)), []pend{{}})
		size(t, "responses", len(a.pending), want)
		size(t, "their numbers", len(a.order), want)
	}
	if a.pending[maxPending-1] != nil || a.pending[maxPending] == nil {
		t.Error("it is not the oldest that were forgotten")
	}
}
