package csds

import (
	"context"
	"errors"
	"io"
	"net"

	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/xdsproxy/xdsproxy/internal/serve"
)

const (
	// maxCalls bounds the calls at a time, about.
	maxCalls = 32
	// maxRequest is the largest request that is read, in bytes: that is some
	// hundred matchers.
	maxRequest = 64 << 10
)

// Server gives a View to clients of CSDS. Beside it are gRPC's health service, which
// says whether the View is ready, and reflection.
type Server struct {
	statusv3.UnimplementedClientStatusDiscoveryServiceServer
	view   *View
	health *health.Server
	at     serve.Endpoint
}

// NewServer listens nowhere yet.
func NewServer(v *View, logger *zap.Logger) *Server {
	s := &Server{view: v, health: health.NewServer()}
	s.say(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	s.at = serve.Endpoint{Name: "clients of CSDS", Calls: maxCalls, Request: maxRequest, Codec: v.sent, Logger: logger, Register: func(to *grpc.Server) {
		statusv3.RegisterClientStatusDiscoveryServiceServer(to, s)
		grpc_health_v1.RegisterHealthServer(to, s.health)
		reflection.Register(to)
	}}
	return s
}

// say sets the health of the server and of its service.
func (s *Server) say(h grpc_health_v1.HealthCheckResponse_ServingStatus) {
	s.health.SetServingStatus("", h)
	s.health.SetServingStatus(statusv3.ClientStatusDiscoveryService_ServiceDesc.ServiceName, h)
}

// Serve begins to accept calls from l, which Close closes. If token is not empty
// they have to know it.
func (s *Server) Serve(l net.Listener, token string) { s.at.Serve(l, token) }

// Ready says that the account has come to what was there when it began.
func (s *Server) Ready() {
	s.view.Ready()
	s.say(grpc_health_v1.HealthCheckResponse_SERVING)
}

// Close ends everything.
func (s *Server) Close() {
	s.health.Shutdown()
	s.at.Close(0)
}

// FetchClientStatus implements the service.
func (s *Server) FetchClientStatus(ctx context.Context, r *statusv3.ClientStatusRequest) (*statusv3.ClientStatusResponse, error) {
	defer serve.Occupy(ctx)()
	return s.view.Answer(ctx, r)
}

// StreamClientStatus implements the service: each request has an answer.
func (s *Server) StreamClientStatus(stream grpc.BidiStreamingServer[statusv3.ClientStatusRequest, statusv3.ClientStatusResponse]) error {
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out, err := s.FetchClientStatus(stream.Context(), r)
		if err != nil {
			return err
		}
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}
