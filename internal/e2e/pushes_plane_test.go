package e2e

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	listenerservice "github.com/envoyproxy/go-control-plane/envoy/service/listener/v3"
	routeservice "github.com/envoyproxy/go-control-plane/envoy/service/route/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// pushPlane is a control plane that pushes what it is told to whom it is told, and
// keeps an account of its own of what that was.
type pushPlane struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	clusterservice.UnimplementedClusterDiscoveryServiceServer
	listenerservice.UnimplementedListenerDiscoveryServiceServer
	routeservice.UnimplementedRouteDiscoveryServiceServer
	at    string
	first string // version that all get who come

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each answer
	world   map[string][]proto.Message
	streams map[subscriber]pushStream
	had     map[subscriber]map[string][]byte // what each was sent last
	nonces  map[subscriber]int
	answers map[answerKey]time.Time
}

type subscriber struct{ node, typeURL string }

type answerKey struct {
	subscriber
	version string
}

type pushStream interface {
	Send(*discovery.DiscoveryResponse) error
	Recv() (*discovery.DiscoveryRequest, error)
}

// sentOf is what the plane sent of one type in one push.
type sentOf struct {
	responses, resources, again int
	bytes, againSize            int64
	idle                        int
	idleBytes                   int64
}

func startPushPlane(t *testing.T, first string, world map[string][]proto.Message) *pushPlane {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pushPlane{
		at: l.Addr().String(), first: first, world: world, changed: make(chan struct{}), streams: map[subscriber]pushStream{},
		had: map[subscriber]map[string][]byte{}, nonces: map[subscriber]int{}, answers: map[answerKey]time.Time{},
	}
	s := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(s, p)
	clusterservice.RegisterClusterDiscoveryServiceServer(s, p)
	listenerservice.RegisterListenerDiscoveryServiceServer(s, p)
	routeservice.RegisterRouteDiscoveryServiceServer(s, p)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return p
}

func (p *pushPlane) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return p.serve(s)
}

func (p *pushPlane) StreamClusters(s clusterservice.ClusterDiscoveryService_StreamClustersServer) error {
	return p.serve(s)
}

func (p *pushPlane) StreamListeners(s listenerservice.ListenerDiscoveryService_StreamListenersServer) error {
	return p.serve(s)
}

func (p *pushPlane) StreamRoutes(s routeservice.RouteDiscoveryService_StreamRoutesServer) error {
	return p.serve(s)
}

// serve gives a client what there is when it asks first, and notes its answers.
func (p *pushPlane) serve(s pushStream) error {
	node := ""
	for {
		q, err := s.Recv()
		if err != nil {
			return nil //nolint:nilerr // the client went away
		}
		now := time.Now()
		if id := q.GetNode().GetId(); id != "" {
			node = id
		}
		of := subscriber{node, q.GetTypeUrl()}
		p.mu.Lock()
		if p.streams[of] == nil {
			p.streams[of] = s
			p.mu.Unlock()
			if _, err := p.send(of, p.first, p.world[of.typeURL]); err != nil {
				return err
			}
			continue
		}
		version := fmt.Sprint(q.GetResponseNonce()) // nonces are versions here
		if _, known := p.answers[answerKey{of, version}]; !known {
			p.answers[answerKey{of, version}] = now
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
}

// send sends all of a type to a client, and says what that was.
func (p *pushPlane) send(of subscriber, version string, all []proto.Message) (out sentOf, err error) {
	r := &discovery.DiscoveryResponse{TypeUrl: of.typeURL, VersionInfo: version, Nonce: version}
	p.mu.Lock()
	had, is := p.had[of], map[string][]byte{}
	s := p.streams[of]
	for _, m := range all {
		body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			p.mu.Unlock()
			return out, err
		}
		r.Resources = append(r.Resources, &anypb.Any{TypeUrl: of.typeURL, Value: body})
		name := m.(interface{ GetName() string }).GetName()
		is[name] = body
		out.resources++
		if old, there := had[name]; there && bytes.Equal(old, body) {
			out.again++
			out.againSize += int64(len(body))
		}
	}
	p.had[of] = is
	p.mu.Unlock()
	out.responses, out.bytes = 1, int64(proto.Size(r))
	if had != nil && out.again == out.resources && len(had) == len(is) {
		out.idle, out.idleBytes = 1, out.bytes
	}
	return out, s.Send(r)
}

func (s *sentOf) add(o sentOf) {
	s.responses += o.responses
	s.resources += o.resources
	s.again += o.again
	s.bytes += o.bytes
	s.againSize += o.againSize
	s.idle += o.idle
	s.idleBytes += o.idleBytes
}

// answered waits until each has answered a version, and says when.
func (p *pushPlane) answered(t *testing.T, version string, of []subscriber) map[subscriber]time.Time {
	t.Helper()
	limit := time.After(4 * patience)
	for {
		p.mu.Lock()
		out := make(map[subscriber]time.Time)
		for _, s := range of {
			if at, is := p.answers[answerKey{s, version}]; is {
				out[s] = at
			}
		}
		changed := p.changed
		p.mu.Unlock()
		if len(out) == len(of) {
			return out
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%d of %d have answered version %s", len(out), len(of), version)
		}
	}
}

// pushWorld is what the n-th push makes of the world: a cluster or a route that
// changes, and from the swap on cluster "blue" where "green" was.
func pushWorld(t *testing.T, n, swap int) map[string][]proto.Message {
	t.Helper()
	world := map[string][]proto.Message{}
	last := func(of func(int) bool) int {
		for i := n; i > 0; i-- {
			if of(i) {
				return i
			}
		}
		return 0
	}
	colour := "green"
	if n >= swap {
		colour = "blue"
	}
	for i, name := range []string{"one", "two", "three", colour} {
		c := xdstest.Cluster(name, xdstest.Self())
		c.PerConnectionBufferLimitBytes = nil
		if i == 0 {
			c.AltStatName = fmt.Sprintf("stat-%d", last(pushesClusters))
		}
		world[resource.ClusterType] = append(world[resource.ClusterType], c)
	}
	routes := xdstest.ClusterRoute("web", colour, "one")
	routes.MaxDirectResponseBodySizeBytes = nil
	routes.InternalOnlyHeaders = []string{fmt.Sprintf("x-%d", last(pushesRoutes))}
	world[resource.RouteType] = []proto.Message{routes}
	l := xdstest.Listener("in", "127.0.0.1:9", "web", xdstest.ADS())
	world[resource.ListenerType] = []proto.Message{l}
	return world
}

// Which types a push is of: listeners never change.
func pushesClusters(n int) bool  { return n%3 != 2 }
func pushesRoutes(n int) bool    { return n%3 != 0 }
func pushesListeners(n int) bool { return n%5 == 0 }
