package viewtest

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/source"
)

// File is a finished recording.
func File(path string) source.Source {
	return source.Source{
		Name:  filepath.Base(path),
		Open:  func() (index.Reader, error) { return recorder.Open(path) },
		Facts: func() (recorder.Facts, error) { return recorder.Inspect(path) },
	}
}

// Record writes entries as a real recording.
func Record(tb testing.TB, entries ...session.Entry) source.Source {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "made.xdsp")
	log, err := recorder.Create(path, recorder.Options{NoTicks: true})
	if err != nil {
		tb.Fatal(err)
	}
	for _, e := range entries {
		log.Append(e)
	}
	if err := log.Close(); err != nil {
		tb.Fatal(err)
	}
	return File(path)
}

// StreamBegins are the entries that come before the messages of a stream.
func StreamBegins() []session.Entry {
	return []session.Entry{
		{Conn: 1, Kind: session.KindConnect, Side: session.Client, Peer: &session.Peer{Client: "192.0.2.1:1", Upstream: "192.0.2.2:2"}},
		{
			Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client,
			Method:  "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources",
			Headers: []session.Field{{Name: "content-type", Value: "application/grpc"}},
		},
	}
}

// MessageEntry is a message of that stream.
func MessageEntry(side session.Side, data []byte) session.Entry {
	return session.Entry{
		Conn: 1, Stream: 1, Kind: session.KindMessage, Side: side,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data)), WireSize: int64(len(data))},
	}
}

// Field is a length-delimited protobuf field.
func Field(number byte, body string) []byte {
	out := []byte{number<<3 | 2}
	for n := len(body); ; n >>= 7 {
		if n < 0x80 {
			return append(append(out, byte(n)), body...)
		}
		out = append(out, byte(n)|0x80)
	}
}
