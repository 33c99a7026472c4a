package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math/rand"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// freeAddress is one that the system gives to nobody who does not ask for it: its port is
// below those that it chooses itself.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(20000+rand.Intn(10000)))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
}

func of(b []byte) *frame { return &frame{mem.BufferSlice{mem.SliceBuffer(b)}} }

// Messages of any size pass both ways as they are, and in order; who half-closes, ends or
// gives up is seen by the other side.
func TestRelay(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	canceled := make(chan string, 1)
	server := grpc.NewServer(grpc.ForceServerCodecV2(codec{}), grpc.MaxRecvMsgSize(maxMessage), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		md, _ := metadata.FromIncomingContext(s.Context())
		s.SetTrailer(metadata.Pairs("served", method+" for "+md.Get("who")[0]))
		for {
			var f frame
			switch err := s.RecvMsg(&f); {
			case errors.Is(err, io.EOF):
				if method == "/a/Refuse" {
					return status.Error(codes.DataLoss, "refused")
				}
				return s.SendMsg(of([]byte("that was all")))
			case err != nil:
				canceled <- method
				return err
			}
			if err := s.SendMsg(&f); err != nil {
				return err
			}
		}
	}))
	go func() { _ = server.Serve(l) }() // which ends when it is stopped
	defer server.Stop()
	addr := freeAddress(t)
	flag.CommandLine = flag.NewFlagSet("rawrelay", flag.ExitOnError) // that of the test has its own flags
	os.Args = []string{"rawrelay", "-listen", addr, "-upstream", l.Addr().String()}
	go main() // which never ends
	cc, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(
		grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "who", "me"), time.Minute)
	defer cancel()
	open := func(ctx context.Context, method string) grpc.ClientStream {
		t.Helper()
		s, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	send := func(s grpc.ClientStream, message []byte) {
		t.Helper()
		if err := s.SendMsg(of(message)); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(s grpc.ClientStream, want []byte) {
		t.Helper()
		var f frame
		if err := s.RecvMsg(&f); err != nil {
			t.Fatal(err)
		}
		if got := f.data.Materialize(); !bytes.Equal(got, want) {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
	}
	messages := [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("three"), 1<<20), []byte("four")}
	for _, method := range []string{"/a/Echo", "/a/Refuse"} {
		s := open(ctx, method)
		for _, m := range messages {
			send(s, m)
			hear(s, m)
		}
		for _, m := range messages {
			send(s, m)
		}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			hear(s, m)
		}
		want := codes.DataLoss
		if method == "/a/Echo" {
			hear(s, []byte("that was all"))
			want = codes.OK
		}
		var f frame
		if err := s.RecvMsg(&f); want == codes.OK && err != io.EOF || want != codes.OK && (status.Code(err) != want || status.Convert(err).Message() != "refused") {
			t.Errorf("%s ends with %v, want %v", method, err, want)
		}
		if got := s.Trailer().Get("served"); len(got) != 1 || got[0] != method+" for me" {
			t.Errorf("the trailer of %s: %q", method, got)
		}
	}
	once, give := context.WithCancel(ctx)
	s := open(once, "/a/Leave")
	send(s, []byte("hello"))
	hear(s, []byte("hello"))
	give()
	select {
	case method := <-canceled:
		if method != "/a/Leave" {
			t.Errorf("%s is canceled", method)
		}
	case <-ctx.Done():
		t.Error("the server does not hear that a client has left")
	}
	server.Stop()
	var f frame
	if err := open(ctx, "/a/Echo").RecvMsg(&f); status.Code(err) != codes.Unavailable {
		t.Errorf("without a server: %v", err)
	}
}
