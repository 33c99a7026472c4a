package replay

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // which some clients compress with
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"

	"github.com/xdsproxy/xdsproxy/replay/frames"
)

// codec carries bytes through gRPC as they are. It has no name, so that the
// content-type stays the plain "application/grpc" that others send.
type codec struct{}

func (codec) Name() string { return "" }

func (codec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("cannot send a %T: not bytes", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(*b)}, nil
}

func (codec) Unmarshal(buffers mem.BufferSlice, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("cannot receive into a %T: not bytes", v)
	}
	*b = buffers.Materialize()
	return nil
}

// Bytes makes a client send and receive *[]byte, of at most so many bytes.
func Bytes(most int) grpc.DialOption {
	return grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(most))
}

const (
	// mostRequest and mostResponse are the largest messages that are taken.
	mostRequest  = 64 << 20
	MostResponse = 1 << 30
)

// ServerOptions make a server that takes every method, and sends and receives
// *[]byte.
func ServerOptions(handler grpc.StreamHandler) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ForceServerCodecV2(codec{}), grpc.UnknownServiceHandler(handler), grpc.WaitForHandlers(true), grpc.InTapHandle(frames.Tap),
		grpc.MaxRecvMsgSize(mostRequest), grpc.MaxSendMsgSize(math.MaxInt32),
		// To stop, gRPC waits for connections that have not yet said what they are.
		grpc.ConnectionTimeout(5 * time.Second),
		// Clients of control planes ping more often than gRPC allows by default.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
}

// Listen gives what the client says, until it ends the stream or ctx is done.
func Listen(ctx context.Context, ss grpc.ServerStream) <-chan []byte {
	out := make(chan []byte)
	go func() { // ends with the stream, for which the handler answers
		defer close(out)
		for {
			var b []byte
			if ss.RecvMsg(&b) != nil {
				return
			}
			select {
			case out <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// Leave ends what is open, in an orderly way if the clients let it.
func Leave(g *grpc.Server) {
	stop := time.AfterFunc(time.Second, g.Stop)
	defer stop.Stop()
	g.GracefulStop()
}
