package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
	"github.com/xdsproxy/xdsproxy/session"
)

// rewriting is a world whose proxy rewrites headers.
func rewriting(t *testing.T, drain time.Duration, rules *rewrite.Rules) *world {
	t.Helper()
	return newWorld(t, loopback, loopback, drain, func(p *Pair) { p.Rewrite = rules })
}

// requests are what a client of many streams sends.
func requests(rng *rand.Rand) []byte {
	var b, block bytes.Buffer
	b.WriteString(http2.ClientPreface)
	f, enc := http2.NewFramer(&b, nil), hpack.NewEncoder(&block)
	f.WriteSettings()
	for id := uint32(1); id < 200; id += 2 {
		block.Reset()
		for _, h := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":authority", "proxy.local"},
			{":path", fmt.Sprintf("/s%d/M", rng.IntN(9))},
			{"content-type", "application/grpc"},
			{"x-large", strings.Repeat("v", rng.IntN(1+rng.IntN(30_000)))},
		} {
			enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
		}
		rest := block.Bytes()
		first := rest[:rng.IntN(len(rest)+1)]
		rest = rest[len(first):]
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: first, EndHeaders: len(rest) == 0, PadLength: uint8(rng.IntN(9))})
		for len(rest) > 0 {
			n := min(len(rest), 1+rng.IntN(16384))
			f.WriteContinuation(id, n == len(rest), rest[:n])
			rest = rest[n:]
		}
		for range rng.IntN(4) {
			message := make([]byte, rng.IntN(16_000))
			f.WriteData(id, false, append([]byte{0, 0, 0, byte(len(message) >> 8), byte(len(message))}, message...))
		}
	}
	return b.Bytes()
}

// Through the whole proxy, at any cuts: the server gets what a server should,
// and the log has it, beside what the client sent; the other direction is as
// ever.
func TestRewriting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("file-token\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules := &rewrite.Rules{Authority: "server.example:443", Headers: []rewrite.Header{{Name: "x-team", Value: "blue"}, {Name: "authorization", File: path}}}
	for seed := range uint64(8) {
		w := rewriting(t, 0, rules)
		client, server := w.dial()
		rng := rand.New(rand.NewPCG(seed, 5))
		sent := requests(rng)
		go func() {
			for rest := sent; len(rest) > 0; {
				n := min(len(rest), 1+rng.IntN(1<<rng.IntN(17)))
				if _, err := client.Write(rest[:n]); err != nil {
					return
				}
				rest = rest[n:]
			}
			client.(halfCloser).CloseWrite()
		}()
		var got bytes.Buffer
		fr := http2.NewFramer(nil, io.TeeReader(server, &got))
		fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		if _, err := io.CopyN(&got, server, int64(len(http2.ClientPreface))); err != nil {
			t.Fatal(err)
		}
		arrived := map[uint32][]hpack.HeaderField{}
		for {
			f, err := fr.ReadFrame()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := f.(*http2.MetaHeadersFrame); ok {
				arrived[m.StreamID] = m.Fields
				if m.PseudoValue("authority") != "server.example:443" || !slices.Contains(m.RegularFields(), hpack.HeaderField{Name: "authorization", Value: "Bearer file-token", Sensitive: true}) {
					t.Fatalf("arrived with %v", m.Fields)
				}
			}
		}
		src, err := rewrite.Load(rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if _, err := src.Rewriter().Write(&want, sent); err != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("seed %d: the server got %d bytes, want %d, %v", seed, got.Len(), want.Len(), err)
		}
		answer := bytes.Repeat([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), 1000)
		go func() { server.Write(answer); server.Close() }()
		if back, err := io.ReadAll(client); err != nil || !bytes.Equal(back, answer) {
			t.Fatalf("%d of %d bytes came back, %v", len(back), len(answer), err)
		}
		w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
		opens := 0
		for _, e := range w.log.all() {
			if e.Kind == session.KindNote {
				t.Fatalf("%+v", e.Note)
			}
			if e.Kind != session.KindOpen {
				continue
			}
			opens++
			same := slices.EqualFunc(e.Sent, arrived[e.H2], func(s session.Field, a hpack.HeaderField) bool { return s.Name == a.Name && s.Value == a.Value })
			if session.Get(e.Headers, ":authority") != "proxy.local" || session.Get(e.Headers, "authorization") != "" || !same {
				t.Fatalf("stream %d is logged as\n%.300v\n%.300v", e.H2, e.Headers, e.Sent)
			}
		}
		if opens != len(arrived) || opens != 100 {
			t.Fatalf("%d streams are logged, %d arrived", opens, len(arrived))
		}
		w.stop()
	}
}

// A client that cannot be followed is cut off, and told why in the log; what
// came before has arrived.
func TestRewritingGivesUp(t *testing.T) {
	w := rewriting(t, 0, &rewrite.Rules{Authority: "a"})
	client, server := w.dial()
	client.Write(append(grpcOpening(), "\x00\x00\x00\x09\x04\x00\x00\x00\x01"...)) // CONTINUATION out of place
	if _, err := io.ReadAll(client); err == nil {
		t.Error("the client saw a regular end")
	}
	io.ReadAll(server)
	note := w.log.await(t, "note", func(e session.Entry) bool { return e.Kind == session.KindNote && e.Note.Code == session.NoteRewrite }).Note
	if !strings.HasPrefix(note.Text, "cannot rewrite headers: HTTP/2 CONTINUATION on stream 1") || note.Hint == "" {
		t.Errorf("note is %+v", note)
	}
	w.log.await(t, "undelivered", func(e session.Entry) bool {
		return e.Kind == session.KindNote && e.Note.Code == session.NoteUndelivered && strings.HasPrefix(e.Note.Text, "9 bytes of the client")
	})
	end := w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
	if end.Side != session.Proxy || !strings.Contains(end.Status.Message, "cannot rewrite headers") {
		t.Errorf("disconnect by the %s: %s", end.Side, end.Status.Message)
	}
}

// What was held when the client ended is told of.
func TestRewritingHoldsBack(t *testing.T) {
	w := rewriting(t, 0, &rewrite.Rules{Authority: "a"})
	client, server := w.dial()
	client.Write(append([]byte(http2.ClientPreface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00"), "\x00\x00\x02\x01\x00\x00\x00\x00\x01\x82\x84"...))
	client.(halfCloser).CloseWrite()
	if got, err := io.ReadAll(server); err != nil || len(got) != len(http2.ClientPreface)+9 {
		t.Errorf("the server got %q, %v", got, err)
	}
	server.Close()
	note := w.log.await(t, "note", ofKind(session.KindNote)).Note
	if note.Code != session.NoteUndelivered || !strings.HasPrefix(note.Text, "11 bytes of the client") {
		t.Errorf("note is %+v", note)
	}
}

// A drain cuts at the same places as without rewriting.
func TestRewritingDrains(t *testing.T) {
	w := rewriting(t, 20*time.Second, &rewrite.Rules{Authority: "a"})
	client, server := w.dial()
	message := append([]byte{0, 0, 0, 0, 10}, "0123456789"...)
	first, second := dataFrame(message[:8]), append(dataFrame(message[8:]), dataFrame(message[:4])...)
	opening := grpcOpening()
	var want bytes.Buffer
	src, err := rewrite.Load(&rewrite.Rules{Authority: "a"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	src.Rewriter().Write(&want, slices.Concat(opening, first))
	before := want.Len()
	want.Write(second[:9+len(message)-8])
	client.Write(slices.Concat(opening, first))
	got := make([]byte, before)
	if _, err := io.ReadFull(server, got); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() { w.stop(); close(stopped) }()
	w.awaitDrain()
	client.Write(second)
	rest, err := io.ReadAll(server)
	if got = append(got, rest...); err != nil || !bytes.Equal(got, want.Bytes()) {
		t.Errorf("the server got %q, %v; want %q", got, err, want.Bytes())
	}
	<-stopped
	if note := w.log.await(t, "note", ofKind(session.KindNote)).Note; note.Code != session.NoteUndelivered {
		t.Errorf("what was cut off is told as %+v", note)
	}
}

func TestHeaderFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "value")
	missing := Config{Pairs: []Pair{{Listen: loopback, Upstream: loopback, Rewrite: &rewrite.Rules{Headers: []rewrite.Header{{Name: "x", File: path}}}}}}
	if p, err := Listen(missing); err == nil {
		p.Close()
		t.Fatal("a file that does not exist is taken")
	} else if e := (*rewrite.Error)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), path+": no such file") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := rewriting(t, 0, &rewrite.Rules{Headers: []rewrite.Header{{Name: "x", File: path}}})
	os.Remove(path)
	for range 2 {
		client, server := w.dial()
		client.Write(grpcOpening())
		fr := http2.NewFramer(nil, server)
		io.CopyN(io.Discard, server, int64(len(http2.ClientPreface)))
		fr.ReadFrame()
		f, err := fr.ReadFrame()
		if err != nil {
			t.Fatalf("%v, %v", f, err)
		}
		client.Close()
	}
	w.stop()
	var notes []string
	for _, e := range w.log.all() {
		if e.Note != nil && e.Note.Code == session.NoteRewrite {
			notes = append(notes, e.Note.Text)
		}
		if e.Kind == session.KindOpen && session.Get(e.Sent, "x") != "old" {
			t.Errorf("sent %v", e.Sent)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "no such file or directory; it stays what it was") {
		t.Errorf("notes are %q", notes)
	}
}

// A REST client and its server, in HTTP/1.1: bodies of both kinds, one request
// after another on a connection.
func TestRewritingHTTP1(t *testing.T) {
	type request struct{ host, team, path, body string }
	var got []request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, request{r.Host, strings.Join(r.Header.Values("X-Team"), "+"), r.URL.Path, string(body)})
		fmt.Fprintf(w, "answer %d", len(got))
	}))
	defer server.Close()
	w := &world{t: t, log: &memoryLog{}, with: []func(*Pair){func(p *Pair) {
		p.Rewrite = &rewrite.Rules{Authority: "control.example:80", Headers: []rewrite.Header{{Name: "x-team", Value: "blue"}}}
	}}}
	w.start(loopback, Addr{"tcp", server.Listener.Addr().String()}, 0)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	var want []request
	for i := range 6 {
		body := strings.Repeat(fmt.Sprint(i), 50_000*i)
		var reader io.Reader = strings.NewReader(body)
		if i%2 == 1 {
			reader = io.MultiReader(reader) // of unknown length: chunked
		}
		path := fmt.Sprintf("/v3/discovery:clusters%d", i)
		req, err := http.NewRequest(http.MethodPost, "http://"+w.proxy.Addrs()[0].String()+path, reader)
		if err != nil {
			t.Fatal(err)
		}
		req.Header["X-Team"] = []string{"red", "green"}[:i%3]
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(answer) != fmt.Sprint("answer ", i+1) {
			t.Fatalf("%q, %v", answer, err)
		}
		want = append(want, request{"control.example:80", "blue", path, body})
	}
	client.CloseIdleConnections()
	w.stop()
	if !slices.Equal(got, want) {
		t.Errorf("the server got\n%.300v\nwant\n%.300v", got, want)
	}
	opens := 0
	for _, e := range w.log.all() {
		if e.Kind == session.KindNote {
			t.Errorf("note: %+v", e.Note)
		}
		if e.Kind != session.KindOpen {
			continue
		}
		opens++
		if session.Get(e.Sent, "host") != "control.example:80" || session.Get(e.Headers, "host") == "control.example:80" || session.Get(e.Sent, "x-team") != "blue" {
			t.Errorf("logged as %v, sent as %v", e.Headers, e.Sent)
		}
	}
	if opens != len(want) {
		t.Errorf("%d requests are logged", opens)
	}
}
