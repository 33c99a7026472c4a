package render

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// teller writes down all that can be told of entries.
type teller struct {
	strings.Builder
	pipe, screen *Table
	held         Holders
}

func newTeller() *teller {
	return &teller{pipe: NewTable(0, Style{}), screen: NewTable(80, Style{})}
}

func (w *teller) tell(e *session.Entry, c *check.Change) {
	w.pipe.See(e, c)
	w.screen.See(e, c)
	w.held.See(e, c)
	fmt.Fprintf(w, "== %s\n", w.pipe.Summary(e, c))
	w.WriteString(w.screen.Line(e, c) + "\n")
	for i := range c.Findings {
		w.WriteString(w.screen.FindingLine(&c.Findings[i]) + "\n")
		w.WriteString(w.pipe.SumLine(&c.Findings[i]) + "\n")
		w.facts(ExplainFinding(&c.Findings[i])[:1])
	}
	if e.Message != nil {
		fmt.Fprintf(w, "in 50: %s\n", Describe(e, c, 50, nil))
	} else {
		event, shown := w.pipe.Event(e, c)
		fmt.Fprintf(w, "event: %q %t\n", event, shown)
	}
	fmt.Fprintf(w, "words: %s\ncells: %q\n", w.pipe.Words(e, c), w.pipe.Cells(e, c))
	w.facts(Explain(e, c, Surroundings{}))
}

func (w *teller) facts(all []Fact) {
	for i := range all {
		f := &all[i]
		fmt.Fprintf(w, "  %d %s | %s | %s", f.Look, f.Name, Safe(f.Text), Safe(f.Means))
		if f.Seq != 0 {
			fmt.Fprintf(w, " | to %d", f.Seq)
		}
		w.WriteByte('\n')
	}
}

// Each script of testdata/told is told in whole: its entries, what rules found, and
// where its clients stand at the end.
func TestTold(t *testing.T) {
	scripts, err := filepath.Glob("testdata/told/*.xds")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := script.Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		rules, _ := check.Select([]string{"all"}, nil)
		k := check.NewChecker(check.Options{Rules: rules})
		w, objects, ladder := newTeller(), &strings.Builder{}, NewLadder()
		for e := range s.Entries() {
			c := k.Step(&e)
			w.tell(&e, &c)
			line, err := NewObject(&e, &c).Line()
			if err != nil {
				t.Fatal(err)
			}
			objects.Write(line)
			ladder.See(&e, &c)
			ladder.Add(&e, &c)
		}
		at(w, k)
		for _, columns := range []int{60, 100} {
			fmt.Fprintf(w, "== ladder in %d\n%s", columns, ladder.Text(LadderForm{Columns: columns, ASCII: columns == 60}))
		}
		golden.Is(t, strings.TrimSuffix(path, ".xds")+".txt", w.String())
		golden.Is(t, strings.TrimSuffix(path, ".xds")+".jsonl", objects.String())
	}
}

// at is where everybody stands a minute after the last entry.
func at(w *teller, k *check.Checker) {
	s := NewStanding(k.Status(), 9, k.Now.Add(time.Minute))
	s.AddEffects(k.Effects())
	s.AddHolders(&w.held, k.Status())
	for _, columns := range []int{0, 80, 50} {
		fmt.Fprintf(w, "== standing in %d\n%s", columns, s.Text(Style{}, columns))
	}
	line, _ := JSONLine(s)
	w.Write(line)
	for _, c := range k.Status() {
		tree := NewTree(k.Tree(c.Client), 9)
		fmt.Fprintf(w, "== tree in 60\n%s", tree.Text(Style{}, 60))
		tree.AddEffects(k.Effects())
		fmt.Fprintf(w, "== tree, with what is in effect\n%s", tree.Text(Style{Color: true}, 0))
		line, _ := JSONLine(tree)
		w.Write(line)
		for _, e := range k.Effects().Client(c.Client) {
			fmt.Fprintf(w, "%s: %s\n", EffectWord(&e), EffectText(&e, k.Now.Add(time.Minute)))
		}
	}
	for _, c := range w.held.Alone(k.Status()) {
		tree := w.held.Tree(c.Client, 9)
		fmt.Fprintf(w, "== held by %s\n%s", c.Client, tree.Text(Style{}, 80))
		line, _ := JSONLine(tree)
		w.Write(line)
	}
	r := NewReport()
	r.Add("", k.Findings(), k.Summary())
	fmt.Fprintf(w, "== found\n%s\n%s", r.Text(Style{}, 80, true), r.Text(Style{Color: true}, 0, false))
}

// What no script says: TLS, header fields that the proxy changes, what people leave,
// how connections fail.
func TestToldOfEvents(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tls := &session.TLS{Version: "TLS 1.3", Cipher: "TLS_AES_128_GCM_SHA256", ALPN: "h2", ServerName: "xds.example"}
	checked := *tls
	checked.Identities, checked.Issuer, checked.NotAfter, checked.Verified = []string{"spiffe://cluster.local/ns/a/sa/b", "xds.example"}, "CN=ca", now.Add(time.Hour), true
	claimed := checked
	claimed.Verified, claimed.NotAfter, claimed.Resumed = false, now.Add(-time.Hour), true
	peer := func(client, server *session.TLS) *session.Peer {
		return &session.Peer{Client: "127.0.0.1:40000", Listen: "127.0.0.1:18000", Upstream: "istiod:15012", Local: "127.0.0.1:1", ClientTLS: client, ServerTLS: server}
	}
	note := func(code session.NoteCode, about session.Seq) session.Entry {
		return session.Entry{Kind: session.KindNote, Note: &session.Note{Code: code, Text: "look here", About: about}}
	}
	ended := func(kind session.Kind, s *session.Status) session.Entry {
		return session.Entry{Kind: kind, Conn: 1, Stream: 9, Side: session.Server, Status: s}
	}
	lds := xds.LookupMethod("/envoy.service.listener.v3.ListenerDiscoveryService/StreamListeners")
	methods := []string{
		lds.Path, "/envoy.api.v2.ClusterDiscoveryService/StreamClusters", "/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters",
		"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats", "/grpc.health.v1.Health/Watch", "/v3/discovery:clusters",
		"/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources",
	}
	entries := []session.Entry{
		{Kind: session.KindConnect, Conn: 1, Peer: peer(&checked, &claimed)},
		{Kind: session.KindConnect, Conn: 2, Peer: peer(tls, &session.TLS{})},
		{Kind: session.KindConnect, Conn: 3},
		{Kind: session.KindConnect, Conn: 4, Peer: &session.Peer{Client: "127.0.0.1:1", Upstream: "istiod:15012"}, Problems: []string{"a problem", "and another"}},
		{Kind: session.KindHeader, Conn: 1, Side: session.Server, Headers: []session.Field{{Name: ":status", Value: "503"}}},
		{Kind: session.KindHeader, Conn: 1, Side: session.Server},
		{
			Kind: session.KindHeader, Conn: 1, Side: session.Client,
			Headers: []session.Field{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}, {Name: "c", Value: "3"}, {Name: ":status", Value: "200"}},
			Sent:    []session.Field{{Name: "a", Value: "1"}, {Name: "b", Value: "20"}, {Name: "d", Value: "4"}},
		},
		ended(session.KindTrailer, nil), ended(session.KindTrailer, &session.Status{Code: 0}), ended(session.KindTrailer, &session.Status{Code: 0, Message: "bye"}),
		ended(session.KindCancel, &session.Status{Code: -1, WasReset: true, Reset: 2, Message: "why\nnot"}),
		ended(session.KindCancel, &session.Status{Code: -1, Message: "torn"}), ended(session.KindCancel, &session.Status{Code: -1, HTTP: 404}),
		ended(session.KindCancel, &session.Status{Code: -1}), ended(session.KindCancel, &session.Status{Code: 99}),
		{Kind: session.KindGoAway, Conn: 1, Side: session.Server, GoAway: &session.GoAway{LastStream: 3}},
		{Kind: session.KindGoAway, Conn: 1, Side: session.Client, GoAway: &session.GoAway{Code: 1, Debug: "no\tmore"}},
		{Kind: session.KindGoAway, Conn: 1, Side: session.Client},
		note(session.NoteTLSFailed, 0), note(session.NoteStatic, 0), note(session.NoteMark, 7), note(session.NoteUnmark, 7), note(session.NoteRemark, 7), note(session.NoteSilenced, 0),
		note(session.NoteAcceptFailed, 0), note(session.NoteRefused, 0),
		{Kind: session.KindNote},
		{Kind: session.KindGap, Gap: &session.Gap{First: 1, Last: 1, Entries: 1, Cause: session.Cut, Streams: []session.StreamID{1}}},
		{Kind: session.KindGap, Gap: &session.Gap{Bytes: 1024, Streams: []session.StreamID{1, 2}}},
		{Kind: session.KindGap, Gap: &session.Gap{First: 1, Last: 1, Entries: 1, Bytes: 1023, Streams: []session.StreamID{1}}},
		{Kind: session.KindHeld},
		{Kind: session.KindHeld, Held: &session.Held{}},
		{Kind: session.KindUnknown},
		{Kind: 99},
		{Kind: session.KindDisconnect, Conn: 3, Side: session.Client},
		{Kind: session.KindDisconnect, Conn: 9, Side: session.Server, Status: &session.Status{Message: "away"}},
		{Kind: session.KindMessage, Conn: 1, Stream: 1, Message: &session.Message{Size: 1, Compressed: true, Encoding: "gzip"}},
	}
	for i, m := range methods {
		entries = append(entries, session.Entry{Kind: session.KindOpen, Conn: 1, Stream: session.StreamID(20 + i), Side: session.Client, Method: m})
	}
	w := newTeller()
	for i := range entries {
		e := &entries[i]
		e.Seq, e.Time = session.Seq(i+1), now.Add(time.Duration(i)*time.Second)
		c := &check.Change{}
		if e.Conn == 1 {
			c.Method = xds.LookupMethod(e.Method)
			if e.Method == "" {
				c.Method = lds
			}
			c.Variant, c.Type = c.Method.Variant, c.Method.Type
		}
		w.tell(e, c)
		o := NewObject(e, c)
		o.AddHeaders(e)
		o.AddProblems([]string{"a problem", "one more"})
		line, err := o.Line()
		if err != nil {
			t.Fatal(err)
		}
		w.Write(line)
	}
	golden.Is(t, "testdata/told/events.txt", w.String())
}

// What a version of a resource came to.
func TestVerdicts(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	long := "2026-03-01T12:40:59Z/4100000"
	all := []history.Version{
		{Seq: 5, Time: now, Version: "1", State: engine.Acked, Judged: 6, Size: 999, Pushes: 1, Last: 5},
		{Seq: 7, Time: now, Version: "2", State: engine.Rejected, Judged: 8, Size: 1000, Pushes: 2, Last: 9, Reason: "no\nhosts in a cluster whose name is " + strings.Repeat("long ", 12)},
		{Seq: 10, Time: now, Version: "3", State: engine.Rejected, Judged: 11, With: 1, Pushes: 1},
		{Seq: 12, Time: now, Version: "3", State: engine.Rejected, Judged: 13, With: 2, Pushes: 1, Heartbeats: 1},
		{Seq: 14, Time: now, Version: "4", State: engine.Uncertain, Judged: 15, Pushes: 1, Uncertain: true},
		{Seq: 16, Time: now, Version: "4", State: engine.Uncertain, Judged: 17, Reason: "bad", Heartbeats: 2},
		{Seq: 18, Time: now, Removed: true, State: engine.Sent},
	}
	text := VersionsText(all, 0, map[int]byte{1: '-', 2: '+', 3: 'x'}, Style{}, 60)
	text += VersionsText(all[6:], 99, map[int]byte{99: '-'}, Style{Color: true}, 0)
	all[0].Version = long[:24]
	all[1].Version = long
	text += VersionsText(all[:2], 8, map[int]byte{8: '+'}, Style{Color: true}, 0)
	line, _ := JSONLine(NewVersions(all))
	golden.Is(t, "testdata/told/versions.txt", text+string(line))
}
