package input

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

func testOpener(t testing.TB) *Opener {
	return &Opener{Console: &console.Console{Ctx: t.Context(), Stderr: t.Output()}}
}

const clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// longStream is a recording of one stream that lives long, in many blocks.
func longStream(t testing.TB, pushes, size int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "long.xdsp")
	log, err := recorder.Create(path, store.Live(true, new(session.Buffers).Put))
	if err != nil {
		t.Fatal(err)
	}
	written := func() {
		for log.Stats().Queued > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	message := func(side session.Side, m proto.Message) {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		log.Append(session.Entry{
			Conn: 1, Stream: 1, Kind: session.KindMessage, Side: side,
			Message: &session.Message{Data: session.Chunks{b}, Size: int64(len(b)), WireSize: int64(len(b))},
		})
		if log.Stats().Queued > 8<<20 {
			written() // a queue that is full would drop entries
		}
	}
	log.Append(session.Entry{Conn: 1, Kind: session.KindConnect, Side: session.Client, Peer: &session.Peer{Client: "a", Upstream: "b"}})
	log.Append(session.Entry{
		Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client,
		Method:  "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
		Headers: []session.Field{{Name: "content-type", Value: "application/grpc"}},
	})
	message(session.Client, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, Node: &corev3.Node{Id: "long-lived"}})
	log.Append(session.Entry{Conn: 1, Stream: 1, Kind: session.KindHeader, Side: session.Server, Headers: []session.Field{{Name: ":status", Value: "200"}}})
	written() // so that only the first block has beginnings
	random := rand.New(rand.NewPCG(1, 2))
	for i := range pushes {
		body := make([]byte, size)
		for j := 0; j+8 < size; j += 8 {
			body[j] = byte(random.Uint32())
		}
		nonce := fmt.Sprint("n", i)
		message(session.Server, &discoveryv3.DiscoveryResponse{
			TypeUrl: clusterURL, VersionInfo: fmt.Sprint(i), Nonce: nonce,
			Resources: []*anypb.Any{{TypeUrl: clusterURL, Value: body}},
		})
		message(session.Client, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, VersionInfo: fmt.Sprint(i), ResponseNonce: nonce})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if s := log.Stats(); s.Lost > 0 {
		t.Fatalf("%d entries were lost", s.Lost)
	}
	return path
}

// Going straight to entries says the same of them as reading everything, and
// reads little else.
func TestWalkGoesStraight(t *testing.T) {
	path := longStream(t, 2000, 8<<10)
	walked := func(spans []filter.Span) (lines map[session.Seq]string, visits int) {
		src, err := testOpener(t).Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		lines = map[session.Seq]string{}
		err = Walk(t.Context(), src, spans, nil, check.NewTracker(nil), func(e *session.Entry, c *check.Change) error {
			visits++
			line, err := render.NewObject(e, c).Line()
			if slices.ContainsFunc(spans, func(s filter.Span) bool { return s.Has(e.Seq) }) {
				lines[e.Seq] = string(line)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return lines, visits
	}
	all, _ := walked(filter.Everything())
	for _, spans := range [][]filter.Span{
		{{First: 3, Last: 5}},
		{{First: 3000, Last: 3000}},
		{{First: 100, Last: 110}, {First: 2001, Last: 2002}, {First: 3900, Last: 3999}},
		{{First: 3990, Last: filter.NoLimit}},
		{{First: 50, Last: 52}, {First: 80, Last: 81}},
	} {
		want := 0
		for seq := range all {
			if slices.ContainsFunc(spans, func(s filter.Span) bool { return s.Has(seq) }) {
				want++
			}
		}
		got, visits := walked(spans)
		if len(got) != want || want == 0 {
			t.Errorf("%v: %d entries, not %d", spans, len(got), want)
		}
		for seq, line := range got {
			if line != all[seq] {
				t.Errorf("%v: %d is\n%s, not\n%s", spans, seq, line, all[seq])
			}
		}
		// Others are those in the first block, and those before each span.
		if most := want + 5 + len(spans)*leadIn; visits > most {
			t.Errorf("%v: %d entries were read to give %d", spans, visits, want)
		}
	}
}
