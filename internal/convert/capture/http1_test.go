package capture_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/session"
)

// polls are two of a client that speaks HTTP/1.1, one with bodies and one without.
func polls(client, upstream string) []session.Entry {
	at := time.Date(2026, 11, 26, 12, 0, 0, 7, time.UTC)
	field := func(pairs ...string) (out []session.Field) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, session.Field{Name: pairs[i], Value: pairs[i+1]})
		}
		return out
	}
	const path = "/v3/discovery:clusters"
	out := []session.Entry{
		{Kind: session.KindConnect, Side: session.Client, Peer: &session.Peer{Client: client, Upstream: upstream}},
		{Kind: session.KindOpen, Stream: 1, Side: session.Client, Method: path, Headers: field(":method", "POST", ":path", path, "host", "xds", "content-length", "18")},
		{Kind: session.KindMessage, Stream: 1, Side: session.Client, Message: &session.Message{Data: session.Chunks{[]byte(`{"node":`), []byte(`{"id":"n"}}`)}}},
		{Kind: session.KindHalfClose, Stream: 1, Side: session.Client},
		{Kind: session.KindHeader, Stream: 1, Side: session.Server, Headers: field(":status", "100")},
		{Kind: session.KindHeader, Stream: 1, Side: session.Server, Headers: field(":status", "200", "content-encoding", "gzip", "transfer-encoding", "chunked")},
		{Kind: session.KindMessage, Stream: 1, Side: session.Server, Message: &session.Message{Encoding: "gzip", Data: session.Chunks{[]byte(strings.Repeat(`{"version_info":"1"}`, 9000))}}},
		{Kind: session.KindTrailer, Stream: 1, Side: session.Server, Status: &session.Status{Code: -1, HTTP: 200}},
		{Kind: session.KindOpen, Stream: 2, Side: session.Client, Method: path, Headers: field(":method", "HEAD", ":path", path, "host", "xds")},
		{Kind: session.KindHalfClose, Stream: 2, Side: session.Client},
		{Kind: session.KindHeader, Stream: 2, Side: session.Server, Headers: field(":status", "200", "content-length", "77")},
		{Kind: session.KindTrailer, Stream: 2, Side: session.Server, Status: &session.Status{Code: -1, HTTP: 200}},
		{Kind: session.KindOpen, Stream: 3, Side: session.Client, Method: path, Headers: field(":method", "GET", ":path", path, "host", "xds")},
		{Kind: session.KindHalfClose, Stream: 3, Side: session.Client},
		{Kind: session.KindHeader, Stream: 3, Side: session.Server, Headers: field(":status", "304")},
		{Kind: session.KindTrailer, Stream: 3, Side: session.Server, Status: &session.Status{Code: -1, HTTP: 304}},
		{Kind: session.KindDisconnect, Side: session.Server, Status: &session.Status{Code: -1}},
	}
	for i := range out {
		if k := out[i].Kind; k != session.KindHalfClose && k != session.KindTrailer { // the tap sees these with what is before
			at = at.Add(time.Microsecond)
		}
		out[i].Conn, out[i].Time = 1, at
	}
	return out
}

// Polls of HTTP/1.1 are the same again, but for how long a body is said to be.
func TestHTTP1ThereAndBack(t *testing.T) {
	for _, ends := range [][2]string{{"10.0.0.1:4000", "10.0.0.2:18000"}, {"[2001:db8::1]:4000", "[2001:db8::2]:18000"}} {
		entries := polls(ends[0], ends[1])
		packets, done := written(t, entries)
		got, _ := read(t, packets)
		if diff := cmp.Diff(conversation(entries), conversation(got)); diff != "" || done.Addresses > 0 || done.Decompressed != 1 {
			t.Errorf("%+v\n%s", done, diff)
		}
	}
	// Where the two are not of one kind, both are of documentation.
	for _, ends := range [][2]string{{"unix:@", "10.0.0.2:18000"}, {"10.0.0.1:4000", "[2001:db8::2]:18000"}, {"", ""}} {
		packets, done := written(t, polls(ends[0], ends[1]))
		got, _ := read(t, packets)
		if p := got[0].Peer; p == nil || p.Client != "192.0.2.0:10001" || p.Upstream != "198.51.100.1:18000" || done.Addresses != 1 {
			t.Errorf("%q: %+v, %+v", ends, done, p)
		}
	}
}

// After a hole nobody knows which answer belongs to which poll.
func TestHTTP1Missing(t *testing.T) {
	entries := polls("10.0.0.1:4000", "10.0.0.2:18000")
	_, packets := packetsIn(t, entries)
	for i, p := range packets {
		if len(p.payload()) == 0 {
			continue
		}
		got, done := read(t, raw(t, append(packets[:i:i], packets[i+1:]...)))
		all := conversation(entries)
		for _, line := range conversation(got) {
			_, line, _ = strings.Cut(line, " 0 ") // without its time and its numbers
			if !strings.Contains(strings.Join(all, "\n"), line) && !strings.Contains(line, " message ") {
				t.Errorf("without packet %d: %s", i, line)
			}
		}
		if done.Connections > 0 && done.Gaps != 1 {
			t.Errorf("without packet %d: %+v", i, done)
		}
	}
}

// A body where the head says that there is none is left out and counted.
func TestHTTP1BodyOfNone(t *testing.T) {
	for text, want := range map[string]uint64{"": 0, "x": 1} {
		entries := polls("10.0.0.1:4000", "10.0.0.2:18000")
		head := slices.IndexFunc(entries, func(e session.Entry) bool { return e.Stream == 2 && e.Side == session.Server })
		body := entries[head]
		body.Kind, body.Headers, body.Message = session.KindMessage, nil, &session.Message{Data: session.Chunks{[]byte(text)}}
		packets, done := written(t, slices.Insert(slices.Clone(entries), head+1, body))
		got, _ := read(t, packets)
		if diff := cmp.Diff(conversation(entries), conversation(got)); diff != "" || done.Late != want {
			t.Errorf("%q: %+v\n%s", text, done, diff)
		}
	}
}
