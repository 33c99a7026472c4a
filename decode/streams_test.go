package decode

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

func content(text string) []session.Field {
	return []session.Field{{Name: "content-type", Value: text}}
}

// A stream is known from its headers to some time after its end, and a
// connection as long as it lasts.
func TestStreams(t *testing.T) {
	s := NewStreams()
	step := func(e session.Entry, stream, conn bool) *Stream {
		t.Helper()
		st, cn := s.Step(&e)
		if (st != nil) != stream || (cn != nil) != conn || st != nil && st.Conn != cn {
			t.Fatalf("%s: stream %v, connection %v", e.Kind, st, cn)
		}
		return st
	}
	size := func(streams, conns int) {
		t.Helper()
		if a, b := s.Len(); a != streams || b != conns {
			t.Errorf("%d streams of %d connections are known, not %d of %d", a, b, streams, conns)
		}
	}
	step(session.Entry{Conn: 1, Kind: session.KindConnect}, false, false)
	step(session.Entry{Conn: 1, Stream: 1, Kind: session.KindHeader, Side: session.Server, Headers: content("application/json")}, false, false)
	step(session.Entry{Conn: 1, Stream: 1, Kind: session.KindTrailer, Side: session.Server}, false, false)
	size(0, 0)
	first := step(session.Entry{Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: ads, Headers: content("application/grpc")}, true, true)
	if first.Method.Variant != xds.VariantSotwADS || first.Content(session.Client) != "application/grpc" || first.Content(session.Server) != "" {
		t.Errorf("%+v", first)
	}
	second := step(session.Entry{Conn: 1, Stream: 2, Kind: session.KindOpen, Side: session.Client, Method: "/v3/discovery:clusters"}, true, true)
	if second.Conn != first.Conn {
		t.Error("two streams of a connection have two connections")
	}
	step(session.Entry{Conn: 1, Kind: session.KindGoAway, Side: session.Server}, false, true)
	size(2, 1)

	// What the client calls itself is news once on each stream.
	for i, c := range []struct {
		st   *Stream
		id   string
		news bool
	}{{first, "n1", true}, {first, "n1", false}, {second, "n1", true}, {second, "n2", true}, {first, "n1", true}, {first, "n1", false}} {
		if got := c.st.Name(c.id); got != c.news || c.st.Client != c.id || c.st.Conn.Client != c.id {
			t.Errorf("%d: %s is news: %v; %s on the stream, %s on the connection", i, c.id, got, c.st.Client, c.st.Conn.Client)
		}
	}

	// Only headers of the server that name a type change what the server writes.
	for _, e := range []session.Entry{
		{Side: session.Server, Headers: content("application/x-protobuf")},
		{Side: session.Server},
		{Side: session.Client, Headers: content("application/json")},
	} {
		e.Conn, e.Stream, e.Kind = 1, 2, session.KindHeader
		if st := step(e, true, true); st.Content(session.Server) != "application/x-protobuf" || st.Content(session.Client) != "" {
			t.Errorf("%+v", st)
		}
	}
	if !second.JSON(session.Client, nil) || second.JSON(session.Server, nil) {
		t.Error("a poll is JSON unless headers say otherwise")
	}

	// Messages of which nobody saw the beginning make a stream; others do not.
	message := session.Entry{Conn: 2, Stream: 3, Kind: session.KindMessage, Message: &session.Message{}}
	step(message, false, false)
	message.Side = session.Proxy
	step(message, false, false)
	message.Side, message.Message = session.Server, nil
	step(message, false, false)
	for i, side := range []session.Side{session.Client, session.Server} {
		message.Side, message.Message, message.Stream = side, &session.Message{}, session.StreamID(3+i)
		st := step(message, true, true)
		if st.Method != (xds.Method{}) {
			t.Errorf("its method is %+v", st.Method)
		}
		for text, json := range map[string]bool{`{"version_info": "1"}`: true, "\x0a\x011": false, "": false} {
			if st.JSON(side, session.Chunks{[]byte(text)}) != json {
				t.Errorf("%q is JSON: %v", text, !json)
			}
		}
		if st.JSON(side, nil) {
			t.Error("nothing is JSON")
		}
	}
	if first.JSON(session.Client, session.Chunks{[]byte("{}")}) {
		t.Error("what gRPC carries is JSON by its looks")
	}
	size(4, 2)

	// Late messages of a stream that has ended still find it.
	step(session.Entry{Conn: 1, Stream: 1, Kind: session.KindTrailer, Side: session.Server}, true, true)
	step(session.Entry{Conn: 1, Stream: 2, Kind: session.KindCancel, Side: session.Client}, true, true)
	late := session.Entry{Conn: 1, Stream: 1, Kind: session.KindMessage, Side: session.Server, Message: &session.Message{}}
	if st := s.Known(&late); st != first {
		t.Errorf("%+v", st)
	}
	size(4, 2)

	// With its connection each of them goes.
	end := session.Entry{Conn: 1, Kind: session.KindDisconnect}
	if st, cn := s.Step(&end); st != nil || cn != first.Conn {
		t.Errorf("%v, %v", st, cn)
	}
	size(2, 1)
	end.Conn = 9
	step(end, false, false)
	half := session.Entry{Conn: 1, Stream: 1, Kind: session.KindHalfClose, Side: session.Client}
	if st := s.Known(&half); st == nil || st.Method != (xds.Method{}) || st.Conn != nil {
		t.Errorf("a stream that nobody knows: %+v", st)
	}
	held := session.Entry{Kind: session.KindHeld, Side: session.Client}
	if st := s.Known(&held); st.Method != xds.Held() || st.Method == (xds.Method{}) {
		t.Errorf("%+v", st)
	}
	size(2, 1)
}

// Streams that have ended are forgotten, the oldest first; not those that go on.
func TestStreamsForgetTheEnded(t *testing.T) {
	s := NewStreams()
	const more = 3
	open := func(id session.StreamID) {
		s.Step(&session.Entry{Conn: 1, Stream: id, Kind: session.KindOpen, Side: session.Client, Method: ads})
	}
	open(1)
	for id := session.StreamID(2); id < maxEnded+2+more; id++ {
		open(id)
		end := &session.Entry{Conn: 1, Stream: id, Kind: session.KindTrailer, Side: session.Server}
		s.Step(end)
		s.Step(end) // twice
	}
	if n, _ := s.Len(); n != maxEnded+1 || len(s.ended) != maxEnded {
		t.Errorf("%d streams are known, %d have ended", n, len(s.ended))
	}
	for id, want := range map[session.StreamID]bool{1: true, 2: false, 1 + more: false, 2 + more: true, maxEnded + 1 + more: true} {
		st, _ := s.Step(&session.Entry{Conn: 1, Stream: id, Kind: session.KindHalfClose, Side: session.Client})
		if (st != nil) != want {
			t.Errorf("stream %d is known: %v", id, st != nil)
		}
		if _, of := s.conns[1].streams[id]; of != want {
			t.Errorf("stream %d is one of its connection: %v", id, of)
		}
	}
	// One of the forgotten begins again: it is a stream that goes on.
	open(2)
	for id := session.StreamID(5000); id < 5000+maxEnded; id++ {
		open(id)
		s.Step(&session.Entry{Conn: 1, Stream: id, Kind: session.KindCancel, Side: session.Client})
	}
	if st, _ := s.Step(&session.Entry{Conn: 1, Stream: 2, Kind: session.KindHalfClose}); st == nil {
		t.Error("a stream that goes on was forgotten")
	}
}

// There are never more than so many.
func TestStreamsAreBounded(t *testing.T) {
	s := NewStreams()
	for id := session.StreamID(1); id <= maxStreams; id++ {
		s.all[id] = nil
	}
	delete(s.all, 1)
	e := &session.Entry{Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: ads}
	if st, _ := s.Step(e); st == nil {
		t.Error("there was room for one")
	}
	e.Conn, e.Stream = 2, maxStreams+1
	if st, cn := s.Step(e); st != nil || cn != nil {
		t.Errorf("one too many: %v, %v", st, cn)
	}
	if st := s.Known(e); st != &s.unknown {
		t.Errorf("one too many: %v", st)
	}
}
