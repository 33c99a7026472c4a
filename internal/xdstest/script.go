package xdstest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Methods of the aggregated streams, for PlayClient.
const (
	SotWStream  = discovery.AggregatedDiscoveryService_StreamAggregatedResources_FullMethodName
	DeltaStream = discovery.AggregatedDiscoveryService_DeltaAggregatedResources_FullMethodName
)

// ScriptedServer is a management server that plays parts: the first stream is
// answered with the first of them, whatever its method, and so on.
type ScriptedServer struct {
	addr string
	grpc *grpc.Server
	done chan struct{} // closed when Serve has returned

	mu    sync.Mutex
	parts []Part // not begun yet
	errs  []error
}

// StartScript starts a scripted server at listen: host:port, unix:/path.
func StartScript(addr string, parts ...Part) (*ScriptedServer, error) {
	l, err := Listen(addr)
	if err != nil {
		return nil, err
	}
	s := &ScriptedServer{addr: addressOf(l), done: make(chan struct{}), parts: parts}
	s.grpc = grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.UnknownServiceHandler(s.stream), grpc.WaitForHandlers(true))
	go func(l net.Listener) {
		defer close(s.done)
		_ = s.grpc.Serve(l) // returns when Stop closes the listener
	}(l)
	return s, nil
}

// Addr is where the server listens.
func (s *ScriptedServer) Addr() string { return s.addr }

// Stop closes every connection. It returns what went wrong with the parts, and
// an error if one was not begun.
func (s *ScriptedServer) Stop() error {
	s.grpc.Stop() // waits for the handlers
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.parts); n > 0 {
		s.errs = append(s.errs, fmt.Errorf("%d parts of the server were not begun", n))
		s.parts = nil
	}
	return errors.Join(s.errs...)
}

func (s *ScriptedServer) stream(_ any, ss grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(ss)
	s.mu.Lock()
	if len(s.parts) == 0 {
		s.mu.Unlock()
		return status.Error(codes.Unavailable, "the play is over")
	}
	part := s.parts[0]
	s.parts = s.parts[1:]
	s.mu.Unlock()

	end, err := part.play(ss, func() proto.Message {
		if isDelta(method) {
			return &discovery.DeltaDiscoveryRequest{}
		}
		return &discovery.DiscoveryRequest{}
	})
	if err != nil {
		s.mu.Lock()
		s.errs = append(s.errs, fmt.Errorf("the server's part: %w", err))
		s.mu.Unlock()
		return status.Error(codes.Internal, "the play was broken off")
	}
	return end.Err()
}

// PlayClient plays the parts of a client at the management server that dial
// leads to, one after the other, each on a connection of its own.
func PlayClient(ctx context.Context, dial, method string, parts ...Part) error {
	for i, p := range parts {
		if err := playOnce(ctx, dial, method, p); err != nil {
			return fmt.Errorf("the client's part %d: %w", i+1, err)
		}
	}
	return nil
}

func playOnce(ctx context.Context, dial, method string, p Part) error {
	conn, err := ClientOptions{Dial: dial}.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	_, err = p.play(s, func() proto.Message {
		if isDelta(method) {
			return &discovery.DeltaDiscoveryResponse{}
		}
		return &discovery.DiscoveryResponse{}
	})
	return err
}

func isDelta(method string) bool { return strings.Contains(method, "/Delta") }
