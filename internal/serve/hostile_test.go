package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsproxy/xdsproxy/internal/serve/viewerpb"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// kindOf is what Dial says of an address.
func kindOf(t *testing.T, network, address string, o Options) (Kind, string) {
	t.Helper()
	_, err := Dial(context.Background(), network, address, o)
	failure, is := errors.AsType[*Error](err)
	if !is {
		t.Fatalf("%v", err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("it tells the token: %v", err)
	}
	return failure.Kind, err.Error()
}

func TestWhatListensIsSaid(t *testing.T) {
	log := newLog(t, recorder.Options{}, false)
	s := New(Config{Log: log})
	defer s.Close(0)
	l, token := listen(t, "tcp")
	s.Serve(l, token)
	addr := l.Addr().String()
	if kind, text := kindOf(t, "tcp", addr, Options{}); kind != TokenMissing {
		t.Error(text)
	}
	for _, wrong := range []string{"wrong", secret + " ", secret[1:], ""} {
		want := TokenWrong
		if wrong == "" {
			want = TokenMissing
		}
		if kind, text := kindOf(t, "tcp", addr, Options{Token: wrong}); kind != want {
			t.Errorf("%q: %s", wrong, text)
		}
	}
	dial(t, "tcp", addr, Options{Token: secret})

	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := free.Addr().String()
	_ = free.Close()
	if kind, text := kindOf(t, "tcp", nobody, quick()); kind != Unreachable || !strings.Contains(text, "refused") {
		t.Error(text)
	}
	if kind, text := kindOf(t, "unix", t.TempDir()+"/none.sock", quick()); kind != Unreachable || !strings.Contains(text, "no such file") {
		t.Error(text)
	}

	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	if kind, text := kindOf(t, "tcp", web.Listener.Addr().String(), quick()); kind != NoViewer {
		t.Error(text)
	}
	hasty, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	done := make(chan struct{})
	defer func() { _ = hasty.Close(); <-done }()
	go func() {
		defer close(done)
		for {
			conn, err := hasty.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	if kind, text := kindOf(t, "tcp", hasty.Addr().String(), quick()); kind != NoViewer {
		t.Error(text)
	}
}

// A control plane is not told the token, whatever it says.
func TestTokenIsForViewerEndpointsOnly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan []string, 10)
	other := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		told <- md.Get(tokenKey)
		return status.Error(codes.Unauthenticated, "no credentials")
	}))
	go func() { _ = other.Serve(l) }()
	defer other.Stop()
	if kind, text := kindOf(t, "tcp", l.Addr().String(), quick()); kind != NoViewer {
		t.Error(text)
	}
	if got := <-told; len(got) > 0 || len(told) > 0 {
		t.Errorf("it was told %q", got)
	}
}

// Whatever a client asks for, it gets an answer, and others are served as before.
func TestHostileClients(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	s := New(Config{Log: log, Viewers: 3})
	defer s.Close(0)
	l, token := listen(t, "tcp")
	s.Serve(l, token)
	write(t, log, f, 20)
	c := dial(t, "tcp", l.Addr().String(), quick())
	link, err := c.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer link.close()
	ctx := c.authorized(context.Background())
	ask := func(ctx context.Context, r *viewerpb.ReadRequest) (bytes int, err error) {
		stream, err := link.api.Read(ctx, r)
		for err == nil {
			var chunk *viewerpb.Chunk
			if chunk, err = stream.Recv(); err == nil {
				bytes += len(chunk.Data)
			}
		}
		return bytes, err
	}
	for name, r := range map[string]*viewerpb.ReadRequest{
		"backwards":         {From: 7, To: 3},
		"resume of nowhere": {Resume: appendMark(nil, recorder.Mark{At: 1 << 40})},
		"resume with more":  {Resume: append(appendMark(nil, recorder.Mark{}), 0)},
		"resume in part":    {Resume: []byte{0x80}},
		"negative resume":   {Resume: appendMark(nil, recorder.Mark{At: -1})},
	} {
		if n, err := ask(ctx, r); status.Code(err) != codes.InvalidArgument || n > 0 {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	if _, err := ask(ctx, &viewerpb.ReadRequest{Recording: "another"}); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	for _, segment := range []uint64{1, 1 << 63} {
		if _, err := ask(ctx, &viewerpb.ReadRequest{Segment: segment}); status.Code(err) != codes.NotFound {
			t.Error(err)
		}
	}
	if n, err := ask(ctx, &viewerpb.ReadRequest{From: 1 << 63, To: 1<<64 - 1}); !errors.Is(err, io.EOF) || n > 1<<10 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := ask(ctx, &viewerpb.ReadRequest{Resume: make([]byte, maxRequest)}); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
	wrong := metadata.AppendToOutgoingContext(context.Background(), tokenKey, "Bearer "+secret[1:])
	twice := metadata.AppendToOutgoingContext(ctx, tokenKey, tokenWords+secret)
	bare := metadata.AppendToOutgoingContext(context.Background(), tokenKey, secret)
	for _, ctx := range []context.Context{context.Background(), wrong, twice, bare} {
		if n, err := ask(ctx, &viewerpb.ReadRequest{}); status.Code(err) != codes.Unauthenticated || n > 0 {
			t.Errorf("%d bytes, %v", n, err)
		}
	}

	// Many streams: no more than there may be, and those that end make room.
	ctx, cancel := context.WithCancel(ctx)
	for range s.c.Viewers {
		stream, err := link.api.Tail(ctx, &viewerpb.ReadRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ask(ctx, &viewerpb.ReadRequest{}); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "3 viewers") {
		t.Error(err)
	}
	cancel()
	until(t, "the viewers are gone", func() bool { return s.viewers.Load() == 0 })
	r := c.Open(0, 0)
	defer r.Close()
	got, err := all(r)
	want, _ := own(t, log)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "a decent viewer", got, want)
}

// liar is a server that says what it likes.
type liar struct {
	viewerpb.UnimplementedViewerServer
	chunks func(r *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error
}

func (l *liar) Info(context.Context, *viewerpb.InfoRequest) (*viewerpb.InfoReply, error) {
	return &viewerpb.InfoReply{Entries: 1 << 63, LastSeq: 1 << 63, Bytes: -1, Created: 1 << 62, Format: 99}, nil
}

func (l *liar) Read(r *viewerpb.ReadRequest, to grpc.ServerStreamingServer[viewerpb.Chunk]) error {
	return l.chunks(r, to.Send)
}

// Whatever a server sends, a client ends with an error, and without having kept
// more than it got.
func TestHostileServers(t *testing.T) {
	good := chunksOf(t)
	for name, chunks := range map[string]func(r *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error{
		"nothing at all": func(*viewerpb.ReadRequest, func(*viewerpb.Chunk) error) error { return nil },
		"no recording": func(_ *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error {
			return send(&viewerpb.Chunk{Data: []byte(strings.Repeat("x", 1<<16))})
		},
		"half of one, twice": func(_ *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error {
			_ = send(&viewerpb.Chunk{Data: good[:len(good)/2]})
			return send(&viewerpb.Chunk{Data: good[:len(good)/2]})
		},
		"a changed one": func(_ *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error {
			bad := append([]byte(nil), good...)
			bad[len(bad)/2] ^= 1
			return send(&viewerpb.Chunk{Data: bad})
		},
		"too much at once": func(_ *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error {
			return send(&viewerpb.Chunk{Data: make([]byte, maxReply+1)})
		},
		"empty chunks for ever": func(_ *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error {
			for range 100_000 {
				if err := send(&viewerpb.Chunk{}); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			g := guard{}
			server := grpc.NewServer(grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream))
			viewerpb.RegisterViewerServer(server, &liar{chunks: chunks})
			go func() { _ = server.Serve(l) }()
			defer server.Stop()
			o := quick()
			o.GiveUp = 1
			r := dial(t, "tcp", l.Addr().String(), o).Open(0, 0)
			defer r.Close()
			if got, err := all(r); err == nil {
				t.Errorf("%d entries, and no error", len(got))
			}
		})
	}
}

// Wherever a proxy stops and says that its recording is another now, that is what a viewer
// is told, and not that what it has read of a block is damaged.
func TestRefusedAnywhere(t *testing.T) {
	good := chunksOf(t)
	for part := range 10 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		g := guard{trailer: viewerKey}
		server := grpc.NewServer(grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream))
		viewerpb.RegisterViewerServer(server, &liar{chunks: func(_ *viewerpb.ReadRequest, send func(*viewerpb.Chunk) error) error {
			_ = send(&viewerpb.Chunk{Data: good[:len(good)*part/10]})
			return status.Error(codes.FailedPrecondition, "another recording")
		}})
		go func() { _ = server.Serve(l) }()
		o := quick()
		o.GiveUp = 1 // what it takes for a lost connection is no reason to wait
		r := dial(t, "tcp", l.Addr().String(), o).Open(0, 0)
		if got, err := all(r); !fails(err, OtherRecording) {
			t.Errorf("after %d tenths: %d entries, %v", part, len(got), err)
		}
		_ = r.Close()
		server.Stop()
	}
}

// chunksOf is all that a viewer of a small log gets.
func chunksOf(t *testing.T) (out []byte) {
	t.Helper()
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	write(t, log, f, 20)
	_ = log.Close()
	feed, err := log.Feed(recorder.FeedOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	buf := make([]byte, 4<<10)
	for {
		n, err := feed.Read(context.Background(), buf)
		out = append(out, buf[:n]...)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A panic ends the call, and nothing else.
func TestPanicEndsTheCallOnly(t *testing.T) {
	log, f := newLog(t, recorder.Options{}, false), newTraffic()
	write(t, log, f, 1)
	s := New(Config{Log: log})
	defer s.Close(0)
	l, _ := listen(t, "unix")
	s.Serve(l, "")
	c := dial(t, "unix", l.Addr().String(), quick())
	s.c.Log = nil
	if _, err := c.Refresh(context.Background()); err == nil || !strings.Contains(err.Error(), "the call failed") {
		t.Error(err)
	}
	s.c.Log = log
	if _, err := c.Refresh(context.Background()); err != nil {
		t.Error(err)
	}
}

// FuzzMark gives a log's feed marks from elsewhere.
func FuzzMark(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendMark(nil, recorder.Mark{Segment: 1, At: 100, Entries: 2, Skip: 3}))
	f.Add([]byte{0x80, 0x80, 0x80})
	log, err := recorder.NewRing(recorder.Options{NoTicks: true})
	if err != nil {
		f.Fatal(err)
	}
	for range 20 {
		log.Append(session.Entry{Kind: session.KindNote, Note: &session.Note{Text: "x"}})
	}
	if err := log.Close(); err != nil {
		f.Fatal(err)
	}
	buf := make([]byte, 1<<10)
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMark(b)
		if err != nil {
			return
		}
		feed, err := log.Feed(recorder.FeedOptions{After: m})
		if err != nil {
			return
		}
		for range 100 {
			if _, err := feed.Read(context.Background(), buf); err != nil {
				break
			}
		}
		if err := feed.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
