package e2e

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// soakServer is a control plane with a cluster for each name. All clients get
// the same, whenever the endpoints change.
type soakServer struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	names []string
	// acks has one for each client that has accepted the newest endpoints.
	acks chan struct{}

	mu       sync.Mutex
	push     int
	cds, eds []*anypb.Any
	changed  chan struct{} // closed when they did
	nonces   int
}

// soakName and soakNode have about 80 characters, of which those in the middle
// differ, as in a mesh.
func soakName(i int) string {
	return fmt.Sprintf("outbound|8080|primary|service-%05d-of-the-checkout-team.namespace-03.svc.cluster.local", i)
}

func soakNode(i int) string {
	return fmt.Sprintf("sidecar~10.1.%d.%d~checkout-%05d-6d5f9c7b4-x2xkq.namespace-03~namespace-03.svc.cluster.local", i>>8&255, i&255, i)
}

func newSoakServer(t *testing.T, names int) *soakServer {
	s := &soakServer{acks: make(chan struct{}, 1<<16), changed: make(chan struct{})}
	s.eds = make([]*anypb.Any, names)
	for i := range names {
		s.names = append(s.names, soakName(i))
		s.cds = append(s.cds, soakAny(t, xdstest.Cluster(soakName(i), xdstest.ADS())))
	}
	s.change(t, 0, names)
	return s
}

func soakAny(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// change pushes, with other endpoints for n clusters from the given one on.
func (s *soakServer) change(t *testing.T, from, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.push++
	s.eds = append([]*anypb.Any(nil), s.eds...) // others may be sending them
	for i := range n {
		i = (from + i) % len(s.names)
		e := xdstest.Endpoints(s.names[i], fmt.Sprintf("10.%d.%d.1:8080", s.push>>8&255, s.push&255))
		s.eds[i] = soakAny(t, e)
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *soakServer) serve(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, s)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// now is what there is: the resources of a type, their version, a nonce, and
// what tells that there is something newer.
func (s *soakServer) now(typ string) (*discovery.DiscoveryResponse, int, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nonces++
	r := &discovery.DiscoveryResponse{
		VersionInfo: fmt.Sprint("2026-01-01T00:00:00Z/", s.push), TypeUrl: typ, Resources: s.eds,
		Nonce: fmt.Sprintf("%08x-8d4f-4c1e-9a52-%012x", uint32(s.nonces)*2654435761, s.nonces),
	}
	if typ == resource.ClusterType {
		r.Resources = s.cds
	}
	return r, s.push, s.changed
}

func (s *soakServer) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	requests := make(chan *discovery.DiscoveryRequest)
	go func() {
		defer close(requests)
		for {
			r, err := st.Recv()
			if err != nil {
				return
			}
			select {
			case requests <- r:
			case <-st.Context().Done():
				return
			}
		}
	}()
	var changed <-chan struct{} // nil until it asks for endpoints
	var nonce string            // of the endpoints that were sent last
	sent := 0                   // and their push
	tell := func() error {
		var r *discovery.DiscoveryResponse
		r, sent, changed = s.now(resource.EndpointType)
		nonce = r.Nonce
		return st.Send(r)
	}
	for {
		var err error
		select {
		case <-changed:
			err = tell()
		case r, ok := <-requests:
			switch {
			case !ok:
				return nil
			case r.GetErrorDetail() != nil:
				err = fmt.Errorf("rejected: %v", r.GetErrorDetail())
			case r.GetTypeUrl() == resource.ClusterType && r.GetResponseNonce() == "":
				clusters, _, _ := s.now(resource.ClusterType)
				err = st.Send(clusters)
			case r.GetTypeUrl() == resource.EndpointType && r.GetResponseNonce() == "":
				err = tell()
			case r.GetTypeUrl() == resource.EndpointType && r.GetResponseNonce() == nonce && s.newest(sent):
				s.acks <- struct{}{}
			}
		}
		if err != nil {
			return err
		}
	}
}

func (s *soakServer) newest(push int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push == push
}

// acked waits until n clients have accepted the newest endpoints.
func (s *soakServer) acked(t *testing.T, n int) {
	t.Helper()
	late := time.After(patience)
	for range n {
		select {
		case <-s.acks:
		case <-late:
			t.Fatal("not all clients have accepted the newest endpoints")
		}
	}
}

// soakClient asks for all clusters and the endpoints of each, as Envoy does,
// and accepts what it gets.
type soakClient struct {
	node     string
	names    []string
	cds, eds string // the versions that it holds
	conn     *grpc.ClientConn
	stop     context.CancelFunc
	done     chan error
}

// join connects.
func (c *soakClient) join(t *testing.T, addr string) {
	t.Helper()
	var err error
	c.conn, err = grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, c.stop = context.WithCancel(t.Context())
	c.done = make(chan error, 1)
	go func() {
		err := c.talk(ctx)
		if ctx.Err() != nil {
			err = nil
		}
		c.done <- err
	}()
}

// leave closes the connection.
func (c *soakClient) leave(t *testing.T) {
	t.Helper()
	c.stop()
	if err := <-c.done; err != nil {
		t.Errorf("%s: %v", c.node, err)
	}
	c.conn.Close()
}

func (c *soakClient) talk(ctx context.Context) error {
	st, err := discovery.NewAggregatedDiscoveryServiceClient(c.conn).StreamAggregatedResources(ctx, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	again := c.eds != "" // then it knows which endpoints it needs
	node := &corev3.Node{Id: c.node, Cluster: "checkout.namespace-03", UserAgentName: "envoy"}
	if err := st.Send(&discovery.DiscoveryRequest{Node: node, VersionInfo: c.cds, TypeUrl: resource.ClusterType}); err != nil {
		return err
	}
	endpoints := &discovery.DiscoveryRequest{VersionInfo: c.eds, ResourceNames: c.names, TypeUrl: resource.EndpointType}
	if again {
		if err := st.Send(endpoints); err != nil {
			return err
		}
	}
	for {
		r, err := st.Recv()
		if err != nil {
			return err
		}
		ack := &discovery.DiscoveryRequest{VersionInfo: r.GetVersionInfo(), TypeUrl: r.GetTypeUrl(), ResponseNonce: r.GetNonce()}
		if r.GetTypeUrl() == resource.EndpointType {
			ack.ResourceNames, c.eds = c.names, r.GetVersionInfo()
		} else {
			c.cds = r.GetVersionInfo()
		}
		if err := st.Send(ack); err != nil {
			return err
		}
		if r.GetTypeUrl() == resource.ClusterType && !again {
			again = true
			if err := st.Send(endpoints); err != nil {
				return err
			}
		}
	}
}
