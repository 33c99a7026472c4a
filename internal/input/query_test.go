package input

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	loadv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// talk is a recording of random conversations, in many blocks: several clients
// on several connections, some of which share one, load reports and polls, with
// gaps, streams whose beginning is missing, and messages after the end.
type talk struct {
	t       testing.TB
	random  *rand.Rand
	log     *recorder.Log
	streams []*talkStream
	last    session.StreamID
}

type talkStream struct {
	conn    session.ConnID
	id      session.StreamID
	path    string
	node    string
	nonces  []string
	named   bool
	ended   bool
	reports bool
}

var talkPaths = []string{
	"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
	"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
	"/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
	"/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints",
	"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats",
}

func (k *talk) append(s *talkStream, side session.Side, kind session.Kind, change func(*session.Entry)) {
	e := session.Entry{Conn: s.conn, Stream: s.id, Side: side, Kind: kind}
	if change != nil {
		change(&e)
	}
	k.log.Append(e)
}

func (k *talk) message(s *talkStream, side session.Side, m proto.Message) {
	b, err := proto.Marshal(m)
	if err != nil {
		k.t.Fatal(err)
	}
	k.bytes(s, side, b)
}

func (k *talk) bytes(s *talkStream, side session.Side, b []byte) {
	k.append(s, side, session.KindMessage, func(e *session.Entry) {
		e.Message = &session.Message{Data: session.Chunks{b}, Size: int64(len(b)), WireSize: int64(len(b)), Truncated: k.random.IntN(50) == 0}
	})
}

func (k *talk) open() {
	k.last++
	s := &talkStream{id: k.last, conn: session.ConnID(1 + k.random.IntN(6)), path: talkPaths[k.random.IntN(len(talkPaths))]}
	s.node = fmt.Sprint("n", s.conn)
	switch k.random.IntN(6) {
	case 0:
		s.node = fmt.Sprint("n", 1+k.random.IntN(8))
	case 1:
		s.node = ""
	}
	s.reports = strings.HasSuffix(s.path, "StreamLoadStats")
	if k.random.IntN(8) > 0 {
		k.append(s, session.Client, session.KindOpen, func(e *session.Entry) { e.Method = s.path })
		k.append(s, session.Server, session.KindHeader, nil)
	}
	k.streams = append(k.streams, s)
}

func (k *talk) say(s *talkStream, url string) {
	if strings.HasSuffix(s.path, "StreamEndpoints") {
		url = ""
	}
	var node *corev3.Node
	if s.node != "" && (!s.named || k.random.IntN(10) == 0) {
		node, s.named = &corev3.Node{Id: s.node}, true
	}
	name := fmt.Sprint("r", k.random.IntN(3))
	if s.reports {
		k.message(s, session.Client, &loadv3.LoadStatsRequest{Node: node})
		return
	}
	delta := strings.Contains(s.path, "Delta")
	if k.random.IntN(2) == 0 {
		s.nonces = append(s.nonces, fmt.Sprint("x", k.random.Uint32()))
		nonce := s.nonces[len(s.nonces)-1]
		if delta {
			k.message(s, session.Server, &discoveryv3.DeltaDiscoveryResponse{TypeUrl: url, Nonce: nonce})
		} else {
			k.message(s, session.Server, &discoveryv3.DiscoveryResponse{TypeUrl: url, VersionInfo: "1", Nonce: nonce, Resources: []*anypb.Any{{TypeUrl: url}}})
		}
		return
	}
	nonce := ""
	if n := len(s.nonces); n > 0 && k.random.IntN(4) > 0 {
		nonce = s.nonces[max(0, n-1-k.random.IntN(3))]
	}
	if delta {
		k.message(s, session.Client, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, ResponseNonce: nonce, Node: node, ResourceNamesSubscribe: []string{name}})
	} else {
		k.message(s, session.Client, &discoveryv3.DiscoveryRequest{TypeUrl: url, VersionInfo: "1", ResponseNonce: nonce, Node: node, ResourceNames: []string{name}})
	}
}

func (k *talk) poll() {
	k.last++
	s := &talkStream{id: k.last, conn: 7, node: fmt.Sprint("n", 7+k.random.IntN(2))}
	k.append(s, session.Client, session.KindOpen, func(e *session.Entry) { e.Method = "/v3/discovery:clusters" })
	k.bytes(s, session.Client, fmt.Appendf(nil, `{"node":{"id":%q},"resource_names":["r%d"]}`, s.node, k.random.IntN(3)))
	k.bytes(s, session.Server, []byte(`{"version_info":"1","resources":[]}`))
	k.append(s, session.Server, session.KindTrailer, nil)
}

func (k *talk) step() {
	switch n := k.random.IntN(30); {
	case len(k.streams) == 0 || n == 0:
		k.open()
	case n == 1:
		k.poll()
	case n == 2:
		s := k.streams[k.random.IntN(len(k.streams))]
		if !s.ended {
			k.append(s, session.Server, session.KindTrailer, func(e *session.Entry) { e.Status = &session.Status{} })
			s.ended = true
		}
	case n == 3:
		s := k.streams[k.random.IntN(len(k.streams))]
		k.log.Append(session.Entry{Kind: session.KindGap, Side: session.Proxy, Gap: &session.Gap{First: 1, Last: 1, Entries: 1, Streams: []session.StreamID{s.id}}})
	case n == 4 && k.random.IntN(4) == 0:
		conn := session.ConnID(1 + k.random.IntN(6))
		k.log.Append(session.Entry{Conn: conn, Side: session.Client, Kind: session.KindDisconnect})
		live := k.streams[:0]
		for _, s := range k.streams {
			if s.conn != conn {
				live = append(live, s)
			}
		}
		k.streams = live
	default:
		s := k.streams[k.random.IntN(len(k.streams))]
		if !s.ended || k.random.IntN(5) == 0 {
			url := []string{clusterURL, "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"}[k.random.IntN(2)]
			for range 1 + k.random.IntN(12) { // in a row, so that blocks differ
				k.say(s, url)
			}
		}
	}
}

func recordTalk(t testing.TB, seed uint64) string {
	path := filepath.Join(t.TempDir(), "talk.xdsp")
	log, err := recorder.Create(path, store.Live(true, new(session.Buffers).Put))
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{t: t, random: rand.New(rand.NewPCG(seed, 1)), log: log}
	for range 80 {
		for range 2 {
			k.step()
		}
		for log.Stats().Queued > 0 {
			time.Sleep(time.Millisecond) // what follows is in another block
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// asked runs a query and returns what it finds, as lines for machines and for
// people, and how many entries were read.
func asked(t *testing.T, path, text string, straight bool) (lines []string, read int) {
	t.Helper()
	q, err := ParseQuery(text)
	if err != nil {
		t.Fatal(err)
	}
	src, err := testOpener(t).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	src.File = straight
	err = q.In(t.Context(), src, filter.Everything(), func(e *session.Entry, c *check.Change, wanted bool) error {
		read++
		if !wanted {
			return nil
		}
		line, err := render.NewObject(e, c).Line()
		lines = append(lines, fmt.Sprint(string(line), q.Table.Line(e, c), c.Uncertain, c.Answers, c.Waited, c.Node))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, read
}

// Labels say what watch says, and what is left out because of them changes
// nothing of what is found.
func TestQueryLeavesOutOnlyWhatDoesNotMatter(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			path := recordTalk(t, seed)
			labelsAgree(t, path)
			texts := []string{
				"type:cds", "type:eds kind:ack,sub", "client:*", "type:cds client:n2,n7", "client:n1 kind:ack seq:..400",
				"client:n3 -type:cds", "client:n1 r1 -r2",
			}
			for n := range 9 {
				texts = append(texts, fmt.Sprint("client:n", n), fmt.Sprintf("client:n%d type:eds", n))
			}
			saved := 0
			for _, text := range texts {
				want, all := asked(t, path, text, false)
				got, read := asked(t, path, text, true)
				if len(got) != len(want) {
					t.Errorf("%s finds %d entries, not %d", text, len(got), len(want))
				}
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Errorf("%s finds\n%s\nnot\n%s", text, got[i], want[i])
						break
					}
				}
				saved += all - read
			}
			if saved < 500 {
				t.Errorf("only %d entries were left out", saved)
			}
		})
	}
}

// A query goes straight to numbers and times, except where what it asks is told
// from what was said before.
func TestQueryGoesStraight(t *testing.T) {
	path := longStream(t, 2000, 8<<10)
	for text, straight := range map[string]bool{
		"seq:3000..3010":                            true,
		"seq:3000..3010 kind:resp":                  true,
		"seq:3000..3010 -kind:nack client:long-*":   true,
		"seq:3000..3010 node.id:long-lived":         true,
		"seq:3000..3010 -rejected":                  true,
		"seq:3000..3010 -text:rejected":             true,
		"seq:3000..3010 kind:ack":                   false,
		"seq:3000..3010 ack:>0s":                    false,
		"seq:3000..3010 -rule:nack-received":        false,
		"seq:3000..3010 client:long-lived type:cds": true,
	} {
		want, all := asked(t, path, text, false)
		got, read := asked(t, path, text, true)
		if len(got) != len(want) || len(want) < 5 || straight != (read < all/10) {
			t.Errorf("%s finds %d entries, not %d, and reads %d of %d", text, len(got), len(want), read, all)
		}
		if !straight && strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("%s finds\n%s\nnot\n%s", text, got, want)
		}
	}
	// What is after the end of a search is not read, nor waited for.
	if _, read := asked(t, path, "seq:..5 client:nobody", true); read > 1000 {
		t.Errorf("%d entries were read", read)
	}
	// Nor is anything where the recording ends before it begins.
	if _, read := asked(t, path, "at:2200-01-01", true); read > leadIn+10 {
		t.Errorf("%d entries were read", read)
	}
	lines, _ := asked(t, path, "since:0s", true)
	if len(lines) == 0 || !strings.Contains(lines[len(lines)-1], `"seq":400`) {
		t.Errorf("the end of the recording is %q", lines)
	}
}

// A filter says by itself between which times its entries are, where it does.
func TestBetween(t *testing.T) {
	for text, want := range map[string]string{
		"":                           " ",
		"kind:nack":                  " ",
		"since:2026-11-26T10:00:00Z": "2026-11-26T10:00:00Z ",
		"at:2026-11-26T10:00:00Z..2026-11-27T00:00:00Z": "2026-11-26T10:00:00Z 2026-11-27T00:00:00Z",
		"since:12:41":                         " ",
		"seq:4..9":                            " ",
		"seq:4..9 since:2026-11-26T10:00:00Z": " ",
	} {
		q, err := ParseQuery(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		since, until := q.Between()
		got := ""
		if !since.IsZero() {
			got = since.UTC().Format(time.RFC3339)
		}
		got += " "
		if !until.IsZero() {
			got += until.UTC().Add(-time.Second).Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}
