package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// The captures are fixtures of package wire: the bytes of one connection in
// each direction (client.bin, server.bin), the order in which pieces of them
// were read (order.json), and the control plane's own account of the streams
// on it (account.json). They are taken anew with
//
//	go test ./internal/e2e -run TestCaptures -capture ../wire/testdata/captures
var captureTo = flag.String("capture", "", "take the captures anew and write them into this directory")

const captures = "../wire/testdata/captures"

// captureLimit keeps the fixtures small. Most of an Envoy's is its node, with
// the names of all its extensions.
const captureLimit = 70_000

// captureStream is one stream in account.json.
type captureStream struct {
	Stream   int                 `json:"stream"` // from 1, in the order of opening
	Method   string              `json:"method"`
	Headers  map[string][]string `json:"headers"` // as grpc-go shows them to a handler
	Messages []captureMessage    `json:"messages"`
	Status   struct {
		Code    uint32 `json:"code"`
		Message string `json:"message"`
	} `json:"status"` // as the server sent it
}

type captureMessage struct {
	Side   string `json:"side"`
	Len    int    `json:"len"`
	SHA256 string `json:"sha256"`
}

func TestCaptures(t *testing.T) {
	dir := captures
	if *captureTo != "" {
		dir = *captureTo
		for _, v := range variants()[:2] { // per-type streams repeat the node on each
			takeCapture(t, filepath.Join(dir, "envoy-"+v.name), func(t *testing.T, c *controlPlane, addr string) {
				envoyStory(t, v, c, addr, drains)
			})
		}
		for _, impl := range implementations() {
			takeCapture(t, filepath.Join(dir, impl.name), func(t *testing.T, c *controlPlane, addr string) {
				grpcStory(t, impl, c, plainBootstrap(t, addr, c.node), drains)
			})
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "*", "account.json"))
	if err != nil || len(found) < 5 {
		t.Fatalf("captures in %s: %v %v", dir, found, err)
	}
	for _, f := range found {
		t.Run(filepath.Base(filepath.Dir(f)), func(t *testing.T) { checkCapture(t, filepath.Dir(f)) })
	}
}

func takeCapture(t *testing.T, dir string, story func(t *testing.T, c *controlPlane, addr string)) {
	t.Helper()
	c := startControlPlane(t, "node-1")
	p := startPipe(t, c.Addr())
	story(t, c, p.addr)
	tp := p.first(t)
	account, err := json.MarshalIndent(map[string]any{"streams": captureStreams(c.account)}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	order, err := json.Marshal(tp.order)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"client.bin": tp.client, "server.bin": tp.server,
		"account.json": append(account, '\n'), "order.json": append(order, '\n'),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// captureStreams is the account of the streams of its first connection.
func captureStreams(a *xdstest.Account) []*captureStream {
	var out []*captureStream
	byStream, peer := map[int]*captureStream{}, ""
	for _, r := range a.Records() {
		s := byStream[r.Stream]
		switch {
		case r.Kind == session.KindOpen && (peer == "" || peer == r.Peer):
			peer = r.Peer
			s = &captureStream{Stream: r.Stream, Method: r.Method, Headers: r.Metadata}
			byStream[r.Stream] = s
			out = append(out, s)
		case s == nil: // of another connection
		case r.Kind == session.KindMessage:
			s.Messages = append(s.Messages, captureMessage{r.Side.String(), r.Len, hex.EncodeToString(r.Sum[:])})
		case r.Kind == session.KindTrailer:
			s.Status.Code, s.Status.Message = uint32(r.Code), r.Text
		}
	}
	return out
}

// checkCapture holds the bytes of a capture against the account beside them,
// with a reader of HTTP/2 that the proxy does not use.
func checkCapture(t *testing.T, dir string) {
	file := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	client, server := file("client.bin"), file("server.bin")
	if n := len(client) + len(server); n > captureLimit {
		t.Errorf("%d bytes; a fixture may have %d", n, captureLimit)
	}
	var order []read
	if err := json.Unmarshal(file("order.json"), &order); err != nil {
		t.Fatal(err)
	}
	sum := map[string]int{}
	for _, r := range order {
		sum[r.Side] += r.N
	}
	if want := map[string]int{"client": len(client), "server": len(server)}; !maps.Equal(sum, want) {
		t.Errorf("order.json accounts for %v bytes of %v", sum, want)
	}
	var account struct{ Streams []captureStream }
	if err := json.Unmarshal(file("account.json"), &account); err != nil {
		t.Fatal(err)
	}

	rest, ok := bytes.CutPrefix(client, []byte(http2.ClientPreface))
	if !ok {
		t.Fatal("client.bin does not begin with the preface")
	}
	sent := map[string]map[uint32][]captureMessage{"client": messagesIn(t, rest, "client"), "server": messagesIn(t, server, "server")}
	ids := slices.Sorted(maps.Keys(sent["client"]))
	if len(ids) != len(account.Streams) {
		t.Fatalf("%d streams in the bytes, %d on the account", len(ids), len(account.Streams))
	}
	for i, s := range account.Streams {
		for side, streams := range sent {
			var want []captureMessage
			for _, m := range s.Messages {
				if m.Side == side {
					want = append(want, m)
				}
			}
			if got := streams[ids[i]]; !slices.Equal(got, want) {
				t.Errorf("stream %d (%s): messages of the %s\nin the bytes:   %v\non the account: %v", s.Stream, s.Method, side, got, want)
			}
		}
	}
}

// messagesIn reads frames and puts gRPC messages together, by HTTP/2 stream.
func messagesIn(t *testing.T, data []byte, side string) map[uint32][]captureMessage {
	t.Helper()
	framer := http2.NewFramer(io.Discard, bytes.NewReader(data))
	framer.SetMaxReadFrameSize(1 << 24)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	pending, out := map[uint32][]byte{}, map[uint32][]captureMessage{}
	for {
		f, err := framer.ReadFrame()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("bytes of the %s: %v", side, err)
		}
		d, ok := f.(*http2.DataFrame)
		if !ok {
			continue
		}
		id := d.StreamID
		buf := append(pending[id], d.Data()...)
		for len(buf) >= 5 {
			n := 5 + int(binary.BigEndian.Uint32(buf[1:5]))
			if len(buf) < n {
				break
			}
			sum := sha256.Sum256(buf[5:n])
			out[id] = append(out[id], captureMessage{side, n - 5, hex.EncodeToString(sum[:])})
			buf = buf[n:]
		}
		pending[id] = slices.Clone(buf)
	}
}
