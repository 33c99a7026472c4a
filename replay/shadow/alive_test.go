package shadow

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsproxy/xdsproxy/replay"
	"github.com/xdsproxy/xdsproxy/session"
)

// Whatever a server answers is a sign of life, also with a status that gRPC itself gives
// to those who reach nobody.
func TestSignsOfLife(t *testing.T) {
	l := bufconn.Listen(1 << 10)
	answer := make(chan error, 1)
	g := grpc.NewServer(replay.ServerOptions(func(any, grpc.ServerStream) error { return <-answer })...)
	served := make(chan struct{})
	go func() { defer close(served); _ = g.Serve(l) }()
	defer func() { g.Stop(); <-served }()
	for _, c := range []struct {
		says  error
		there bool
	}{
		{status.Error(codes.Unimplemented, "never heard of it"), true},
		{status.Error(codes.Unavailable, "not now"), true},
		{status.Error(codes.Canceled, "never mind"), true},
		{status.Error(codes.DeadlineExceeded, "too late"), true},
		{nil, false},
	} {
		cc, err := grpc.NewClient("passthrough:///b", replay.Bytes(1<<10), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				if !c.there {
					return nil, errors.New("closed")
				}
				return l.DialContext(ctx)
			}))
		if err != nil {
			t.Fatal(err)
		}
		defer cc.Close()
		if c.there {
			answer <- c.says
		}
		s := &shadow{ctx: t.Context(), signs: make(chan sign, 1)}
		b := &target{links: map[session.ConnID]*grpc.ClientConn{1: cc}}
		now := time.Now()
		if s.awake(&leg{at: b, of: &stream{conn: 1}, state: open}, now, now) {
			t.Error("it is awake before it was asked")
		}
		if got := <-s.signs; got.at != b || got.alive != c.there {
			t.Errorf("%v: alive %v", c.says, got.alive)
		}
		s.legs.Wait()
	}
}
