package replay

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// Bytes go through gRPC as they are, and ones that are too many do not come.
func TestBytes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(ServerOptions(func(_ any, ss grpc.ServerStream) error {
		ctx, cancel := context.WithCancel(ss.Context())
		defer cancel()
		for b := range Listen(ctx, ss) {
			if err := ss.SendMsg(&b); err != nil {
				return err
			}
		}
		return nil
	})...)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), Bytes(8))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) (string, error) {
		ss, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/any.Service/Method")
		if err != nil {
			t.Fatal(err)
		}
		out, in := []byte(text), []byte(nil)
		if err := errors.Join(ss.SendMsg(&out), ss.CloseSend()); err != nil {
			t.Fatal(err)
		}
		if err := ss.RecvMsg(&in); err != nil {
			return "", err
		}
		return string(in), ss.RecvMsg(&out)
	}
	if got, err := ask("\xffnot it\n"); got != "\xffnot it\n" || err == nil || err.Error() != "EOF" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask("123456789"); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("%q, %v", got, err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	Leave(g)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestCodecTakesBytesOnly(t *testing.T) {
	if _, err := (codec{}).Marshal("text"); err == nil || err.Error() != "cannot send a string: not bytes" {
		t.Error(err)
	}
	if err := (codec{}).Unmarshal(mem.BufferSlice{}, new(string)); err == nil || err.Error() != "cannot receive into a *string: not bytes" {
		t.Error(err)
	}
}

// One that connects and says nothing, as a telnet that somebody has left open, does not
// hold up the end.
func TestLeaveBesideTheSilent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(ServerOptions(func(any, grpc.ServerStream) error { return nil })...)
	served := make(chan error, 1)
	go func() { served <- g.Serve(l) }()
	silent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	// What the server says first shows that it has taken the connection.
	if _, err := silent.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{})
	go func() {
		Leave(g)
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(time.Minute):
		t.Error("it waits for a connection that says nothing")
		silent.Close()
		<-left
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
