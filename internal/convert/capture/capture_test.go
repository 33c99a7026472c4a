package capture_test

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/internal/convert/capture"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

const sessionsDir = "../../../check/testdata/sessions"

// written is a capture of entries.
func written(t testing.TB, entries []session.Entry) ([]byte, capture.Written) {
	t.Helper()
	var b bytes.Buffer
	w, err := capture.NewWriter(&b, "test")
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		if err := w.Add(&entries[i]); err != nil {
			t.Fatal(err)
		}
	}
	done, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), done
}

// read are the entries of a capture.
func read(t testing.TB, packets []byte) (out []session.Entry, done capture.Result) {
	t.Helper()
	done, err := capture.Read(bufio.NewReader(bytes.NewReader(packets)), func(e *session.Entry) error {
		out = append(out, *e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if uint64(len(out)) != done.Entries {
		t.Fatalf("%d entries, and it says %d", len(out), done.Entries)
	}
	return out, done
}

// conversation is what a capture keeps of entries, one line for each: those of
// connections on which there is xDS.
func conversation(entries []session.Entry) (out []string) {
	h1, conns := make(map[session.StreamID]bool), make(map[session.ConnID]int)
	for _, e := range entries {
		if _, known := conns[e.Conn]; e.Stream != 0 && !known {
			conns[e.Conn] = len(conns) + 1
		}
	}
	for _, e := range entries {
		if conns[e.Conn] == 0 {
			continue
		}
		switch e.Kind {
		case session.KindTime, session.KindNote, session.KindGap, session.KindHeld, session.KindDisconnect:
			continue
		case session.KindOpen:
			h1[e.Stream] = e.H2 == 0
		}
		text := fmt.Sprint(e.Time.UTC().Format(time.RFC3339Nano), " ", conns[e.Conn], " ", e.Stream, " ", e.H2, " ", e.Side, " ", e.Kind, " ", e.Method)
		if h1[e.Stream] {
			e.Headers = slices.DeleteFunc(slices.Clone(e.Headers), func(f session.Field) bool {
				return f.Name == "content-length" || f.Name == "transfer-encoding" || f.Name == "content-encoding"
			})
		}
		text += fmt.Sprint(" ", e.Headers)
		if e.Peer != nil {
			text += fmt.Sprint(" ", e.Peer.Client, " ", e.Peer.Upstream)
		}
		if e.Message != nil {
			text += fmt.Sprintf(" %x", e.Message.Data.Bytes())
		}
		switch {
		case e.Kind == session.KindCancel && !e.Status.WasReset:
			continue // with its connection
		case e.Status != nil:
			text += fmt.Sprint(" ", *e.Status)
		case e.GoAway != nil:
			text += fmt.Sprint(" ", *e.GoAway)
		}
		out = append(out, text)
	}
	return out
}

// What was recorded, written as a capture and read again, is the same, entry by
// entry.
func TestThereAndBack(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(sessionsDir, "*.xdsp"))
	if err != nil || len(paths) < 50 {
		t.Fatalf("%d sessions, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			entries := recordertest.Entries(t, path)
			packets, done := written(t, entries)
			again, said := read(t, packets)
			if diff := cmp.Diff(conversation(entries), conversation(again)); diff != "" {
				t.Errorf("written %+v, read %+v:\n%.3000s", done, said, diff)
			}
		})
	}
}

// A stream of gRPC without a number gets the next that is free.
func TestStreamsGetNumbers(t *testing.T) {
	const ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	of := func(stream session.StreamID, h2 uint32) session.Entry {
		return session.Entry{
			Kind: session.KindOpen, Side: session.Client, Stream: stream, H2: h2, Method: ads,
			Headers: []session.Field{{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: ads}, {Name: "content-type", Value: "application/grpc"}},
		}
	}
	packets, _ := written(t, begun(of(1, 0), of(2, 0), of(3, 7), of(4, 0)))
	got, _ := read(t, packets)
	var numbers []uint32
	for _, e := range got {
		if e.Kind == session.KindOpen {
			numbers = append(numbers, e.H2)
		}
	}
	if want := []uint32{1, 3, 7, 9}; !slices.Equal(numbers, want) {
		t.Errorf("the streams are %d, not %d", numbers, want)
	}
}

// What is of no connection is a comment, or counted.
func TestBesideConnections(t *testing.T) {
	file := session.Entry{Kind: session.KindOpen, Side: session.Client, Stream: 9, Method: "file:/lds.yaml"}
	more := session.Entry{Kind: session.KindMessage, Side: session.Server, Stream: 9, Message: new(session.Message)}
	packets, done := written(t, begun(
		session.Entry{Kind: session.KindGap, Gap: &session.Gap{Entries: 3}}, session.Entry{Kind: session.KindGap},
		session.Entry{Kind: session.KindNote, Note: &session.Note{Code: "lost", Text: "some"}}, session.Entry{Kind: session.KindNote},
		session.Entry{Kind: session.KindHeld, Held: new(session.Held)}, session.Entry{Kind: session.KindTime}, file, more,
	))
	if done.Comments != 2 || done.Files != 2 || done.Held != 1 || done.Entries != 1 || done.Messages != 0 {
		t.Errorf("%+v", done)
	}
	for _, text := range []string{"gap: 3 entries are missing before this packet", "note lost: some"} {
		if bytes.Count(packets, []byte(text)) != 1 {
			t.Errorf("%q is not said once", text)
		}
	}
}
