package e2e

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// The numbers of clients, and of connections behind the proxy, are in the
// addresses that they dial from.
const (
	nearBase = 1
	farBase  = 64
)

// secureEnds is how the ends speak TLS; nil: they do not.
type secureEnds struct{ client, server *tls.Config }

// chaosServer is a control plane that says much, and a server that speaks
// nothing known; both may be stopped at any time.
type chaosServer struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	world *chaosWorld
	rng   func() *rand.Rand
}

// countingListener keeps the account of what it accepts.
type countingListener struct {
	net.Listener
	world *chaosWorld
	plain bool // not even with TLS
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	n := numberOf(farBase, c.RemoteAddr().(*net.TCPAddr).IP)
	if s := l.world.secure; s != nil {
		c = tls.Server(c, s.server)
	}
	a := l.world.account()
	return &flowConn{c, a.flowOf(a.servers, n)}, nil
}

// serveGRPC serves until ctx is done, and is stopped and begun anew meanwhile.
func (s *chaosServer) serveGRPC(ctx context.Context, addr string) error {
	r := s.rng()
	for ctx.Err() == nil {
		l, err := xdstest.Listen(addr)
		if err != nil {
			return err
		}
		server := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.NumStreamWorkers(0))
		discovery.RegisterAggregatedDiscoveryServiceServer(server, s)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = server.Serve(&countingListener{l, s.world, false})
		}()
		life := time.Duration(1000+r.IntN(8000)) * time.Millisecond
		select {
		case <-ctx.Done():
		case <-time.After(life):
		}
		if r.IntN(2) == 0 && ctx.Err() == nil { // GOAWAY, and then no more patience
			stop := time.AfterFunc(300*time.Millisecond, server.Stop)
			server.GracefulStop()
			stop.Stop()
		}
		server.Stop()
		<-done
	}
	return nil
}

func (s *chaosServer) StreamAggregatedResources(st discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	r, a := s.rng(), s.world.account()
	sent := 0
	for got := 0; ; got++ {
		req, err := st.Recv()
		if err != nil {
			return err
		}
		a.gets(atServer, req, got)
		stream, _, _ := readLabel(req)
		for range r.IntN(4) {
			sent++
			a.sends(atServer, stream, sent)
			if err := st.Send(newResponse(stream, sent, randomText(r))); err != nil {
				return err
			}
		}
		if r.IntN(400) == 0 {
			return errors.New("enough of this stream")
		}
	}
}

// serveRaw answers with noise, echoes, or says nothing, until ctx is done.
func (s *chaosServer) serveRaw(ctx context.Context, addr string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		c, err := (&countingListener{l, s.world, true}).Accept()
		if err != nil {
			return nil
		}
		r := s.rng()
		wg.Go(func() { rawPeer(ctx, c.(*flowConn), r) })
	}
}

// rawPeer reads and writes whatever it likes until the connection is over.
func rawPeer(ctx context.Context, c *flowConn, r *rand.Rand) {
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	_ = c.SetDeadline(time.Now().Add(time.Duration(200+r.IntN(5000)) * time.Millisecond))
	if r.IntN(4) == 0 {
		_, _ = io.Copy(c, c)
		return
	}
	var other sync.WaitGroup
	slow := r.IntN(3) == 0
	other.Go(func() {
		if slow {
			small := make([]byte, 512)
			for range 200 {
				if _, err := c.Read(small); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}
		_, _ = io.Copy(io.Discard, c)
	})
	openings := []string{"", "GET /v3/discovery:clusters HTTP/1.1\r\nhost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}
	text := openings[r.IntN(len(openings))] + randomText(r)
	for range 1 + r.IntN(8) {
		if _, err := io.WriteString(c, text); err != nil {
			break
		}
		text = randomText(r)
		time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
	}
	if r.IntN(2) == 0 {
		_ = c.CloseWrite()
	}
	other.Wait()
}

// randomText is mostly short.
func randomText(r *rand.Rand) string {
	n := 1 + r.IntN(2000)
	switch r.IntN(200) {
	case 0:
		n = 400_000
	case 1, 2, 3:
		n = 40_000
	}
	var b strings.Builder
	b.Grow(n + 16)
	for b.Len() < n {
		fmt.Fprintf(&b, "%016x", r.Uint64())
	}
	return b.String()[:n]
}

// dialer makes connections with a number, and keeps their account.
func (w *chaosWorld) dial(ctx context.Context, addr string) (net.Conn, error) {
	n := int(w.numbers.Add(1))
	d := net.Dialer{LocalAddr: numbered(nearBase, n)}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if w.secure != nil {
		c = tls.Client(c, w.secure.client)
	}
	a := w.account()
	return &flowConn{c, a.flowOf(a.clients, n)}, nil
}

var chaosStreams atomic.Int64

// client is one life of a client: some streams, until one fails or it has
// enough.
func (w *chaosWorld) client(ctx context.Context, r *rand.Rand) error {
	conn, err := grpc.NewClient("passthrough:///"+w.nearGRPC.addr,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(w.dial), grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 2, MaxDelay: time.Second}}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(300+r.IntN(6000))*time.Millisecond)
	defer cancel()
	var streams sync.WaitGroup
	for range 1 + r.IntN(4) {
		r := rand.New(rand.NewPCG(r.Uint64(), 2))
		streams.Go(func() { w.stream(ctx, conn, r) })
	}
	streams.Wait()
	return nil
}

func (w *chaosWorld) stream(ctx context.Context, conn *grpc.ClientConn, r *rand.Rand) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	st, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
	if err != nil {
		return
	}
	a, name := w.account(), fmt.Sprintf("s%d", chaosStreams.Add(1))
	var receiving sync.WaitGroup
	defer receiving.Wait()
	receiving.Go(func() {
		for got := 0; ; got++ {
			resp, err := st.Recv()
			if err != nil {
				cancel()
				return
			}
			a.gets(atClient, resp, got)
		}
	})
	for n := 1; ; n++ {
		a.sends(atClient, name, n)
		if err := st.Send(newRequest(name, n, randomText(r))); err != nil {
			return
		}
		if r.IntN(200) == 0 {
			_ = st.CloseSend()
			return
		}
		if r.IntN(300) == 0 {
			cancel()
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(r.IntN(60)) * time.Millisecond):
		}
	}
}

// rawClient is one life of a client that speaks no gRPC, and sometimes not even
// all of a handshake.
func (w *chaosWorld) rawClient(ctx context.Context, r *rand.Rand) {
	if w.secure != nil && r.IntN(3) == 0 {
		n := int(w.numbers.Add(1))
		d := net.Dialer{LocalAddr: numbered(nearBase, n)}
		c, err := d.DialContext(ctx, "tcp", w.nearRaw.addr)
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[:1+r.IntN(11)])
		time.Sleep(time.Duration(r.IntN(300)) * time.Millisecond)
		if r.IntN(2) == 0 {
			abort(c.(*net.TCPConn))
		}
		return
	}
	c, err := w.dial(ctx, w.nearRaw.addr)
	if err != nil {
		return
	}
	rawPeer(ctx, c.(*flowConn), r)
}
