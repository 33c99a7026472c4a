package rewrite

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/internal/wire"
	"github.com/xdsproxy/xdsproxy/session"
)

// allOfIt are rules of every kind, with a file of the test's own.
func allOfIt(t testing.TB) *Rules {
	t.Helper()
	path := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(path, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Rules{Authority: "other.example:443", Headers: []Header{
		{Name: "x-set", Value: "set"}, {Name: "authorization", Value: "Bearer given"}, {Name: "x-file", File: path},
	}}
}

func load(t testing.TB, r *Rules) *Source {
	t.Helper()
	s, err := Load(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// passed is what comes out, however the bytes are cut: whole, one by one, or at
// random.
func passed(r *Rewriter, in []byte, cut func(left int) int) ([]byte, error) {
	var out bytes.Buffer
	for rest := in; len(rest) > 0; {
		k := cut(len(rest))
		n, err := r.Write(&out, bytes.Clone(rest[:k]))
		if err != nil {
			return out.Bytes(), err
		}
		if n != k {
			panic("bytes were left without an error")
		}
		rest = rest[k:]
	}
	return out.Bytes(), nil
}

func whole(left int) int { return left }
func single(int) int     { return 1 }

// wanted says in another way than the rewriter what rules make of fields.
func wanted(fields []hpack.HeaderField) []hpack.HeaderField {
	set := map[string]string{"x-set": "set", "authorization": "Bearer given", "x-file": "from a file"}
	if !fields[0].IsPseudo() {
		set = nil
	}
	out, authority := []hpack.HeaderField(nil), false
	seen := map[string]bool{}
	for _, f := range fields {
		v, is := set[f.Name]
		switch {
		case is && seen[f.Name]:
			continue
		case is:
			f.Value, seen[f.Name], f.Sensitive = v, true, f.Name == "x-file"
		case set != nil && (f.Name == ":authority" || f.Name == "host"):
			f.Value, authority = "other.example:443", authority || f.Name == ":authority"
			f.Sensitive = false
		}
		out = append(out, f)
	}
	if set != nil && !authority {
		i := slices.IndexFunc(out, func(f hpack.HeaderField) bool { return !f.IsPseudo() })
		out = slices.Insert(out, i, hpack.HeaderField{Name: ":authority", Value: "other.example:443"})
	}
	for _, name := range []string{"x-set", "authorization", "x-file"} {
		if set != nil && !seen[name] {
			out = append(out, hpack.HeaderField{Name: name, Value: set[name], Sensitive: name == "x-file"})
		}
	}
	for i := range out {
		switch out[i].Name {
		case "authorization", "cookie":
			out[i].Sensitive = true
		}
	}
	return out
}

// What a server reads of the output is what the client sent, with other headers
// in its requests and nothing else.
func TestEverythingElseStays(t *testing.T) {
	src := load(t, allOfIt(t))
	for seed := range uint64(25) {
		c := newTraffic(seed)
		for range 120 {
			c.step()
		}
		in := c.out.Bytes()
		out, err := passed(src.Rewriter(), in, whole)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		got := receive(t, out)
		if len(got) != len(c.sent) {
			t.Fatalf("seed %d: %d frames of %d", seed, len(got), len(c.sent))
		}
		for i, want := range c.sent {
			if want.fields != nil {
				want.fields = wanted(want.fields)
			}
			g := got[i]
			if g.typ != want.typ || g.flags != want.flags || g.stream != want.stream || g.payload != want.payload || g.priority != want.priority || !slices.Equal(g.fields, want.fields) {
				t.Fatalf("seed %d, frame %d:\n%.300v\nwant\n%.300v", seed, i, g, want)
			}
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		for name, cut := range map[string]func(int) int{
			"one by one": single, "cut at random": func(left int) int { return 1 + rng.IntN(min(left, 1<<rng.IntN(15))) },
		} {
			if again, err := passed(src.Rewriter(), in, cut); err != nil || !bytes.Equal(again, out) {
				t.Fatalf("seed %d, %s: other bytes, %v", seed, name, err)
			}
		}
	}
}

// opens are the requests that a tap sees, with what it is told of them.
type opens []session.Entry

func (o *opens) Append(e session.Entry) session.Seq {
	if e.Kind == session.KindOpen || e.Kind == session.KindNote {
		*o = append(*o, e)
	}
	return 1
}

func tapOn(o *opens, sent func(uint32, []session.Field) []session.Field) *wire.Tap {
	var ids session.StreamID
	return wire.NewTap(wire.Config{
		Conn: 1, Sink: o, Memory: wire.NewMemory(1 << 20), Sent: sent,
		NewStream: func() session.StreamID { ids++; return ids },
	})
}

// told feeds a tap and then a rewriter, as the proxy does, and compares what the
// tap was told with what a tap behind the rewriter sees.
func told(t *testing.T, src *Source, in []byte, cut func(int) int) {
	t.Helper()
	r := src.Rewriter()
	var before, after opens
	front, back := tapOn(&before, r.Sent), tapOn(&after, nil)
	at := time.Unix(1, 0)
	for rest := in; len(rest) > 0; {
		k := cut(len(rest))
		front.Feed(session.Client, at, rest[:k])
		var out bytes.Buffer
		_, err := r.Write(&out, rest[:k])
		back.Feed(session.Client, at, out.Bytes())
		if err != nil {
			return
		}
		rest = rest[k:]
	}
	if r.frozen != nil {
		t.Errorf("values of %d requests are kept", len(r.frozen))
	}
	if len(before) != len(after) {
		t.Fatalf("%d requests were announced, %d sent", len(before), len(after))
	}
	plain := func(fields []session.Field) (out []session.Field) {
		for _, f := range fields {
			out = append(out, session.Field{Name: f.Name, Value: f.Value})
		}
		return out
	}
	for i, e := range before {
		sent := plain(e.Sent)
		if e.Sent == nil {
			sent = e.Headers
		} else if slices.Equal(sent, e.Headers) {
			t.Errorf("stream %d is said to be rewritten, and is the same", e.H2)
		}
		if e.Kind != after[i].Kind || e.H2 != after[i].H2 || !slices.Equal(sent, after[i].Headers) {
			t.Fatalf("logged as sent on stream %d:\n%v\nbut sent:\n%v", e.H2, sent, after[i].Headers)
		}
	}
}

func TestWhatIsLoggedIsSent(t *testing.T) {
	for name, rules := range map[string]*Rules{"all": allOfIt(t), "none": {}, "one": {Headers: []Header{{Name: "x-set", Value: ""}}}} {
		src := load(t, rules)
		for seed := range uint64(20) {
			c := newTraffic(seed)
			for range 100 {
				c.step()
			}
			rng := rand.New(rand.NewPCG(seed, 1))
			told(t, src, c.out.Bytes(), func(left int) int { return 1 + rng.IntN(min(left, 5000)) })
		}
		for _, in := range requests1() {
			told(t, src, []byte(in), whole)
			told(t, src, []byte(in), single)
		}
		_ = name
	}
}

// A file that changes between the tap and the write does not make the log lie.
func TestValuesAreFrozen(t *testing.T) {
	rules := allOfIt(t)
	src := load(t, rules)
	r := src.Rewriter()
	path := rules.Headers[2].File
	c := newTraffic(1)
	c.headers(1, []hpack.HeaderField{{Name: ":method", Value: "POST"}}, false)
	c.headers(3, []hpack.HeaderField{{Name: ":method", Value: "POST"}}, false)
	sent := r.Sent(1, []session.Field{{Name: ":method", Value: "POST"}})
	if err := os.WriteFile(path, []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := passed(r, c.out.Bytes(), whole)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"from a file", "another"} {
		f := receive(t, out)[i+1].fields
		if got := f[len(f)-1]; got.Name != "x-file" || got.Value != want || !got.Sensitive {
			t.Errorf("request %d has %v, want %q", i, got, want)
		}
	}
	if got := session.Get(sent, "x-file"); got != "from a file" || !sent[len(sent)-1].Secret {
		t.Errorf("announced is %+v", sent)
	}
}

// A stream that a client opens without a request is passed on, and what was announced of
// those that follow is not kept for it.
func TestOpenedWithoutARequest(t *testing.T) {
	for _, fields := range [][]hpack.HeaderField{nil, {{Name: "x-late", Value: "1"}}} {
		c := newTraffic(1)
		c.headers(1, fields, false)
		for id := uint32(3); id < 9; id += 2 {
			c.headers(id, []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: "/s/M"}}, false)
		}
		src := load(t, allOfIt(t))
		r := src.Rewriter()
		if sent := r.Sent(1, plainFields(fields)); sent != nil {
			t.Errorf("%v is said to go on as %v", fields, sent)
		}
		told(t, src, c.out.Bytes(), whole)
	}
}

func plainFields(fields []hpack.HeaderField) (out []session.Field) {
	for _, f := range fields {
		out = append(out, session.Field{Name: f.Name, Value: f.Value})
	}
	return out
}

// The first block lowers the table before anything else, so that a server that
// allows none is content.
func TestTableOfSizeZero(t *testing.T) {
	c := newTraffic(1)
	for range 3 {
		c.headers(c.next, []hpack.HeaderField{{Name: ":method", Value: "POST"}, {Name: "x-a", Value: "b"}}, false)
		c.next += 2
	}
	out, err := passed(load(t, allOfIt(t)).Rewriter(), c.out.Bytes(), whole)
	if err != nil {
		t.Fatal(err)
	}
	fr := http2.NewFramer(nil, bytes.NewReader(out[len(preface):]))
	var blocks [][]byte
	dec := hpack.NewDecoder(4096, nil)
	dec.SetAllowedMaxDynamicTableSize(0) // as of a server with SETTINGS_HEADER_TABLE_SIZE 0
	for {
		f, err := fr.ReadFrame()
		if err != nil {
			break
		}
		if h, ok := f.(*http2.HeadersFrame); ok {
			blocks = append(blocks, bytes.Clone(h.HeaderBlockFragment()))
			if _, err := dec.DecodeFull(h.HeaderBlockFragment()); err != nil {
				t.Error(err)
			}
		}
	}
	if len(blocks) != 3 || blocks[0][0] != 0x20 || bytes.IndexByte(blocks[1][:1], 0x20) == 0 || !bytes.Equal(blocks[1], blocks[2]) {
		t.Errorf("blocks %x", blocks)
	}
}

func TestNotFollowed(t *testing.T) {
	head := func(typ byte, flags byte, stream byte, payload string) string {
		return string([]byte{0, byte(len(payload) >> 8), byte(len(payload)), typ, flags, 0, 0, 0, stream}) + payload
	}
	opening := preface + head(4, 0, 0, "")
	bomb := newTraffic(1)
	long := hpack.HeaderField{Name: "n", Value: strings.Repeat("v", 3000)}
	bomb.headers(1, slices.Repeat([]hpack.HeaderField{{Name: ":path", Value: "/"}, long}, 40), false)
	for want, in := range map[string]string{
		"neither HTTP/2 nor":         "\x00\x01\x02",
		"speaks TLS":                 "\x16\x03\x01",
		"not SETTINGS":               preface + head(0, 0, 1, "x"),
		"without a header block":     opening + head(9, 4, 1, ""),
		"HEADERS on stream 0":        opening + head(1, 4, 0, "\x82"),
		"is too short":               opening + head(1, 4|0x20, 1, "\x00\x00"),
		"more padding than bytes":    opening + head(1, 4|8, 1, "\x05ab"),
		"PUSH_PROMISE":               opening + head(5, 4, 1, "\x00\x00\x00\x02\x82"),
		"inside the header block":    opening + head(1, 0, 1, "\x82") + head(0, 0, 1, ""),
		"cannot be decoded":          opening + head(1, 4, 1, "\xff\xff\xff\xff\x7f"),
		"inside a table size update": opening + head(1, 4, 1, "\x3f"),
		"longer than 262144 bytes":   opening + head(1, 0, 1, "\x82") + strings.Repeat(head(9, 0, 1, ""), 1<<15),
		"longer than 65536 bytes":    bomb.out.String(),
		"of stream 3 is":             opening + head(1, 0, 3, "") + strings.Repeat(head(9, 0, 3, strings.Repeat("\x00", 16000)), 20),
		"header section":             "GET / HTTP/1.1\r\nx: " + strings.Repeat("x", 70_000),
		"in another protocol":        "GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n",
		"names the server":           "GET http://a/ HTTP/1.1\r\n\r\n",
		"a length and is chunked":    "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		"two lengths":                "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
		"other than chunked":         "POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n",
		"is not a number":            "POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n",
		"has no size":                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		"longer than its size":       "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		"is not one":                 "GET / HTTP/1.1\r\nx: a\r\n folded\r\n\r\n",
	} {
		for name, cut := range map[string]func(int) int{"whole": whole, "one by one": single} {
			_, err := passed(load(t, allOfIt(t)).Rewriter(), []byte(in), cut)
			if err == nil || !strings.HasPrefix(err.Error(), "cannot rewrite headers: ") || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
		}
	}
}

// Held says how much would be lost if the client stopped here.
func TestHeld(t *testing.T) {
	c := newTraffic(3)
	c.headers(1, []hpack.HeaderField{{Name: ":method", Value: "POST"}}, false)
	in := c.out.Bytes()
	end := len(preface) + 15 // of SETTINGS with one parameter
	r := load(t, allOfIt(t)).Rewriter()
	var out bytes.Buffer
	for i, b := range in {
		if _, err := r.Write(&out, []byte{b}); err != nil {
			t.Fatal(err)
		}
		want := 0
		switch n := i + 1; {
		case n < len(preface):
			want = n
		case n < len(preface)+9:
			want = n - len(preface)
		case n >= end && n < len(in):
			want = n - end
		}
		if r.Held() != want {
			t.Fatalf("%d held after %d bytes, want %d", r.Held(), i+1, want)
		}
	}
}

// DATA costs no memory.
func TestDataIsNotCopied(t *testing.T) {
	c := newTraffic(3)
	c.headers(1, []hpack.HeaderField{{Name: ":method", Value: "POST"}}, false)
	r := load(t, allOfIt(t)).Rewriter()
	if _, err := passed(r, c.out.Bytes(), whole); err != nil {
		t.Fatal(err)
	}
	c.out.Reset()
	for range 100 {
		c.framer.WriteData(1, false, []byte("message"))
	}
	p, w := c.out.Bytes(), &lastWrite{}
	if n := testing.AllocsPerRun(100, func() { r.Write(w, p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if w.n != len(p) || w.first != &p[0] {
		t.Error("it was not written in one piece, from where it was")
	}
}

type lastWrite struct {
	first *byte
	n     int
}

func (w *lastWrite) Write(p []byte) (int, error) {
	w.first, w.n = &p[0], len(p)
	return len(p), nil
}
