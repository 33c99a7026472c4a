package render

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/golden"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// seen is an entry with what it means.
type seen struct {
	e session.Entry
	c check.Change
}

// story is a session with every kind of entry, some of them hostile.
func story() []seen {
	var out []seen
	at := time.Date(2026, 3, 1, 12, 41, 3, 101e6, time.UTC)
	add := func(e session.Entry, c check.Change) {
		e.Seq = session.Seq(len(out) + 1)
		e.Time = at
		at = at.Add(7 * time.Millisecond)
		out = append(out, seen{e, c})
	}
	ads := xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources")
	delta := xds.LookupMethod("/envoy.service.cluster.v3.ClusterDiscoveryService/DeltaClusters")
	on := func(side session.Side, kind session.Kind) session.Entry {
		return session.Entry{Conn: 1, Stream: 1, H2: 1, Side: side, Kind: kind}
	}
	message := func(side session.Side, size int64, c check.Change, m decode.Message) {
		e := on(side, session.KindMessage)
		e.Message = &session.Message{Size: size, WireSize: size}
		if c.Method.Path == "" {
			c.Method = ads
		}
		c.Variant, c.Client, c.Message = c.Method.Variant, "router~10.0.0.1~gw-0.istio-system~cluster.local", &m
		c.Type = xds.ShortType(m.TypeURL)
		add(e, c)
	}
	const (
		clusters  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
		endpoints = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	)

	e := session.Entry{Conn: 1, Side: session.Client, Kind: session.KindConnect}
	e.Peer = &session.Peer{Client: "127.0.0.1:40000", Listen: "127.0.0.1:18000", Upstream: "istiod:15010", Local: "127.0.0.1:40001"}
	add(e, check.Change{})
	e = on(session.Client, session.KindOpen)
	e.Method, e.Headers = ads.Path, []session.Field{{Name: ":method", Value: "POST"}, {Name: "user-agent", Value: "grpc-c++/1.7"}}
	add(e, check.Change{Change: engine.Change{Method: ads, Variant: ads.Variant}})
	message(session.Client, 2100, check.Change{Change: engine.Change{What: engine.SUB, All: true}}, decode.Message{
		Kind: decode.SotwRequest, TypeURL: clusters,
		Node: &decode.Node{ID: "gw", Cluster: "edge", UserAgent: "envoy", UserAgentVersion: "1.40.0"},
	})
	e = on(session.Server, session.KindHeader)
	e.Headers = []session.Field{{Name: ":status", Value: "200"}}
	add(e, check.Change{Change: engine.Change{Method: ads, Variant: ads.Variant}})
	message(session.Server, 88_000, check.Change{Change: engine.Change{What: engine.RESP}}, decode.Message{
		Kind: decode.SotwResponse, TypeURL: clusters, Version: "2026-03-01T12:40:59Z/41", Nonce: "n1",
		Resources: resources("outbound|9080||reviews.default.svc.cluster.local", "outbound|9080||ratings.default.svc.cluster.local", "web"),
	})
	message(session.Client, 190, check.Change{Change: engine.Change{What: engine.ACK, Also: []string{engine.SUB}, Added: []string{"c"}, Removed: []string{"a"}}}, decode.Message{
		Kind: decode.SotwRequest, TypeURL: endpoints, Version: "41", Nonce: "n1", Names: []string{"b", "c"},
	})
	message(session.Client, 1032, check.Change{Change: engine.Change{What: engine.NACK, All: true}}, decode.Message{
		Kind: decode.SotwRequest, TypeURL: clusters, Version: "41", Nonce: "n2",
		Error: &decode.Error{Code: 13, Message: "bad \x1b[31mcluster\x1b[0m\nconnect_timeout \u202e"},
	})
	message(session.Server, 9800, check.Change{Change: engine.Change{Method: delta, What: engine.DELTA, Removed: []string{"gone"}}}, decode.Message{
		Kind: decode.DeltaResponse, TypeURL: clusters, Version: "7", Nonce: "d1", Resources: resources("new", "\x1b]0;owned\x07"), Removed: []string{"gone"},
	})
	message(session.Client, 120, check.Change{Change: engine.Change{Method: delta, What: engine.UNSUB, Removed: []string{"new"}}}, decode.Message{
		Kind: decode.DeltaRequest, TypeURL: clusters, Unsubscribe: []string{"new"},
	})
	message(session.Server, 1<<20, check.Change{Change: engine.Change{What: engine.RESP}}, decode.Message{
		Kind: decode.SotwResponse, TypeURL: endpoints, Problems: []string{"field 3 has a wrong wire type"},
	})
	last := &out[len(out)-1].e
	last.Message.Masked, last.Message.Truncated, last.Message.Data = true, true, session.Chunks{make([]byte, 4096)}
	add(session.Entry{Side: session.Proxy, Kind: session.KindGap, Gap: &session.Gap{
		First: 11, Last: 250, Entries: 240, Bytes: 5 << 20, Streams: []session.StreamID{1, 4},
	}}, check.Change{})
	add(session.Entry{Conn: 2, Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
		Code: session.NoteDialFailed, Text: "cannot reach istiod:15010: connection refused", Hint: "is it running?",
	}}, check.Change{})
	add(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
		Code: session.NoteSecretsKept, Text: "this recording holds secrets",
	}}, check.Change{})
	e = on(session.Client, session.KindHalfClose)
	add(e, check.Change{Change: engine.Change{Method: ads}})
	e = on(session.Server, session.KindGoAway)
	e.Stream, e.H2, e.GoAway = 0, 0, &session.GoAway{LastStream: 7, Code: 11, Debug: "too_many_pings"}
	add(e, check.Change{})
	e = on(session.Server, session.KindTrailer)
	e.Status = &session.Status{Code: 14, Message: "upstream is\tgone", HTTP: 200}
	add(e, check.Change{Change: engine.Change{Method: ads}})
	e = on(session.Server, session.KindCancel)
	e.Status = &session.Status{Code: -1, WasReset: true}
	add(e, check.Change{Change: engine.Change{Method: ads}})
	e = on(session.Client, session.KindCancel)
	e.Stream, e.Status = 2, &session.Status{Code: -1, WasReset: true, Reset: 8}
	add(e, check.Change{})
	e = session.Entry{Conn: 1, Side: session.Server, Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: "the server closed the connection"}}
	add(e, check.Change{})
	add(session.Entry{Side: session.Proxy, Kind: session.KindTime}, check.Change{})
	return out
}

func resources(names ...string) []decode.Resource {
	out := make([]decode.Resource, len(names))
	for i, n := range names {
		out[i].Name = n
	}
	return out
}

func tableOf(columns int, style Style) string {
	table := NewTable(columns, style)
	lines := []string{table.Head()}
	for _, s := range story() {
		table.See(&s.e, &s.c)
		if l := table.Line(&s.e, &s.c); l != "" {
			lines = append(lines, l)
		}
	}
	aside := "between the lines of entries" + strings.Repeat(", and in more words", 8)
	lines = append(lines, table.Aside("+", aside), table.Aside("", aside[:28]))
	return strings.Join(lines, "\n") + "\n"
}

func TestTable(t *testing.T) {
	golden.Is(t, "testdata/table.txt", tableOf(0, Style{}))
	golden.Is(t, "testdata/table-80.txt", tableOf(80, Style{}))
	golden.Is(t, "testdata/table-140.txt", tableOf(140, Style{}))
	golden.Is(t, "testdata/table-color.txt", tableOf(140, Style{Color: true}))
}

// Colour adds escape sequences and nothing else.
func TestColorAddsNoWords(t *testing.T) {
	coloured := tableOf(140, Style{Color: true})
	for _, r := range []role{title, muted, good, bad, warned, accent} {
		coloured = strings.ReplaceAll(coloured, "\x1b["+string(r)+"m", "")
	}
	if got, want := strings.ReplaceAll(coloured, "\x1b[0m", ""), tableOf(140, Style{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// What is not printed counts all the same, and a summary is the same whether
// or not there is a line.
func TestTableOfSome(t *testing.T) {
	all, some := NewTable(0, Style{}), NewTable(0, Style{})
	for _, s := range story() {
		all.See(&s.e, &s.c)
		some.See(&s.e, &s.c)
		summary := some.Summary(&s.e, &s.c)
		line := all.Line(&s.e, &s.c)
		if again := all.Summary(&s.e, &s.c); again != summary || summary == "" {
			t.Errorf("%d: summary %q, after the line %q", s.e.Seq, summary, again)
		}
		for _, w := range strings.Fields(s.c.What + " " + s.c.Type + " " + Safe(s.c.Client)) {
			if !strings.Contains(summary, w) {
				t.Errorf("%d: %q is not in %q", s.e.Seq, w, summary)
			}
		}
		if s.e.Kind == session.KindMessage {
			continue
		}
		if got := some.Line(&s.e, &s.c); got != line {
			t.Errorf("without the others it is\n%s, not\n%s", got, line)
		}
	}
}

// Names fill a line, and never break it.
func TestNamesFitTheScreen(t *testing.T) {
	for _, columns := range []int{60, 80, 99, 100, 120, 160, 300} {
		table, lines := NewTable(columns, Style{}), 0
		for _, s := range story() {
			if s.c.What != engine.RESP || s.e.Message.Truncated {
				continue
			}
			table.See(&s.e, &s.c)
			lines++
			if line := table.Line(&s.e, &s.c); Width(line) < 60 || Width(line) > max(columns, 72) {
				t.Errorf("%d columns: a line of %d: %s", columns, Width(line), line)
			}
		}
		if lines == 0 {
			t.Error("no response has names")
		}
	}
}

func TestObjects(t *testing.T) {
	var text []byte
	for _, s := range story() {
		line, err := NewObject(&s.e, &s.c).Line()
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	golden.Is(t, "testdata/objects.jsonl", string(text))
	for line := range bytes.Lines(text) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
}

func FuzzEscapeJSON(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b[2J", "\u009b", "\u202e", "\U000e0001", "\xff", "a\"b\\c\n", "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text, err := marshalJSON(map[string]string{"s": s}, "")
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); strings.ReplaceAll(back["s"], "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Fatalf("%q came back as %q", s, back["s"])
		}
		if SafeLines(string(text)) != string(text) {
			t.Fatalf("not harmless: %q", text)
		}
	})
}
