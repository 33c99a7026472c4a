package serve

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"

	"github.com/xdsproxy/xdsproxy/internal/bounded"
)

const (
	// maxHeaders are the largest headers of a call, in bytes.
	maxHeaders = 16 << 10
	// handshakeTime is how long a connection may take to begin.
	handshakeTime = 10 * time.Second
	// idleTime is how long a connection may be there for nothing.
	idleTime = 5 * time.Minute
)

// Endpoint is gRPC for those who look on: on any number of listeners, with bounds
// on connections, calls and requests, and a token where one is asked for. It knows
// no service.
type Endpoint struct {
	Name     string             // of what is served, for the log
	Calls    int                // at a time, about
	Request  int                // the largest that is read, in bytes
	Trailer  string             // key of a trailer that every answer has; "": none
	Codec    encoding.CodecV2   // of messages; nil: gRPC's own
	Register func(*grpc.Server) // the services
	Logger   *zap.Logger        // not nil

	mu      sync.Mutex
	servers []*grpc.Server
	running sync.WaitGroup
}

// Serve begins to accept calls from l, which Close closes. If token is not empty
// they have to know it.
func (p *Endpoint) Serve(l net.Listener, token string) {
	g := guard{token: token, trailer: p.Trailer, logger: p.Logger}
	options := []grpc.ServerOption{
		grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream),
		grpc.MaxRecvMsgSize(p.Request), grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(uint32(p.Calls) + 8),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idleTime, Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
	if p.Codec != nil {
		options = append(options, grpc.ForceServerCodecV2(p.Codec))
	}
	server := grpc.NewServer(options...)
	p.Register(server)
	p.mu.Lock()
	p.servers = append(p.servers, server)
	p.mu.Unlock()
	p.running.Go(func() {
		// It ends with Close, or when the listener breaks.
		if err := server.Serve(bounded.NewListener(l, 2*p.Calls+8)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			p.Logger.Error(p.Name+" are no longer accepted", zap.Stringer("address", l.Addr()), zap.Error(err))
		}
	})
}

// Close lets calls go on for as long as grace, which ends early when they are
// over, and then ends everything.
func (p *Endpoint) Close(grace time.Duration) {
	p.mu.Lock()
	servers := p.servers
	p.mu.Unlock()
	var gently sync.WaitGroup
	done := make(chan struct{})
	for _, server := range servers {
		gently.Go(server.GracefulStop)
	}
	go func() {
		gently.Wait()
		close(done)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		for _, server := range servers {
			server.Stop()
		}
		<-done
	}
	p.running.Wait()
}

// Occupy keeps the connection of a call from being taken for idle, until vacate.
func Occupy(ctx context.Context) (vacate func()) {
	if p, ok := peer.FromContext(ctx); ok {
		if c := bounded.Of(p.Addr); c != nil {
			c.Busy()
			return c.Idle
		}
	}
	return func() {}
}
