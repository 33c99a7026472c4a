package e2e

import (
	"context"
	"flag"
	"math/rand/v2"
	"net"
	"strconv"
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

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

var kills = flag.Int("kills", 3, "how often each test of crashes kills the proxy")

// pusher answers the first request of a stream with one response after the
// other, until the stream ends. The nonce counts them. Each repeats the
// resources of the one before, but for one.
type pusher struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
}

func (pusher) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	req, err := s.Recv()
	if err != nil {
		return err
	}
	content := append([]byte{1<<3 | 2, 100}, make([]byte, 100)...) // a cluster with a name of 100 letters
	var resources []*anypb.Any
	for n := 1; ; n++ {
		for i := range content[2:] {
			content[2+i] = byte('a' + rand.IntN(26))
		}
		changed := &anypb.Any{TypeUrl: resource.ClusterType, Value: append([]byte(nil), content...)}
		if len(resources) < 30 {
			resources = append(resources, changed)
		} else {
			resources[n%len(resources)] = changed
		}
		err := s.Send(&discovery.DiscoveryResponse{
			TypeUrl: resource.ClusterType, Nonce: req.GetNode().GetId() + "/" + strconv.Itoa(n), Resources: resources,
		})
		if err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// What had passed 200 ms before a crash is in the recording, and it is whole.
func TestKilledWhilePushing(t *testing.T) {
	t.Parallel()
	upstream := servePushes(t)
	old, lost := 0, 0
	for n := range *kills {
		received, killed, file := killOnce(t, upstream, pushesBefore(n), setup{}, nil)
		recorded := readAfterCrash(t, file)
		for nonce, at := range received {
			switch age := killed.Sub(at); {
			case age <= 200*time.Millisecond:
				if !recorded[nonce] {
					lost++
				}
			case !recorded[nonce]:
				t.Errorf("response %s passed %s before the kill and is not in the recording", nonce, age)
				fallthrough
			default:
				old++
			}
		}
	}
	t.Logf("%d kills: %d responses were more than 200 ms old; %d younger ones are not in the recordings", *kills, old, lost)
	if old == 0 {
		t.Error("no response was old enough to prove anything")
	}
}

// servePushes starts a pusher.
func servePushes(t *testing.T) (addr string) {
	t.Helper()
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
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// pushesBefore is how many pushes pass before kill n: enough for 200 ms before
// the first, as many as it happens before the others.
func pushesBefore(n int) int {
	if n == 0 {
		return 2000
	}
	return 100 + rand.IntN(3000)
}

// killOnce kills a proxy after this many pushes on four streams, and returns
// when each was received. After that it waits for the moment that await
// knows, if there is one.
func killOnce(t *testing.T, upstream string, want int, s setup, await func(file string)) (received map[string]time.Time, killed time.Time, file string) {
	t.Helper()
	p := startProxyWith(t, upstream, s)
	conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	received = map[string]time.Time{}
	enough := make(chan struct{})
	var streams sync.WaitGroup
	for i := range 4 {
		stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		req := &discovery.DiscoveryRequest{Node: &corev3.Node{Id: strconv.Itoa(i)}, TypeUrl: resource.ClusterType}
		if err := stream.Send(req); err != nil {
			t.Fatal(err)
		}
		streams.Go(func() {
			for {
				resp, err := stream.Recv()
				if err != nil {
					return // killed
				}
				mu.Lock()
				received[resp.GetNonce()] = time.Now()
				if len(received) == want {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-ctx.Done():
		t.Fatal("the responses do not come")
	}
	if await != nil {
		await(p.file)
	}
	killed = time.Now()
	p.kill()
	streams.Wait()
	return received, killed, p.file
}

// readAfterCrash returns the nonces in a recording whose writer was killed. It
// must be readable to its last whole block, without a hole.
func readAfterCrash(t *testing.T, file string) map[string]bool {
	t.Helper()
	r, err := recorder.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	nonces := map[string]bool{}
	var last session.Seq
	for e, err := range r.Entries(t.Context()) {
		if err != nil {
			t.Fatalf("after entry %d: %v", last, err)
		}
		if e.Seq != last+1 {
			t.Errorf("entry %d follows entry %d", e.Seq, last)
		}
		last = e.Seq
		if e.Kind != session.KindMessage || e.Side != session.Server {
			continue
		}
		m := &discovery.DiscoveryResponse{}
		if err := proto.Unmarshal(e.Message.Data.Bytes(), m); err != nil {
			t.Fatalf("entry %d is not what was sent: %v", e.Seq, err)
		}
		nonces[m.Nonce] = true
	}
	if f := r.Facts(); f.Complete || f.Damaged || f.Gaps != 0 {
		t.Errorf("%+v; want an incomplete recording without damage", f)
	}
	return nonces
}
