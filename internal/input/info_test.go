package input

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/store"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// Large recordings are judged by their headers unless one asks for more, and
// the facts are the same.
func TestInfoByHeaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.xdsp")
	o := store.Live(true, new(session.Buffers).Put)
	o.Labels = func(*session.Entry) []string { return []string{"type:CDS", "client:a", "client:b"} }
	log, err := recorder.Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	log.Append(session.Entry{Conn: 1, Kind: session.KindConnect})
	log.Append(session.Entry{Conn: 1, Stream: 1, Side: session.Server, Kind: session.KindMessage, Message: &session.Message{
		Data: session.Chunks{[]byte("\x0a\x01x")}, Size: readAll + 1, Truncated: true,
	}})
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	for _, all := range []bool{false, true} {
		src, err := testOpener(t).Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		i, err := testOpener(t).Info(t.Context(), src, all, check.Options{Rules: []*check.Rule{}})
		if err != nil {
			t.Fatal(err)
		}
		known := i.Clients != nil && *i.Clients == 2
		if all {
			known = i.Clients == nil // no entry names one
		}
		if i.Unread == all || i.Messages != 1 || i.Connections != 1 || i.MessageBytes != readAll+1 || !i.Complete || !known {
			t.Errorf("all %v: %+v", all, i)
		}
	}
}

// Who never said who it is counts as somebody, beside those who did, whether all
// is read or headers alone.
func TestInfoOfUnknownClients(t *testing.T) {
	const ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	for _, large := range []bool{false, true} {
		for _, mixed := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "mixed.xdsp")
			log, err := recorder.Create(path, store.Live(true, new(session.Buffers).Put))
			if err != nil {
				t.Fatal(err)
			}
			says := func(conn session.ConnID, request string) {
				log.Append(session.Entry{Conn: conn, Kind: session.KindConnect})
				on := session.Entry{Conn: conn, Stream: session.StreamID(conn), Side: session.Client, Kind: session.KindOpen, Method: ads}
				log.Append(on)
				on.Kind, on.Method = session.KindMessage, ""
				on.Message = &session.Message{Data: session.Chunks{[]byte(request)}, Size: int64(len(request))}
				if large {
					on.Message.Size, on.Message.Truncated = readAll+1, true
				}
				log.Append(on)
				log.Append(session.Entry{Conn: conn, Side: session.Client, Kind: session.KindDisconnect})
			}
			says(1, "\x12\x03\x0a\x01a")
			if mixed {
				says(2, "")
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			src, err := testOpener(t).Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			i, err := testOpener(t).Info(t.Context(), src, false, check.Options{Rules: []*check.Rule{}})
			if err != nil {
				t.Fatal(err)
			}
			if i.Unread != large || i.Clients == nil || *i.Clients != 1 || i.MoreClients != mixed {
				t.Errorf("large %v, mixed %v: %+v", large, mixed, i)
			}
		}
	}
}
