package input

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/fleet"
	"github.com/xdsproxy/xdsproxy/internal/objects"
	"github.com/xdsproxy/xdsproxy/internal/objects/s3test"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// busy writes a recording of clients that come, are pushed to, answer, and come
// again, with random bytes in each push, in segments of so many bytes if not 0.
func busy(t testing.TB, path string, clients, pushes, bytes int, segment int64) {
	t.Helper()
	o := store.Live(true, new(session.Buffers).Put)
	o.NoTicks, o.MaxSize = true, segment
	if segment > 0 {
		carry, transform := engine.New(engine.Options{Envelopes: true, Past: 1 << 20}), o.Transform
		o.Carry = carry.Needed
		o.Transform = func(e *session.Entry) {
			transform(e)
			carry.Step(e)
		}
	}
	log, err := recorder.Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	at, conns, rng := time.Unix(1_800_000_000, 0), 0, rand.NewChaCha8([32]byte{7})
	add := func(e session.Entry) {
		at = at.Add(time.Millisecond)
		e.Time = at
		log.Append(e)
		for log.Stats().Queued > 256<<10 {
			time.Sleep(100 * time.Microsecond)
		}
	}
	said := func(c int, side session.Side, b []byte) {
		add(session.Entry{Conn: session.ConnID(c), Stream: session.StreamID(c), H2: 1, Side: side, Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{b}, Size: int64(len(b)), WireSize: int64(len(b))}})
	}
	begin := func(client int) int {
		conns++
		add(session.Entry{Conn: session.ConnID(conns), Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: "10.0.0.1:4000"}})
		add(session.Entry{Conn: session.ConnID(conns), Stream: session.StreamID(conns), H2: 1, Side: session.Client, Kind: session.KindOpen, Method: "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"})
		q := synth.Request{TypeURL: clusterURL, Node: &decode.Node{ID: fmt.Sprintf("gw-%d", client), Cluster: "web"}}
		said(conns, session.Client, q.Marshal())
		return conns
	}
	now := make([]int, clients)
	for i := range now {
		now[i] = begin(i)
	}
	for push := range pushes {
		for i := range now {
			if (push*clients+i)%97 == 96 {
				add(session.Entry{Conn: session.ConnID(now[i]), Stream: session.StreamID(now[i]), Side: session.Client, Kind: session.KindCancel})
				add(session.Entry{Conn: session.ConnID(now[i]), Side: session.Client, Kind: session.KindDisconnect})
				now[i] = begin(i)
			}
			content := make([]byte, bytes/2)
			_, _ = rng.Read(content)
			cluster := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Sprintf("c-%d", i))
			cluster = protowire.AppendString(protowire.AppendTag(cluster, 28, protowire.BytesType), fmt.Sprintf("%x", content))
			r := &discoveryv3.DiscoveryResponse{TypeUrl: clusterURL, VersionInfo: fmt.Sprint(push), Nonce: fmt.Sprintf("%d-%d", push, i), Resources: []*anypb.Any{{TypeUrl: clusterURL, Value: cluster}}}
			response, err := proto.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			said(now[i], session.Server, response)
			q := synth.Request{TypeURL: clusterURL, Version: r.VersionInfo, Nonce: r.Nonce}
			if (push+i)%13 == 0 {
				q.Version, q.Error = "before", &decode.Error{Code: 13, Message: "no"}
			}
			said(now[i], session.Client, q.Marshal())
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// shown is the document of an entry, as show makes it, or what was said instead.
func shown(t testing.TB, src *Source, seq session.Seq) string {
	t.Helper()
	q, err := ParseQuery("")
	if err != nil {
		t.Fatal(err)
	}
	s := &Selection{}
	if err := s.Add(fmt.Sprint(seq)); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Aim(s.Spans); err != nil {
		t.Fatal(err)
	}
	out := "nothing"
	err = q.In(t.Context(), src, []filter.Span{{First: seq, Last: filter.NoLimit}}, func(e *session.Entry, c *check.Change, is bool) error {
		if s.Meet(e) {
			doc, err := q.Documents.Document(e, c)
			if err != nil {
				return err
			}
			out = string(doc.YAML())
		}
		if s.Done() {
			return ErrEnough
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What is shown of an entry is the same whether a recording is a file here, an
// object, or segments of one.
func TestFarShowsTheSame(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "one.xdsp")
	busy(t, path, 12, 120, 900, 0)
	again := filepath.Join(t.TempDir(), "many.xdsp")
	busy(t, again, 12, 120, 900, 150_000)
	older, _ := filepath.Glob(filepath.Join(filepath.Dir(again), "many.??????.xdsp"))
	if len(older) < 3 {
		t.Fatalf("%d segments", len(older))
	}
	facts, err := recorder.Inspect(path)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for seq := session.Seq(1); seq <= facts.LastSeq; seq += 41 {
		var texts []string
		for _, name := range []string{path, "file://" + path, "file://" + again} {
			src, err := testOpener(t).Open(name)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, shown(t, src, seq))
			_ = src.Close()
		}
		if texts[0] == "nothing" || texts[0] != texts[1] || texts[0] != texts[2] {
			if differ++; differ < 3 {
				t.Errorf("entry %d:\n%s\n--- as an object\n%s\n--- in segments\n%s", seq, texts[0], texts[1], texts[2])
			}
		}
	}
}

// One entry of a large recording takes few requests and few bytes, wherever it is.
// What it takes does not grow with the recording, but for the index.
func TestFarReadsLittle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.xdsp")
	busy(t, path, 40, 150, 4000, 0)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	facts, err := recorder.Inspect(path)
	if err != nil || info.Size() < 12<<20 {
		t.Fatalf("%d bytes, %v", info.Size(), err)
	}
	for _, part := range []session.Seq{1, 3, 10, 29, 50, 77, 99} {
		seq := max(1, facts.LastSeq*part/100)
		src, err := testOpener(t).Open("file://" + path)
		if err != nil {
			t.Fatal(err)
		}
		if text := shown(t, src, seq); !strings.Contains(text, fmt.Sprintf("seq: %d\n", seq)) {
			t.Fatalf("entry %d: %s", seq, text)
		}
		requests, bytes := src.Fetched()
		t.Logf("entry %d of %d: %d requests, %d bytes of %d", seq, facts.LastSeq, requests, bytes, info.Size())
		if requests > 16 || bytes > 1200<<10 {
			t.Errorf("entry %d: %d requests and %d bytes", seq, requests, bytes)
		}
		_ = src.Close()
	}
}

func TestFarSources(t *testing.T) {
	dir := t.TempDir()
	busy(t, filepath.Join(dir, "one.xdsp"), 2, 3, 100, 0)
	o := testOpener(t)
	for _, name := range []string{dir, dir + "/", "file://" + dir, "file://" + dir + "/", "file://" + dir + "/one.xdsp"} {
		src, err := o.Open(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if all := src.All(); all.Entries == 0 || !all.Complete {
			t.Errorf("%s: %+v", name, all)
		}
		if n := src.Notes(); n == nil {
			t.Errorf("%s: no notes", name)
		}
		_ = src.Close()
	}
	if err := os.WriteFile(filepath.Join(dir, "foreign.xdsp"), []byte("PK\x03\x04 what is this"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		dir:                               "has 2 recordings",
		"file://" + dir + "/":             "has 2 recordings",
		"file://" + dir + "/foreign.xdsp": "is not a recording",
		"file://" + dir + "/gone.xdsp":    "no recording",
		"file://" + dir + "/gone/":        "no such file",
		"file://elsewhere/x.xdsp":         "other machines",
		"s3://BAD_bucket name/x":          "",
		filepath.Join(dir, "none") + "/":  "no such file",
	} {
		_, err := o.Open(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		var text bytes.Buffer
		if f, is := errors.AsType[*console.Failure](err); is {
			f.Print(&text)
		} else {
			t.Errorf("%s: %T has no exit code", name, err)
		}
		if strings.Count(text.String(), "\n") > 7 {
			t.Errorf("%s: %s", name, text.String())
		}
	}
	for range 3 {
		if _, err := Path("s3://b/x.xdsp"); err == nil || !strings.Contains(err.Error(), "URL") {
			t.Error(err)
		}
	}
	if _, err := o.Recordings(t.Context(), dir, fleet.Options{Since: time.Now()}); err != nil {
		t.Error(err) // a path that names no day is of any day
	}
}

// Of a large recording in a bucket one entry takes few requests and few bytes, counted
// where they come from.
func TestBucketReadsLittle(t *testing.T) {
	srv := s3test.Start(t, false)
	path := filepath.Join(t.TempDir(), "large.xdsp")
	busy(t, path, 40, 100, 4000, 0)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := func() error {
		s, _, err := objects.Open("s3://fleet/", objects.Options{})
		if err != nil {
			return err
		}
		return s.Put(t.Context(), "large.xdsp", bytes.NewReader(b), int64(len(b)), nil)
	}(); err != nil {
		t.Fatal(err)
	}
	var requests, sent atomic.Int64
	srv.Stand().Set(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
		requests.Add(1)
		forward.ServeHTTP(&countingWriter{w, &sent}, r)
	})
	for _, seq := range []session.Seq{300, 4000, 8100} {
		requests.Store(0)
		sent.Store(0)
		src, err := testOpener(t).Open("s3://fleet/large.xdsp")
		if err != nil {
			t.Fatal(err)
		}
		if text := shown(t, src, seq); !strings.Contains(text, fmt.Sprintf("seq: %d\n", seq)) || !strings.Contains(text, "client: gw-") {
			t.Fatalf("entry %d: %s", seq, text)
		}
		_ = src.Close()
		t.Logf("entry %d: %d requests, %d bytes of %d", seq, requests.Load(), sent.Load(), len(b))
		if requests.Load() > 24 || sent.Load() > 1200<<10 || int64(len(b)) < 5*sent.Load() {
			t.Errorf("entry %d: %d requests and %d bytes of %d", seq, requests.Load(), sent.Load(), len(b))
		}
	}
}

type countingWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *countingWriter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}
