package script

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// seeds are the scripts with the corners of the notation, and a few whole
// conversations: more of them say nothing new, and each costs time.
func seeds(f *testing.F) []string {
	corners, err := filepath.Glob("testdata/*.xds")
	if err != nil || len(corners) < 5 {
		f.Fatalf("%d scripts, %v", len(corners), err)
	}
	clients, err := filepath.Glob("../testdata/clients/*.xds")
	if err != nil || len(clients) == 0 {
		f.Fatalf("%d conversations, %v", len(clients), err)
	}
	return append(corners, clients...)
}

// Whatever the text is, reading it ends, and what it gives is bounded. What can
// be read can be written, and the result read again is the same session.
func FuzzParse(f *testing.F) {
	for _, file := range seeds(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("size=")) && len(text) > 1000 {
			return // slow, and the same again
		}
		s, err := Parse("fuzz", text)
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if len(s.events) > maxEntries {
			t.Fatalf("%d entries", len(s.events))
		}
		if len(s.events) > 2000 {
			return // slow, and the same again
		}
		var last time.Time
		var seq session.Seq
		for e := range s.Entries() {
			if seq++; e.Seq != seq || e.Time.Before(last) {
				t.Fatalf("entry %d after %d, %v after %v", e.Seq, seq-1, e.Time, last)
			}
			last = e.Time
		}
		first, lost := written1(t, s)
		again, err := Parse("written", []byte(first))
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if d := cmp.Diff(comparable(s), comparable(again)); d != "" && len(lost) == 0 {
			t.Fatalf("%s\nis written as\n%s\n%s", text, first, d)
		}
	})
}

// Whatever was recorded can be written, and what is written can be read.
func FuzzWrite(f *testing.F) {
	for _, file := range seeds(f)[:4] {
		s, _ := openScript(f, file)
		for e := range s.Entries() {
			if e.Message != nil && e.Message.Size < 4096 {
				f.Add(uint8(e.Side), uint8(0), e.Message.Data.Bytes(), e.Message.Data.Bytes())
			}
		}
	}
	methods := []string{
		"", "/x/y", "/v3/discovery:clusters", "file:a.yaml", "no path", "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
		"/envoy.service.discovery.v2.AggregatedDiscoveryService/DeltaAggregatedResources", "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats",
		"/envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus", "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters",
	}
	for i := range methods {
		m := xds.LookupMethod(methods[i])
		f.Add(uint8(1), uint8(i), []byte(m.Name), []byte(`{"type_url":"a/b.c","resources":[{"@type":"a/b.c","name":"x"}]}`))
	}
	f.Fuzz(func(t *testing.T, side, method uint8, a, b []byte) {
		path := methods[int(method)%len(methods)]
		session1 := hostile(path, session.Side(side%4), string(a), a, b)
		var out bytes.Buffer
		if _, err := Write(&out, session1); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("written", out.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
	})
}

// hostile is a session with given texts in many places.
func hostile(path string, side session.Side, text string, a, b []byte) iter.Seq[session.Entry] {
	headers := []session.Field{{Name: ":event", Value: text}, {Name: ":method", Value: text}, {Name: "user-agent", Value: text}, {Name: ":status", Value: text}}
	message := func(data []byte) *session.Message {
		return &session.Message{Data: session.Chunks{data}, Size: int64(len(data))}
	}
	all := []session.Entry{
		{Kind: session.KindConnect, Conn: 1, Peer: &session.Peer{Client: text}},
		{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: path, Headers: headers},
		{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Client, Message: message(a)},
		{Kind: session.KindHeader, Conn: 1, Stream: 1, Side: session.Server, Headers: headers},
		{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Server, Message: message(b)},
		{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: side, Message: message(b)},
		{Kind: session.KindMessage, Conn: 1, Stream: 9, Side: side, Message: message(a)},
		{Kind: session.KindHalfClose, Conn: 1, Stream: 1, Side: session.Client},
		{Kind: session.KindOpen, Conn: 1, Stream: 2, Side: session.Client, Method: path + text, Headers: headers},
		{Kind: session.KindTrailer, Conn: 1, Stream: 1, Side: session.Server, Status: &session.Status{Code: int32(len(a)) - 2, Message: text, HTTP: len(b)}},
		{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Client, Message: message(b)},
		{Kind: session.KindCancel, Conn: 1, Stream: 2, Side: side, Status: &session.Status{Code: -1, Message: text, Reset: 3, WasReset: len(a)%2 == 0}},
		{Kind: session.KindGoAway, Conn: 1, Side: side, GoAway: &session.GoAway{Debug: text, LastStream: 1 << 31}},
		{Kind: session.KindDisconnect, Conn: 1, Side: side},
		{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Client, Message: message(b)},
	}
	return func(yield func(session.Entry) bool) {
		for i, e := range all {
			e.Seq, e.Time = session.Seq(i+1), start.Add(time.Duration(len(a)*i))
			if !yield(e) {
				return
			}
		}
	}
}
