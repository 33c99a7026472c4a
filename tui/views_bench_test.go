package tui

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view/findings"
	"github.com/xdsproxy/xdsproxy/tui/view/resources"
)

const benchPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

// crowd records a session of so many clients, each of which gets the same
// clusters and their endpoints again and again, until there are so many entries.
// Every hundredth answer is a rejection.
func crowd(tb testing.TB, clients, clusters, entries int) string {
	path := filepath.Join(tb.TempDir(), "crowd.xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true, Transform: chunk.NewSplitter().Transform})
	if err != nil {
		tb.Fatal(err)
	}
	now, n := time.Unix(1_700_000_000, 0), 0
	add := func(e session.Entry) {
		now = now.Add(100 * time.Microsecond)
		e.Time = now
		n++
		if log.Append(e)%256 == 0 {
			for log.Stats().Queued > 8<<20 {
				time.Sleep(time.Millisecond)
			}
		}
	}
	send := func(id session.ConnID, side session.Side, data []byte) {
		add(session.Entry{
			Conn: id, Stream: session.StreamID(id), H2: 1, Side: side, Kind: session.KindMessage,
			Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
		})
	}
	names := make([]string, clusters)
	for i := range names {
		names[i] = fmt.Sprintf("outbound|8080||service-%05d.shop.svc.cluster.local", i)
	}
	cds, eds := xds.TypeURL("CDS"), xds.TypeURL("EDS")
	for i := range clients {
		id := session.ConnID(i + 1)
		add(session.Entry{Conn: id, Side: session.Client, Kind: session.KindConnect, Peer: &session.Peer{Client: fmt.Sprintf("10.0.%d.%d:40000", i/256, i%256)}})
		add(session.Entry{Conn: id, Stream: session.StreamID(id), H2: 1, Side: session.Client, Kind: session.KindOpen, Method: benchPath})
		node := &decode.Node{ID: fmt.Sprintf("web-%05d.shop", i), Cluster: "web", UserAgent: "envoy", UserAgentVersion: "1.40.0"}
		q := synth.Request{TypeURL: cds, Node: node}
		send(id, session.Client, q.Marshal())
		q = synth.Request{TypeURL: eds, Names: names}
		send(id, session.Client, q.Marshal())
	}
	for push := 0; push < 2 || n < entries; push++ {
		url := []string{cds, eds}[push%2]
		r := synth.Response{TypeURL: url, Version: fmt.Sprint(push), Nonce: fmt.Sprint(push)}
		for i, name := range names {
			res := synth.Resource{TypeURL: url, Payload: name, OwnName: true, Content: fmt.Sprint(i == push%clusters)}
			res.Refs.EDS = url == cds
			r.Resources = append(r.Resources, res)
		}
		response := r.Marshal()
		for i := range clients {
			id := session.ConnID(i + 1)
			send(id, session.Server, response)
			q := synth.Request{TypeURL: url, Version: r.Version, Nonce: r.Nonce}
			if url == eds {
				q.Names = names
			}
			if n%200 < 2 {
				q.Version, q.Error = fmt.Sprint(push-2), &decode.Error{Code: 13, Message: "Error adding/updating cluster(s) " + names[push%clusters]}
			}
			send(id, session.Client, q.Marshal())
		}
	}
	if err := log.Close(); err != nil {
		tb.Fatal(err)
	}
	if s := log.Stats(); s.Lost > 0 {
		tb.Fatalf("%d entries were lost", s.Lost)
	}
	return path
}

// BenchmarkFrame is the whole screen, with panes, on 100,000 entries; and what
// a key adds to it.
func BenchmarkFrame(b *testing.B) {
	d := drive(b, fileSource(crowd(b, 200, 20, 100_000)), 160, 50, Options{})
	b.Logf("%d rows, %d findings", d.m.log.Index.Len(), len(d.m.seen.Findings))
	d.frame()
	b.Run("timeline", func(b *testing.B) { benchFrame(b, d) })
	b.Run("key", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			d.give(keyPress([]string{"j", "k"}[i%2]))
			_ = d.m.Frame()
		}
	})
	for i, tab := range []string{"clients", "", "resources", "violations", "stats"} {
		if tab == "" {
			continue
		}
		d.press(fmt.Sprint(i + 1))
		d.frame()
		b.Run(tab, func(b *testing.B) { benchFrame(b, d) })
	}
}

func benchFrame(b *testing.B, d *driver) {
	b.ReportAllocs()
	for b.Loop() {
		_ = d.m.Frame()
	}
}

// BenchmarkClients is the matrix of 2,000 clients, and asking where they stand.
func BenchmarkClients(b *testing.B) {
	d := drive(b, fileSource(crowd(b, 2000, 20, 20_000)), 160, 50, Options{})
	d.press("1")
	d.frame()
	b.Run("frame", func(b *testing.B) { benchFrame(b, d) })
	b.Run("standing", func(b *testing.B) {
		for b.Loop() {
			d.m.log.Feed.Standing()
		}
	})
	d.press("2")
	d.frame()
	b.Run("pane", func(b *testing.B) { benchFrame(b, d) })
}

// BenchmarkResources is the tree of a client with 20,000 clusters and their
// endpoints: asking for it, making rows of it, and drawing.
func BenchmarkResources(b *testing.B) {
	d := drive(b, fileSource(crowd(b, 1, 20_000, 8)), 160, 50, Options{})
	d.press("3", "G")
	d.frame()
	v := d.m.resources
	b.Logf("%d rows", len(v.Rows()))
	b.Run("frame", func(b *testing.B) { benchFrame(b, d) })
	b.Run("tree", func(b *testing.B) {
		for b.Loop() {
			d.m.log.Feed.Tree(v.Of(d.m))
		}
	})
	b.Run("rows", func(b *testing.B) {
		for b.Loop() {
			resources.Flatten(v.Asked, v.Forest.Tree, nil)
		}
	})
	q := v.Asked
	q.Words = "service-1999"
	b.Run("filter", func(b *testing.B) {
		for b.Loop() {
			resources.Flatten(q, v.Forest.Tree, nil)
		}
	})
}

// BenchmarkFindings is the list of 100,000 findings: sorting it once, and
// drawing.
func BenchmarkFindings(b *testing.B) {
	d := drive(b, fileSource(sessionPath("demo")), 160, 50, Options{})
	all := make([]check.Finding, 100_000)
	rules := check.Rules()
	for i := range all {
		r := rules[i%len(rules)]
		all[i] = check.Finding{
			Rule: r, Severity: r.Severity, Fault: r.Fault, Client: fmt.Sprintf("web-%05d", i%2000), Type: "CDS", Count: 1, Cause: i + 1,
			Names: []string{fmt.Sprintf("service-%05d", i)}, Seqs: []session.Seq{session.Seq(i + 1)}, LastSeq: session.Seq(i + 2),
			At: time.Unix(int64(i), 0), Last: time.Unix(int64(i), 0), Message: "a sentence that says what was seen",
		}
	}
	d.m.seen.Folded = all
	d.m.seen.Generation++
	d.press("4")
	d.m.seen.Folded = all
	v := d.m.violations
	d.run(v.Tick(d.m))
	b.Logf("%d rows", len(v.List.Rows))
	b.Run("frame", func(b *testing.B) { benchFrame(b, d) })
	b.Run("sort", func(b *testing.B) {
		for b.Loop() {
			findings.MakeFindingList(v.Asked, all, nil, nil)
		}
	})
	q := v.Asked
	q.Words = "service-09"
	b.Run("filter", func(b *testing.B) {
		for b.Loop() {
			findings.MakeFindingList(q, all, nil, nil)
		}
	})
}
