package frames

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// However the bytes are cut, the streams that are opened and where a frame may be
// put are the same, and nothing is kept of what passed.
func FuzzBorder(f *testing.F) {
	headers := []byte{0, 0, 2, typeHeaders, 0, 0, 0, 0, 5, 'a', 'b'}
	rest := []byte{0, 0, 1, typeContinuation, flagEndHeaders, 0, 0, 0, 5, 'c'}
	f.Add(slices.Concat([]byte(preface), []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}, headers, rest, reset(5, 8)), 3)
	f.Add([]byte("PRI * HT"), 1)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		cut = max(1, cut)
		follow := func(step int) (b border, opened []uint32, clear bool) {
			b.skip = len(preface)
			for rest := data; len(rest) > 0; {
				n := min(step, len(rest))
				b.pass(rest[:n], func(_ byte, stream uint32) { opened = append(opened, stream) })
				rest = rest[n:]
				if len(b.header) >= frameHeader {
					t.Fatalf("it keeps %d bytes", len(b.header))
				}
			}
			return b, opened, b.clear()
		}
		_, one, clear := follow(max(1, len(data)))
		_, many, again := follow(cut)
		if !slices.Equal(one, many) || clear != again {
			t.Errorf("%v and %v, %v and %v", one, many, clear, again)
		}
	})
}

// A header block is not taken apart.
func TestBorder(t *testing.T) {
	b := border{skip: len(preface)}
	pass := func(clear bool, data ...byte) {
		t.Helper()
		if b.pass(data, nil); b.clear() != clear {
			t.Errorf("after %v it is %v", data, b.clear())
		}
	}
	pass(true, []byte(preface)...)
	pass(false, 0, 0, 2, typeHeaders)
	pass(false, 0, 0, 0, 0, 5)
	pass(false, 'a', 'b')
	pass(true, 0, 0, 0, typeContinuation, flagEndHeaders, 0, 0, 0, 5)
	pass(false, 0, 0, 9, 0, 0, 0, 0, 0, 5)
}

// raw carries bytes through gRPC.
type raw struct{}

func (raw) Name() string                    { return "raw" }
func (raw) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (raw) Unmarshal(b []byte, v any) error { *v.(*[]byte) = bytes.Clone(b); return nil }

// A stream that is reset takes no other with it: those before and after it on its
// connection get their headers, messages and trailers.
func TestReset(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.InTapHandle(Tap), grpc.UnknownServiceHandler(func(_ any, ss grpc.ServerStream) error {
		var what []byte
		for {
			if err := ss.RecvMsg(&what); err != nil {
				return nil
			}
			stream, is := Of(ss.Context())
			if !is {
				return status.Error(codes.Internal, "which stream is this?")
			}
			switch string(what) {
			case "reset":
				if err := stream.Reset(ss.Context(), 11); err != nil {
					t.Error(err)
				}
				return status.Error(codes.DataLoss, "nobody hears this")
			case "go away":
				if err := stream.GoAway(); err != nil {
					t.Error(err)
				}
			case "end":
				return status.Error(codes.NotFound, "an end with trailers")
			}
			if err := ss.SendMsg(&what); err != nil {
				return err
			}
		}
	}))
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(Listener{l}) })
	defer serving.Wait()
	defer s.Stop()
	cc, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		t.Fatal(err)
	}
	defer cc.Close()
	open := func() grpc.ClientStream {
		st, err := cc.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/any/Method")
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	ask := func(st grpc.ClientStream, what string) (answer string, code codes.Code) {
		b := []byte(what)
		if err := st.SendMsg(&b); err != nil {
			t.Fatal(err)
		}
		err := st.RecvMsg(&b)
		if err != nil {
			return "", status.Code(err)
		}
		return string(b), codes.OK
	}
	other := open()
	for range 20 {
		st := open()
		if got, _ := ask(st, "one"); got != "one" {
			t.Fatalf("%q", got)
		}
		if got, code := ask(st, "reset"); got != "" || code != codes.ResourceExhausted { // of ENHANCE_YOUR_CALM
			t.Fatalf("%q, %s", got, code)
		}
		if got, _ := ask(other, "still"); got != "still" {
			t.Fatalf("%q", got)
		}
		if _, code := ask(open(), "end"); code != codes.NotFound {
			t.Fatal(code)
		}
	}
	if got, _ := ask(other, "go away"); got != "go away" {
		t.Fatalf("%q", got)
	}
	st := open() // on another connection, sooner or later
	if got, _ := ask(st, "two"); got != "two" {
		t.Fatalf("%q", got)
	}
	if got, _ := ask(other, "the old one goes on"); got != "the old one goes on" {
		t.Fatalf("%q", got)
	}
}
