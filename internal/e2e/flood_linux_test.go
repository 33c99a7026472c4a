package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	floodStreams = 200_000 // that one connection opens and resets at once
	floodRounds  = 20      // so often at most
	floodOthers  = 50      // clients beside it
	floodPace    = 50 * time.Millisecond
)

// A connection that opens and resets streams faster than they can be recorded
// loses its own entries. Those of the clients beside it, which are pushed to at
// a fixed pace, are all recorded, and judged as if there were no flood.
func TestFloodLosesItsOwn(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := startProxyWith(t, l.Addr().String(), setup{args: []string{"--queue", "16MiB", "--admin", "127.0.0.1:0"}})
	admin := p.stderr.find(t, adminLine, p.exited)[1]
	flood := newFlood(t, l, p.addr) // its connection is the first

	server := &pacedServer{over: make(chan struct{}), pushes: make(map[string]int)}
	server.done.Add(floodOthers)
	defer server.serve(l)()
	ctx, leave := context.WithTimeout(t.Context(), 10*time.Minute)
	defer leave()
	var others sync.WaitGroup
	var conns []*grpc.ClientConn
	for i := range floodOthers {
		conn, err := grpc.NewClient("passthrough:///"+p.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		others.Go(func() {
			if n, err := member(ctx, conn, i, 0); err != nil && ctx.Err() == nil {
				t.Errorf("client %d after %d pushes: %v", i, n, err)
			}
		})
	}
	eventually(t, "all are pushed to", func() bool { return server.least() > 0 })
	lost := regexp.MustCompile(`(?m)^xdsproxy_recorder_lost_entries_total [1-9]`)
	flood.run(t, func() bool { return lost.MatchString(scrape(t, admin+"/metrics")) })
	scrape(t, admin+"/healthz")
	close(server.over)
	server.done.Wait()
	leave()
	others.Wait()
	for _, conn := range conns {
		conn.Close()
	}
	want := 0
	for _, n := range server.pushes {
		want += n
	}
	acks := regexp.MustCompile(`(?m)^xdsproxy_acks_total\{type="CDS"\} (\d+)$`)
	caughtUp := regexp.MustCompile(`(?m)^xdsproxy_metrics_lag_entries 0$`)
	var text string
	eventually(t, "what passed is recorded and judged", func() bool {
		text = scrape(t, admin+"/metrics")
		return caughtUp.MatchString(text)
	})
	if got := acks.FindStringSubmatch(text); got == nil || got[1] != strconv.Itoa(want) {
		t.Errorf("acknowledgements that were counted: %v, want %d", got, want)
	}
	p.stop(t)
	floodAlone(t, p.entries(t), server.pushes)
}

// floodAlone requires that nothing but what the first connection said is
// missing, and that gaps say so.
func floodAlone(t *testing.T, all []session.Entry, pushes map[string]int) {
	t.Helper()
	type conversation struct{ connects, opens, requests, responses, ends, disconnects int }
	had := make(map[session.ConnID]*conversation)
	others := make(map[session.StreamID]bool)
	var flood, lost uint64
	var gaps, most int
	for _, e := range all {
		if e.Conn == 1 {
			flood++
		}
		if e.Conn == 0 || e.Conn == 1 {
			continue
		}
		if had[e.Conn] == nil {
			had[e.Conn] = new(conversation)
		}
		c := had[e.Conn]
		switch e.Kind {
		case session.KindConnect:
			c.connects++
		case session.KindOpen:
			c.opens++
			others[e.Stream] = true
		case session.KindMessage:
			if e.Side == session.Client {
				c.requests++
			} else {
				c.responses++
			}
		case session.KindTrailer, session.KindCancel:
			c.ends++
		case session.KindDisconnect:
			c.disconnects++
		}
	}
	for _, e := range all {
		if e.Gap == nil {
			continue
		}
		gaps++
		lost += e.Gap.Entries
		most = max(most, len(e.Gap.Streams))
		for _, id := range e.Gap.Streams {
			if others[id] {
				t.Fatalf("the gap in entry %d touches stream %d, which is not of the flood", e.Seq, id)
			}
		}
	}
	t.Logf("the flood has %d entries, %d are lost, in %d gaps of up to %d streams", flood, lost, gaps, most)
	if most >= 1024 {
		t.Errorf("a gap names %d streams, which stands for all", most)
	}
	if last := all[len(all)-1].Seq; uint64(last) != uint64(len(all))+lost {
		t.Errorf("%d entries and %d lost ones, but the last has number %d", len(all), lost, last)
	}
	var want, got conversation
	for _, n := range pushes {
		want.requests += 1 + n
		want.responses += n
	}
	want.connects, want.opens, want.ends, want.disconnects = floodOthers, floodOthers, floodOthers, floodOthers
	for _, c := range had {
		got.connects += c.connects
		got.opens += c.opens
		got.requests += c.requests
		got.responses += c.responses
		got.ends += c.ends
		got.disconnects += c.disconnects
	}
	if got != want {
		t.Errorf("of the others is recorded %+v, want %+v", got, want)
	}
	if lost == 0 {
		t.Skip("nothing was lost: this machine records faster than it forwards")
	}
}

// flood is a connection that a raw client has through the proxy, to an end that
// reads everything and answers nothing.
type flood struct {
	conn   net.Conn
	passed chan int64 // how many bytes came out, once it is over
}

func newFlood(t *testing.T, l net.Listener, addr string) *flood {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	up, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	f := &flood{conn: conn, passed: make(chan int64, 1)}
	go func() {
		defer up.Close()
		n, _ := io.Copy(io.Discard, up)
		f.passed <- n
	}()
	return f
}

// run opens streams and resets them, as fast as the proxy reads: once, and again
// until that was enough, since a fast disk takes a while to fall behind.
func (f *flood) run(t *testing.T, enough func() bool) {
	t.Helper()
	var block, frames bytes.Buffer
	fields := hpack.NewEncoder(&block)
	for _, h := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", adsMethod}, {":authority", "flood"}, {"content-type", "application/grpc"}, {"te", "trailers"}} {
		_ = fields.WriteField(hpack.HeaderField{Name: h[0], Value: h[1], Sensitive: true}) // never indexed: all blocks are the same
	}
	frames.WriteString(http2.ClientPreface)
	w := http2.NewFramer(&frames, nil)
	_ = w.WriteSettings()
	written := int64(0)
	for round := range uint32(floodRounds) {
		for i := range uint32(floodStreams) {
			id := 2*(round*floodStreams+i) + 1
			_ = w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true})
			_ = w.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		n, err := f.conn.Write(frames.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		written += int64(n)
		frames.Reset()
		if enough() {
			break
		}
	}
	f.conn.(halfCloser).CloseWrite()
	if n := <-f.passed; n != written {
		t.Errorf("%d bytes of the flood were forwarded, want %d", n, written)
	}
}

// pacedServer pushes to each stream at a fixed pace until it is told to stop.
type pacedServer struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	over chan struct{}
	done sync.WaitGroup // streams whose last push was acknowledged

	mu     sync.Mutex
	pushes map[string]int // by node
}

func (s *pacedServer) serve(l net.Listener) (stop func()) {
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, s)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	return func() { server.Stop(); <-served }
}

// least is how many pushes all have got.
func (s *pacedServer) least() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pushes) < floodOthers {
		return 0
	}
	return slices.Min(slices.Collect(maps.Values(s.pushes)))
}

func (s *pacedServer) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	req, err := st.Recv()
	if err != nil {
		return err
	}
	node := req.GetNode().GetId()
	pace := time.NewTicker(floodPace)
	defer pace.Stop()
	for n := 1; ; n++ {
		clusters := crowdClusters(node, n)
		if err := st.Send(&discovery.DiscoveryResponse{
			VersionInfo: strconv.Itoa(n), TypeUrl: resource.ClusterType, Nonce: fmt.Sprintf("%s/%d", node, n), Resources: clusters,
			ControlPlane: &corev3.ControlPlane{Identifier: contentDigest(clusters)},
		}); err != nil {
			return err
		}
		if _, err := st.Recv(); err != nil {
			return err
		}
		s.mu.Lock()
		s.pushes[node] = n
		s.mu.Unlock()
		select {
		case <-pace.C:
		case <-s.over:
			s.done.Done()
			<-st.Context().Done()
			return st.Context().Err()
		}
	}
}
