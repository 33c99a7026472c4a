package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// answering is a control plane that has nothing, and says so to every request.
type answering struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
}

func (answering) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	for n := 1; ; n++ {
		q, err := s.Recv()
		if err != nil {
			return nil
		}
		if err := s.Send(&discovery.DiscoveryResponse{TypeUrl: q.TypeUrl, VersionInfo: "1", Nonce: fmt.Sprint(n)}); err != nil {
			return err
		}
	}
}

func ads(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(server, answering{})
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() { server.Stop(); <-served })
	return l.Addr().String()
}

// caller is a client that stays connected and asks when it is told to.
type caller struct {
	conn   *grpc.ClientConn
	stream discovery.AggregatedDiscoveryService_StreamAggregatedResourcesClient
}

func connect(t *testing.T, addr string) *caller {
	t.Helper()
	c, err := connectWith(t, addr, insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connectWith connects, asks, and waits for the answer.
func connectWith(t *testing.T, addr string, secure credentials.TransportCredentials) (*caller, error) {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(secure))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = conn.Close() })
	c := &caller{conn: conn}
	c.stream, err = discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(context.Background())
	if err == nil {
		err = c.ask()
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// asks sends a request and waits for its answer.
func (c *caller) asks(t *testing.T) {
	t.Helper()
	if err := c.ask(); err != nil {
		t.Fatal(err)
	}
}

func (c *caller) ask() error {
	if err := c.stream.Send(&discovery.DiscoveryRequest{Node: &corev3.Node{Id: "caller"}, TypeUrl: resource.ClusterType}); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err := c.stream.Recv()
	return err
}

func (c *caller) close() { _ = c.conn.Close() }
