package xdstest

import (
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// Backend is a gRPC server that answers grpc.health.v1.Health/Check with one
// status: two backends with different answers can be told apart by a client.
type Backend struct {
	addr string
	grpc *grpc.Server
	done chan struct{}
}

// StartBackend starts a backend on a free loopback port.
func StartBackend(answer grpc_health_v1.HealthCheckResponse_ServingStatus) (*Backend, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot start a backend: %w", err)
	}
	b := &Backend{addr: l.Addr().String(), grpc: grpc.NewServer(), done: make(chan struct{})}
	h := health.NewServer()
	h.SetServingStatus("", answer)
	grpc_health_v1.RegisterHealthServer(b.grpc, h)
	go func() {
		defer close(b.done)
		_ = b.grpc.Serve(l) // returns when Stop closes the listener
	}()
	return b, nil
}

// Addr is its host:port.
func (b *Backend) Addr() string { return b.addr }

// Stop closes every connection at once.
func (b *Backend) Stop() {
	b.grpc.Stop()
	<-b.done
}
