package admin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what rules look into
	"github.com/xdsproxy/xdsproxy/internal/admin"
	"github.com/xdsproxy/xdsproxy/session"
)

func defaultRules(t testing.TB) []*check.Rule {
	t.Helper()
	rules, unknown := check.Select(nil, nil)
	if unknown != "" {
		t.Fatal(unknown)
	}
	return rules
}

// counted holds a conversation against the rules, and counts it.
func counted(t testing.TB, name, text string) (*admin.Metrics, *check.Checker) {
	t.Helper()
	s, err := script.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, k := admin.NewMetrics(defaultRules(t)), check.NewChecker(check.Options{})
	for e := range s.Entries() {
		c := k.Step(&e)
		m.Step(&e, &c)
	}
	return m, k
}

const conversation = `
C> type=CDS V= N= R=[] node=n1
S< type=CDS V=1 N=a res=[c1{eds}]
t=+0.02s C> type=CDS V=1 N=a R=[]
C> type=EDS V= N= R=[c1]
S< type=EDS V=1 N=b res=[c1#h1]
t=+2s C> type=EDS V= N=b R=[c1] err="no such locality"
-- stream 2 method=StreamListeners
C> type=LDS V= N= R=[] node=n1
-- server-end code=14
`

func TestCounts(t *testing.T) {
	m, _ := counted(t, "conversation", conversation)
	err := testutil.CollectAndCompare(m, strings.NewReader(`
# HELP xdsproxy_acks_total Responses that clients accepted.
# TYPE xdsproxy_acks_total counter
xdsproxy_acks_total{type="CDS"} 1
xdsproxy_acks_total{type="EDS"} 0
xdsproxy_acks_total{type="LDS"} 0
# HELP xdsproxy_answer_duration_seconds How long clients took to accept or reject a response.
# TYPE xdsproxy_answer_duration_seconds histogram
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="0.001"} 0
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="0.005"} 0
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="0.01"} 0
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="0.05"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="0.1"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="0.5"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="1"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="5"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="10"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="30"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="60"} 1
xdsproxy_answer_duration_seconds_bucket{type="CDS",le="+Inf"} 1
xdsproxy_answer_duration_seconds_sum{type="CDS"} 0.02
xdsproxy_answer_duration_seconds_count{type="CDS"} 1
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="0.001"} 0
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="0.005"} 0
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="0.01"} 0
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="0.05"} 0
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="0.1"} 0
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="0.5"} 0
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="1"} 0
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="5"} 1
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="10"} 1
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="30"} 1
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="60"} 1
xdsproxy_answer_duration_seconds_bucket{type="EDS",le="+Inf"} 1
xdsproxy_answer_duration_seconds_sum{type="EDS"} 2
xdsproxy_answer_duration_seconds_count{type="EDS"} 1
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="0.001"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="0.005"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="0.01"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="0.05"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="0.1"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="0.5"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="1"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="5"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="10"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="30"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="60"} 0
xdsproxy_answer_duration_seconds_bucket{type="LDS",le="+Inf"} 0
xdsproxy_answer_duration_seconds_sum{type="LDS"} 0
xdsproxy_answer_duration_seconds_count{type="LDS"} 0
# HELP xdsproxy_messages_total Messages, by the side that sent them.
# TYPE xdsproxy_messages_total counter
xdsproxy_messages_total{side="client",type="CDS"} 2
xdsproxy_messages_total{side="client",type="EDS"} 2
xdsproxy_messages_total{side="client",type="LDS"} 1
xdsproxy_messages_total{side="server",type="CDS"} 1
xdsproxy_messages_total{side="server",type="EDS"} 1
xdsproxy_messages_total{side="server",type="LDS"} 0
# HELP xdsproxy_streams_open Streams that are open. After entries were lost it may be too high.
# TYPE xdsproxy_streams_open gauge
xdsproxy_streams_open{variant="sotw"} 0
xdsproxy_streams_open{variant="sotw-ads"} 1
# HELP xdsproxy_streams_total Streams that clients opened. With REST each poll is one.
# TYPE xdsproxy_streams_total counter
xdsproxy_streams_total{variant="sotw"} 1
xdsproxy_streams_total{variant="sotw-ads"} 1
`), "xdsproxy_acks_total", "xdsproxy_answer_duration_seconds", "xdsproxy_messages_total", "xdsproxy_streams_open", "xdsproxy_streams_total")
	if err != nil {
		t.Error(err)
	}
}

// value is that of one series, 0 if it is not there.
func value(t testing.TB, m prometheus.Collector, name string, labels ...string) float64 {
	t.Helper()
	for key, v := range values(t, m) {
		if strings.HasPrefix(key, name+"{") || key == name {
			all := true
			for _, l := range labels {
				all = all && strings.Contains(key, l)
			}
			if all {
				return v
			}
		}
	}
	return 0
}

// values are those of all series but histograms, by name{label="value",...}.
func values(t testing.TB, m prometheus.Collector) map[string]float64 {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(m)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]float64)
	for _, f := range families {
		for _, x := range f.GetMetric() {
			key := f.GetName()
			if len(x.GetLabel()) > 0 {
				var pairs []string
				for _, l := range x.GetLabel() {
					pairs = append(pairs, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
				}
				key += "{" + strings.Join(pairs, ",") + "}"
			}
			out[key] = x.GetCounter().GetValue() + x.GetGauge().GetValue()
		}
	}
	return out
}

// Each finding of each story in the catalogue is counted once under its
// severity: at the gravest this is the number of findings, and of rules whose
// findings do not become graver everything is.
func TestFindingsAreThoseOfTheChecker(t *testing.T) {
	stories, err := filepath.Glob("../../check/testdata/*/*.xds")
	if err != nil || len(stories) < 100 {
		t.Fatal(len(stories), err)
	}
	graver := 0
	for _, path := range stories {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, k := counted(t, path, string(text))
		final, findings := make(map[string]float64), 0.0
		for _, f := range k.Findings() {
			final[fmt.Sprintf("xdsproxy_findings_total{rule=%q,severity=%q}", f.Rule.ID, f.Severity)]++
			findings++
		}
		for key, n := range values(t, m) {
			if !strings.HasPrefix(key, "xdsproxy_findings_total") {
				continue
			}
			switch want := final[key]; {
			case strings.Contains(key, `"error"`) && n != want, n < want:
				t.Errorf("%s: %s is %v, and %v findings ended so", path, key, n, want)
			case n > want:
				graver++
			}
			delete(final, key)
		}
		if len(final) > 0 {
			t.Errorf("%s: not counted: %v", path, final)
		}
	}
	if graver == 0 {
		t.Error("no story has a finding that became graver: the test shows less than it says")
	}
}

// Types, variants and names that peers make up get no label of their own.
func TestPeersMakeNoSeries(t *testing.T) {
	m, k := admin.NewMetrics(nil), check.NewTracker(nil)
	series := func() int { return testutil.CollectAndCount(m) }
	step := func(e session.Entry) {
		c := k.Step(&e)
		m.Step(&e, &c)
	}
	most := 0
	for i := range 3000 {
		id := uint64(i + 1)
		conn, stream := session.ConnID(id), session.StreamID(id)
		method := "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
		if i%3 == 0 {
			method = fmt.Sprintf("/made.up%d.Service/Method%d", i, i)
		}
		step(session.Entry{Conn: conn, Kind: session.KindConnect, Side: session.Client})
		step(session.Entry{Conn: conn, Stream: stream, Kind: session.KindOpen, Side: session.Client, Method: method})
		url := fmt.Sprintf("type.googleapis.com/made.up.Type%d", i)
		data := append([]byte{4<<3 | 2, byte(len(url))}, url...) // type_url of a DiscoveryRequest
		step(session.Entry{Conn: conn, Stream: stream, Kind: session.KindMessage, Side: session.Client, Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))}})
		step(session.Entry{Conn: conn, Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{Code: session.NoteCode(fmt.Sprint("code-", i))}})
		step(session.Entry{Conn: conn, Kind: session.KindDisconnect, Side: session.Client, Status: &session.Status{Message: fmt.Sprint(i)}})
		if i == 100 {
			most = series()
		}
	}
	if n := series(); n > most {
		t.Errorf("%d series after 100 hostile peers, %d after 3,000", most, n)
	}
	if n := value(t, m, "xdsproxy_messages_total", `type="other"`, `side="client"`); n != 2000 {
		t.Errorf("%v messages of other types, not 2,000", n)
	}
	if n := value(t, m, "xdsproxy_streams_open", `variant="sotw-ads"`); n != 0 {
		t.Errorf("%v streams are open on connections that are over", n)
	}
}

// What a segment repeats from the one before was counted there, but a stream
// that it repeats is open.
func TestRepeatedEntries(t *testing.T) {
	m, k := admin.NewMetrics(nil), check.NewTracker(nil)
	for _, e := range []session.Entry{
		{Seq: 1, Conn: 1, Kind: session.KindConnect, Side: session.Client, Carried: true},
		{Seq: 2, Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters", Carried: true},
	} {
		c := k.Step(&e)
		m.Step(&e, &c)
	}
	got := values(t, m)
	if got["xdsproxy_connections_total"] != 0 || got[`xdsproxy_streams_total{variant="sotw"}`] != 0 || got[`xdsproxy_streams_open{variant="sotw"}`] != 1 {
		t.Errorf("%v", got)
	}
	if m.Seen() != 2 {
		t.Errorf("seen up to %d", m.Seen())
	}
}

func BenchmarkStep(b *testing.B) {
	s, err := script.Parse("conversation", []byte(conversation))
	if err != nil {
		b.Fatal(err)
	}
	var entries []session.Entry
	var changes []check.Change
	k := check.NewTracker(nil)
	for e := range s.Entries() {
		entries = append(entries, e)
		changes = append(changes, k.Step(&e))
	}
	m := admin.NewMetrics(defaultRules(b))
	b.ReportAllocs()
	for i := range b.N {
		m.Step(&entries[i%len(entries)], &changes[i%len(entries)])
	}
}

// One scrape over HTTP, of a proxy that has seen all types.
func BenchmarkScrape(b *testing.B) {
	_, m, addr := newServer(b, false)
	k := check.NewTracker(nil)
	for i, typ := range []string{"LDS", "RDS", "SRDS", "VHDS", "CDS", "EDS", "LEDS", "SDS", "RTDS", "ECDS"} {
		for _, e := range []session.Entry{
			{Conn: 1, Stream: session.StreamID(i + 1), Kind: session.KindOpen, Side: session.Client},
			{Conn: 1, Stream: session.StreamID(i + 1), Kind: session.KindMessage, Side: session.Client, Message: &session.Message{}},
		} {
			c := k.Step(&e)
			c.Type, c.What, c.Waited = typ, engine.ACK, time.Millisecond
			m.Step(&e, &c)
		}
	}
	b.ReportAllocs()
	for range b.N {
		if code, body := ask(b, "GET", addr, "/metrics"); code != 200 || len(body) < 1000 {
			b.Fatal(code, body)
		}
	}
}
