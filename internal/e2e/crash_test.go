package e2e

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// pusher answers the first request of a stream with one response after the
// other, until the stream ends. The nonce counts them.
type pusher struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
}

func (pusher) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	for n := 1; ; n++ {
		err := s.Send(&discovery.DiscoveryResponse{
			TypeUrl: resource.ClusterType, Nonce: strconv.Itoa(n), VersionInfo: strings.Repeat("v", 4000),
		})
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// What had passed 200 ms before a crash is in the recording.
func TestKilledWhilePushing(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, pusher{})
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	defer func() { server.Stop(); <-served }()

	p := startProxy(t, l.Addr().String())
	conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&discovery.DiscoveryRequest{TypeUrl: resource.ClusterType}); err != nil {
		t.Fatal(err)
	}

	const pushes = 1000
	received := map[string]time.Time{}
	for len(received) < pushes {
		resp, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		received[resp.GetNonce()] = time.Now()
	}
	killed := time.Now()
	p.kill()

	f := p.info(t)
	if f.Complete || f.Damaged || f.Gaps != 0 {
		t.Errorf("info: %+v; want an incomplete recording without damage", f)
	}
	recorded := map[string]bool{}
	for _, l := range p.watch(t) {
		if l.Kind == "message" && l.Side == "server" {
			recorded[l.Nonce] = true
		}
	}
	old := 0
	for nonce, at := range received {
		if killed.Sub(at) <= 200*time.Millisecond {
			continue
		}
		old++
		if !recorded[nonce] {
			t.Errorf("response %s passed %s before the kill and is not in the recording", nonce, killed.Sub(at))
		}
	}
	t.Logf("%d responses received, %d of them more than 200 ms before the kill, %d recorded", len(received), old, len(recorded))
	if old == 0 {
		t.Error("no response is old enough to prove anything")
	}
}
