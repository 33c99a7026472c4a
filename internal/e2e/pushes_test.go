package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/internal/render/push"
)

// What happens to whom in which push.
const (
	fleet     = 200
	allPushes = 50

	rejecter, rejectedIn = 7, 21 // a client that rejects the clusters of a push
	slow, slowFrom       = 3, 30 // one that answers nothing from a push on; the server waits for it
	slower, slowerFrom   = 150, 42
	skipped, skippedIn   = 199, 46 // one that the server leaves out of a push
	swapIn               = 25      // clusters first, and the routes that go with them after all have accepted
)

var pushOrder = []string{resource.ClusterType, resource.ListenerType, resource.RouteType}

var pushShort = map[string]string{resource.ClusterType: "CDS", resource.ListenerType: "LDS", resource.RouteType: "RDS"}

func pushNode(i int) string { return fmt.Sprintf("envoy-%03d", i) }

// pushClient is one of the fleet: it accepts what it is sent, but where it is told
// otherwise.
type pushClient struct {
	n       int
	version func(int) string

	mu         sync.Mutex
	cut, cured time.Time // when it had the clusters of the swap, and when it was about to accept the routes
}

// answers is what the client says to a response, nil if nothing.
func (c *pushClient) answer(r *discovery.DiscoveryResponse) *discovery.DiscoveryRequest {
	from := map[int]int{slow: slowFrom, slower: slowerFrom}[c.n]
	if from > 0 && r.GetVersionInfo() == c.version(from) {
		return nil
	}
	q := &discovery.DiscoveryRequest{TypeUrl: r.GetTypeUrl(), VersionInfo: r.GetVersionInfo(), ResponseNonce: r.GetNonce()}
	if r.GetTypeUrl() == resource.RouteType {
		q.ResourceNames = []string{"web"}
	}
	if c.n == rejecter && r.GetVersionInfo() == c.version(rejectedIn) && r.GetTypeUrl() == resource.ClusterType {
		q.VersionInfo = c.version(rejectedIn - 2) // what it accepted before
		q.ErrorDetail = &status.Status{Code: int32(codes.Internal), Message: "cluster one: no such stat name"}
	}
	if r.GetVersionInfo() == c.version(swapIn) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.GetTypeUrl() == resource.ClusterType {
			c.cut = time.Now()
		} else if r.GetTypeUrl() == resource.RouteType {
			c.cured = time.Now()
		}
	}
	return q
}

type clientStream interface {
	Send(*discovery.DiscoveryRequest) error
	Recv() (*discovery.DiscoveryResponse, error)
}

// stay asks for some types and answers, until the stream ends.
func (c *pushClient) stay(s clientStream, types []string) error {
	for _, typ := range types {
		q := &discovery.DiscoveryRequest{TypeUrl: typ, Node: &corev3.Node{Id: pushNode(c.n), UserAgentName: "envoy"}}
		if typ == resource.RouteType {
			q.ResourceNames = []string{"web"}
		}
		if err := s.Send(q); err != nil {
			return err
		}
	}
	go func() {
		for {
			r, err := s.Recv()
			if err != nil {
				return
			}
			if q := c.answer(r); q != nil && s.Send(q) != nil {
				return
			}
		}
	}()
	return nil
}

// startFleet connects all clients, on one stream each or on one for each type.
func startFleet(t *testing.T, addr string, perType bool, version func(int) string) []*pushClient {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	out := make([]*pushClient, fleet)
	for i := range out {
		out[i] = &pushClient{n: i, version: version}
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		open := func(s clientStream, err error, types ...string) {
			t.Helper()
			if err == nil {
				err = out[i].stay(s, types)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !perType {
			s, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
			open(s, err, pushOrder...)
			continue
		}
		cds, err := clusterservice.NewClusterDiscoveryServiceClient(conn).StreamClusters(ctx)
		open(cds, err, resource.ClusterType)
		lds, err := listenerservice.NewListenerDiscoveryServiceClient(conn).StreamListeners(ctx)
		open(lds, err, resource.ListenerType)
		rds, err := routeservice.NewRouteDiscoveryServiceClient(conn).StreamRoutes(ctx)
		open(rds, err, resource.RouteType)
	}
	return out
}

// pushed is the generator's account of one push.
type pushed struct {
	types   []string
	by      map[string]*sentOf
	clients []int // to whom
	began   map[int]time.Time
	ended   map[int]time.Time
}

// pushAll makes all pushes, each when those who answer have answered the one before.
func pushAll(t *testing.T, plane *pushPlane, version func(int) string) map[int]*pushed {
	t.Helper()
	all := make(map[int]*pushed)
	for n := 1; n <= allPushes; n++ {
		world := pushWorld(t, n, swapIn)
		p := &pushed{by: map[string]*sentOf{}, began: map[int]time.Time{}, ended: map[int]time.Time{}}
		all[n] = p
		for i := range fleet {
			if !(i == slow && n > slowFrom || i == slower && n > slowerFrom || i == skipped && n == skippedIn) {
				p.clients = append(p.clients, i)
			}
		}
		var left []string
		for _, typ := range pushOrder {
			if map[string]func(int) bool{resource.ClusterType: pushesClusters, resource.RouteType: pushesRoutes, resource.ListenerType: pushesListeners}[typ](n) {
				p.types, p.by[typ] = append(p.types, typ), &sentOf{}
				left = append(left, typ)
			}
		}
		rounds := [][]string{left} // all of it at once, but for the swap
		if n == swapIn {
			rounds = [][]string{left[:1], left[1:]}
		}
		for _, round := range rounds {
			var owed []subscriber
			for _, i := range p.clients {
				for _, typ := range round {
					of := subscriber{pushNode(i), typ}
					if typ == resource.ClusterType {
						p.began[i] = time.Now()
					}
					sent, err := plane.send(of, version(n), world[typ])
					if err != nil {
						t.Fatal(err)
					}
					p.by[typ].add(sent)
					if !(i == slow && n == slowFrom || i == slower && n == slowerFrom) {
						owed = append(owed, of)
					}
				}
			}
			at := plane.answered(t, version(n), owed)
			for _, i := range p.clients {
				p.ended[i] = at[subscriber{pushNode(i), resource.RouteType}]
			}
		}
	}
	return all
}

// What a control plane does to a fleet in fifty pushes, pushes tells as the control
// plane has it on its own account: on one stream a client with versions that have a
// time in them, and on a stream for each type with versions that count.
func TestPushes(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		name    string
		perType bool
		version func(int) string
	}{
		{"aggregated", false, func(n int) string { return fmt.Sprintf("2026-11-23T10:00:%02dZ/%d", n, n) }},
		{"per type", true, func(n int) string { return fmt.Sprint(n + 100) }},
	} {
		t.Run(v.name, func(t *testing.T) {
			plane := startPushPlane(t, v.version(0), pushWorld(t, 0, swapIn))
			proxy := startProxy(t, plane.at)
			clients := startFleet(t, proxy.addr, v.perType, v.version)
			var all []subscriber
			for i := range fleet {
				for _, typ := range pushOrder {
					all = append(all, subscriber{pushNode(i), typ})
				}
			}
			plane.answered(t, v.version(0), all)
			account := pushAll(t, plane, v.version)

			var told []push.Object
			eventually(t, "the recording has all answers to the last push", func() bool {
				told = pushesIn(t, proxy.file)
				return len(told) >= allPushes && told[len(told)-1].Accepted == len(account[allPushes].clients)
			})
			if len(told) != allPushes {
				t.Fatalf("%d pushes are told, not %d", len(told), allPushes)
			}
			for n := 1; n <= allPushes; n++ {
				if told[n-1].Version != v.version(n) {
					t.Fatalf("push %d has version %q", n, told[n-1].Version)
				}
				account[n].holds(t, n, &told[n-1], clients)
			}
		})
	}
}

// pushesIn are those that were begun by the server, in full.
func pushesIn(t *testing.T, file string) (out []push.Object) {
	t.Helper()
	for line := range bytes.Lines(runProgram(t, "pushes", file, "--within", "10s", "-o", "jsonl")) {
		var o push.Object
		if decodeJSON(t, line, &o); !o.Start {
			out = append(out, o)
		}
	}
	return out
}

// holds compares what is told of a push with what the generator knows of it.
func (p *pushed) holds(t *testing.T, n int, o *push.Object, clients []*pushClient) {
	t.Helper()
	var types []string
	var total sentOf
	for _, typ := range p.types {
		types = append(types, pushShort[typ])
		total.add(*p.by[typ])
	}
	if !slices.Equal(o.Types, types) || o.Clients != len(p.clients) || o.Responses != total.responses || o.Bytes != total.bytes {
		t.Errorf("push %d: %v to %d clients, %d responses of %d bytes; not %v, %d, %d, %d",
			n, o.Types, o.Clients, o.Responses, o.Bytes, types, len(p.clients), total.responses, total.bytes)
	}
	if o.IdleResponses != total.idle || o.IdleBytes != total.idleBytes {
		t.Errorf("push %d: %d responses of %d bytes changed nothing, not %d of %d", n, o.IdleResponses, o.IdleBytes, total.idle, total.idleBytes)
	}
	for i, typ := range p.types {
		if got, want := o.Each[i], p.by[typ]; got.Resources != want.resources || got.Again != want.again || got.AgainBytes != want.againSize {
			t.Errorf("push %d, %s: %d resources, %d of them (%d bytes) again; not %d, %d, %d",
				n, got.Type, got.Resources, got.Again, got.AgainBytes, want.resources, want.again, want.againSize)
		}
	}
	p.holdsMembers(t, n, o, types)

	var unsent []string
	for _, u := range o.Unsents {
		unsent = append(unsent, u.Client)
	}
	slices.Sort(unsent)
	var left []string
	for i := range fleet {
		if !slices.Contains(p.clients, i) {
			left = append(left, pushNode(i))
		}
	}
	if got := slices.Compact(unsent); !slices.Equal(got, left) {
		t.Errorf("push %d: %v were not sent it, not %v", n, got, left)
	}
	if n == swapIn {
		p.holdsSwap(t, o, clients)
	} else if o.Swaps != 0 || len(o.Missing) != 0 || o.Added+o.Removed+o.Renamed != 0 {
		t.Errorf("push %d: %d swaps, %d gaps", n, o.Swaps, len(o.Missing))
	}
}

func (p *pushed) holdsMembers(t *testing.T, n int, o *push.Object, types []string) {
	t.Helper()
	states := map[string]int{}
	for _, m := range o.Members {
		states[m.State]++
		want := "accepted"
		switch m.Client {
		case pushNode(slow):
			if n == slowFrom {
				want = "pending"
			}
		case pushNode(slower):
			if n == slowerFrom {
				want = "pending"
			}
		case pushNode(rejecter):
			if n == rejectedIn {
				want = "rejected"
				if got := m.Types[0]; got.Type != "CDS" || got.Reason != "cluster one: no such stat name" || got.Nacks != 1 {
					t.Errorf("push %d: what was rejected is %+v", n, got)
				}
			}
		}
		if m.State != want {
			t.Errorf("push %d: %s is %s, not %s", n, m.Client, m.State, want)
		}
		if want == "accepted" && !slices.Equal(slices.Sorted(slices.Values(m.Order)), slices.Sorted(slices.Values(types))) {
			t.Errorf("push %d: %s accepted %v", n, m.Client, m.Order)
		}
		if want == "accepted" && n == swapIn && m.Order[0] != "CDS" {
			t.Errorf("push %d: %s accepted in the order %v, and clusters were first", n, m.Client, m.Order)
		}
	}
	if o.Accepted != states["accepted"] || o.Rejected != states["rejected"] || o.Pending != states["pending"] || len(o.Members) != len(p.clients) {
		t.Errorf("push %d: %d accepted, %d rejected, %d pending of %d; the list has %v", n, o.Accepted, o.Rejected, o.Pending, len(p.clients), states)
	}
}

// holdsSwap holds the gap of each client between what the client and what the
// server measured: a message is seen between its ends.
func (p *pushed) holdsSwap(t *testing.T, o *push.Object, clients []*pushClient) {
	t.Helper()
	const slew = 5.0 // ms by which clocks may be corrected meanwhile
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	gaps := map[string]push.Gap{}
	for _, g := range o.Missing {
		gaps[g.Client] = g
		if g.Name != "green" || g.Instead != "blue" || g.How != "removed" || g.ByType != "RDS" || g.By != "web" || g.Open || g.Unsure {
			t.Fatalf("a gap is %+v", g)
		}
	}
	if len(gaps) != fleet || len(o.Missing) != fleet {
		t.Fatalf("%d gaps at %d clients", len(o.Missing), len(gaps))
	}
	for i := range fleet {
		c, g := clients[i], gaps[pushNode(i)]
		c.mu.Lock()
		inner, outer := ms(c.cured.Sub(c.cut)), ms(p.ended[i].Sub(p.began[i]))
		c.mu.Unlock()
		if g.MostMS < inner-slew || g.MostMS > outer+slew || g.LeastMS > g.MostMS {
			t.Errorf("%s was without it for %v to %v ms; the client says %v, the server %v", g.Client, g.LeastMS, g.MostMS, inner, outer)
		}
	}
	worst := slices.Max(slices.Collect(func(yield func(float64) bool) {
		for g := range maps.Values(gaps) {
			if !yield(g.MostMS) {
				return
			}
		}
	}))
	if o.GapMS != worst || o.Swaps != 1 || o.Renamed != 1 || o.Added != 0 || o.Removed != 0 {
		t.Errorf("the swap: gap %v, %d swaps, %d renamed", o.GapMS, o.Swaps, o.Renamed)
	}
	if m := o.Moves[0]; m.Name != "green" || !slices.Equal(m.Instead, []string{"blue"}) || m.Clients != fleet || m.Gapless != 0 {
		t.Errorf("the swap is %+v", m)
	}
}
