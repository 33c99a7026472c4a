package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	clusterservice "github.com/envoyproxy/go-control-plane/envoy/service/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

var capacity = flag.Int("capacity", 20, "connections of TestCapacity, with 20 streams each; 500 is what is promised")

const (
	streamsEach    = 20
	capacityPushes = 3
	// capacityMemory is what the proxy may take with 10,000 streams, in bytes.
	capacityMemory = 300 << 20
)

// Many streams on many connections, half of them ADS and half of one type:
// what is pushed to all arrives at each, is recorded, and is judged without a
// mistake, within the memory that is promised.
func TestCapacity(t *testing.T) {
	if *capacity < 100 {
		t.Parallel()
	}
	server := &crowdServer{next: make([]chan struct{}, capacityPushes)}
	for i := range server.next {
		server.next[i] = make(chan struct{})
	}
	p := startProxyWith(t, server.serve(t), setup{})
	streams := *capacity * streamsEach
	var acked [capacityPushes]sync.WaitGroup // of the control plane, by push
	for i := range acked {
		acked[i].Add(streams)
	}
	server.acked = &acked

	ctx, leave := context.WithTimeout(t.Context(), 10*time.Minute)
	defer leave()
	var crowd sync.WaitGroup
	var got atomic.Int64
	var conns []*grpc.ClientConn
	for c := range *capacity {
		conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		for s := range streamsEach {
			crowd.Go(func() {
				n, err := member(ctx, conn, c, s)
				got.Add(int64(n))
				if err != nil && ctx.Err() == nil {
					t.Errorf("stream %d of connection %d after %d pushes: %v", s, c, n, err)
				}
			})
		}
	}
	for i := range server.next {
		close(server.next[i])
		if !waitFor(ctx, &acked[i]) {
			t.Fatalf("push %d was not acknowledged by all", i+1)
		}
		t.Logf("after push %d to %d streams the peak is %d MB", i+1, streams, peakMemory(t, p.cmd.Process.Pid)>>20)
	}
	leave()
	crowd.Wait()
	for _, conn := range conns {
		conn.Close()
	}
	peak := peakMemory(t, p.cmd.Process.Pid)
	p.stop(t)
	if want := int64(streams * capacityPushes); got.Load() != want {
		t.Errorf("%d responses arrived, want %d", got.Load(), want)
	}
	if peak >= capacityMemory {
		t.Errorf("the proxy has taken %d MB", peak>>20)
	}
	f := p.info(t)
	if !f.Complete || f.Damaged || f.Gaps != 0 || f.Lost != 0 || f.Streams != uint64(streams) || f.Connections != uint64(*capacity) ||
		f.Messages != uint64(streams*(1+2*capacityPushes)) {
		t.Errorf("info: %+v", f)
	}
	recordedWhole(t, p.file, streams)
	checkClean(t, p.file)
}

// waitFor reports whether all came in time.
func waitFor(ctx context.Context, all *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// member is one stream of a client. It returns how many responses it got that
// were what was sent.
func member(ctx context.Context, conn *grpc.ClientConn, c, s int) (got int, err error) {
	node := &corev3.Node{Id: fmt.Sprintf("node-%d-%d", c, s), Cluster: "crowd", UserAgentName: "test"}
	var st interface {
		Send(*discovery.DiscoveryRequest) error
		Recv() (*discovery.DiscoveryResponse, error)
	}
	if s%2 == 0 {
		st, err = discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx, grpc.WaitForReady(true))
	} else {
		st, err = clusterservice.NewClusterDiscoveryServiceClient(conn).StreamClusters(ctx, grpc.WaitForReady(true))
	}
	if err != nil {
		return 0, err
	}
	if err := st.Send(&discovery.DiscoveryRequest{Node: node, TypeUrl: resource.ClusterType}); err != nil {
		return 0, err
	}
	for {
		m, err := st.Recv()
		if err != nil {
			return got, err
		}
		if problem := intact(m, node.Id, got+1); problem != "" {
			return got, errors.New(problem)
		}
		got++
		ack := &discovery.DiscoveryRequest{TypeUrl: resource.ClusterType, VersionInfo: m.GetVersionInfo(), ResponseNonce: m.GetNonce()}
		if err := st.Send(ack); err != nil {
			return got, err
		}
	}
}

// intact says what is wrong with push n to a node, "" if nothing is.
func intact(m *discovery.DiscoveryResponse, node string, n int) string {
	if want := fmt.Sprintf("%s/%d", node, n); m.GetNonce() != want {
		return fmt.Sprintf("%s came instead of %s", m.GetNonce(), want)
	}
	if contentDigest(m.GetResources()) != m.GetControlPlane().GetIdentifier() {
		return m.GetNonce() + " is damaged"
	}
	return ""
}

func contentDigest(resources []*anypb.Any) string {
	var parts []string
	for _, r := range resources {
		parts = append(parts, string(r.GetValue()))
	}
	return digest(parts...)
}

// crowdServer pushes to all streams at once, when it is told to.
type crowdServer struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	clusterservice.UnimplementedClusterDiscoveryServiceServer
	next  []chan struct{}
	acked *[capacityPushes]sync.WaitGroup
}

func (s *crowdServer) serve(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, s)
	clusterservice.RegisterClusterDiscoveryServiceServer(server, s)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

func (s *crowdServer) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	return s.talk(st)
}

func (s *crowdServer) StreamClusters(st clusterservice.ClusterDiscoveryService_StreamClustersServer) error {
	return s.talk(st)
}

func (s *crowdServer) talk(st interface {
	Send(*discovery.DiscoveryResponse) error
	Recv() (*discovery.DiscoveryRequest, error)
	Context() context.Context
},
) error {
	req, err := st.Recv()
	if err != nil {
		return err
	}
	node := req.GetNode().GetId()
	for n := range s.next {
		select {
		case <-s.next[n]:
		case <-st.Context().Done():
			return st.Context().Err()
		}
		clusters := crowdClusters(node, n+1)
		resp := &discovery.DiscoveryResponse{
			VersionInfo: fmt.Sprint(n + 1), TypeUrl: resource.ClusterType, Nonce: fmt.Sprintf("%s/%d", node, n+1), Resources: clusters,
			ControlPlane: &corev3.ControlPlane{Identifier: contentDigest(clusters)},
		}
		if err := st.Send(resp); err != nil {
			return err
		}
		ack, err := st.Recv()
		if err != nil {
			return err
		}
		if ack.GetResponseNonce() == resp.Nonce && ack.GetErrorDetail() == nil && ack.GetVersionInfo() == resp.VersionInfo {
			s.acked[n].Done()
		}
	}
	<-st.Context().Done()
	return st.Context().Err()
}

// crowdClusters are the clusters of a node, about 4.5 KB: some that all have,
// one that changes with each push, and one of its own.
func crowdClusters(node string, push int) []*anypb.Any {
	out := make([]*anypb.Any, 0, 24)
	for i := range cap(out) {
		name, alt := fmt.Sprintf("outbound|8080||service-%03d.crowd.svc.cluster.local", i), strings.Repeat("x", 90)
		switch i {
		case 0:
			alt = fmt.Sprintf("changed-%d", push)
		case 1:
			name, alt = "own-of-"+node, node
		}
		c := &clusterv3.Cluster{
			Name: name, AltStatName: alt, ConnectTimeout: durationpb.New(5 * time.Second),
			ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST},
			LbPolicy:             clusterv3.Cluster_CLUSTER_PROVIDED,
		}
		a, err := anypb.New(c)
		if err != nil {
			panic(err)
		}
		out = append(out, a)
	}
	return out
}

// recordedWhole requires every push to every stream in a recording, as it was
// sent.
func recordedWhole(t *testing.T, file string, streams int) {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	had := map[string]int{}
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != session.KindMessage || e.Side != session.Server {
			continue
		}
		m := &discovery.DiscoveryResponse{}
		if err := proto.Unmarshal(e.Message.Data.Bytes(), m); err != nil {
			t.Fatalf("entry %d: %v", e.Seq, err)
		}
		node, _, _ := strings.Cut(m.GetNonce(), "/")
		had[node]++
		if problem := intact(m, node, had[node]); problem != "" {
			t.Fatalf("entry %d: %s", e.Seq, problem)
		}
	}
	if len(had) != streams {
		t.Errorf("%d streams are recorded, want %d", len(had), streams)
	}
	for node, n := range had {
		if n != capacityPushes {
			t.Errorf("%d pushes to %s are recorded, want %d", n, node, capacityPushes)
		}
	}
}
