package recorder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsproxy/xdsproxy/recorder/internal/filled"
	"github.com/xdsproxy/xdsproxy/session"
)

// keptRecording is a whole recording in format 1, as the log writes it: segments that
// repeat entries, descriptors, entries of every kind with every field, messages that
// repeat each other, and labels. What it says is beside it as text, which no code
// makes: a reader that misreads it today as it did when it was written would be found.
const (
	keptRecording = "testdata/version1-recording/session.xdsp"
	keptEntries   = "testdata/version1-recording/entries.jsonl"
)

// writeKept writes the recording, and what was given to the log.
func writeKept(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(keptRecording); err == nil {
		t.Skipf("%s is kept for ever: a new form of the format needs a file of its own", keptRecording)
	}
	if err := os.MkdirAll(filepath.Dir(keptRecording), 0o755); err != nil {
		t.Fatal(err)
	}
	at := time.Unix(1.76e9, 0).UTC()
	l, err := Create(keptRecording, Options{
		Program: "xdsproxy golden", Masked: true, Descriptors: []byte("\x0a\x07\x0a\x05a.xds"), MaxSize: 30_000, NoTicks: true, SyncEvery: -1,
		Labels: func(e *session.Entry) []string { return []string{"kind:" + e.Kind.String()} },
		Carry:  func() []session.Seq { return []session.Seq{1} },
		Now:    func() time.Time { return at },
	})
	if err != nil {
		t.Fatal(err)
	}
	noise := rand.New(rand.NewPCG(7, 7))
	for n := range 120 {
		var e session.Entry
		filled.Value(t, reflect.ValueOf(&e).Elem(), &n)
		e.Seq, e.Time, e.Start, e.Carried = 0, at.Add(time.Duration(n)*time.Second), at.Add(time.Duration(n)*time.Second-time.Millisecond), false
		e.Kind, e.Conn, e.Stream = session.Kind(n%int(session.KindHeld+1)), 1, session.StreamID(1+n%5)
		if e.Kind == session.KindMessage {
			own := make([]byte, 3000) // does not compress
			for i := range own {
				own[i] = byte(noise.Uint32())
			}
			e.Message = &session.Message{Data: session.Chunks{[]byte("the same each time"), own}, Size: 3018, WireSize: 2000 + int64(n), Compressed: n%2 == 0, Encoding: "gzip"}
		}
		l.Append(e)
		settle(l)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	all, _ := readAll(t, keptRecording)
	if err := os.WriteFile(keptEntries, linesOf(t, all), 0o644); err != nil {
		t.Fatal(err)
	}
}

func linesOf(t *testing.T, entries []session.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range entries {
		line, err := json.Marshal(&entries[i])
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

// A recording of format 1 reads as it did on the day it was written, for ever: whole,
// through a pipe, and without its end.
func TestGoldenRecording(t *testing.T) {
	if *update {
		writeKept(t)
	}
	text, err := os.ReadFile(keptEntries)
	if err != nil {
		t.Fatal(err)
	}
	var want []session.Entry
	for line := range bytes.Lines(text) {
		var e session.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	kinds := map[session.Kind]int{}
	for i := range want {
		kinds[want[i].Kind]++
	}
	for k := session.KindUnknown; k <= session.KindHeld; k++ {
		if kinds[k] == 0 {
			t.Errorf("no entry of kind %s is kept", k)
		}
	}
	got, facts := readAll(t, keptRecording)
	for i := range got {
		joinData(&got[i])
	}
	for i := range want {
		joinData(&want[i])
	}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("not what was written: %.3000s", d)
	}
	if facts.Version != 1 || !facts.Complete || !facts.Masked || facts.Program != "xdsproxy golden" || facts.Descriptors != "\x0a\x07\x0a\x05a.xds" || !facts.Created.Equal(time.Unix(1.76e9, 0)) {
		t.Errorf("%+v", facts)
	}
	segments := segmentsOf(t, keptRecording)
	if len(segments) < 3 {
		t.Fatalf("only %d segments are kept", len(segments))
	}
	for _, path := range segments {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for cut, complete := range map[int]bool{len(file): true, len(file) - 39: false} { // an end is always 39 bytes
			r := NewReader(bytes.NewReader(file[:cut]))
			alone, err := drain(r)
			if err != nil || r.Facts().Complete != complete && path == keptRecording || len(alone) == 0 || alone[0].Carried != (path != segments[0]) {
				t.Errorf("%s to byte %d: %d entries, complete %v, %v", path, cut, len(alone), r.Facts().Complete, err)
			}
			for i := range alone {
				if e := &alone[i]; !e.Carried {
					joinData(e)
					if d := cmp.Diff(entryOf(want, e.Seq), *e, cmpopts.EquateEmpty()); d != "" {
						t.Errorf("%s: %.1000s", path, d)
					}
				}
			}
		}
	}
}

func joinData(e *session.Entry) {
	if e.Message != nil {
		e.Message.Data = session.Chunks{e.Message.Data.Bytes()}
	}
}

func entryOf(entries []session.Entry, seq session.Seq) session.Entry {
	for i := range entries {
		if entries[i].Seq == seq {
			return entries[i]
		}
	}
	return session.Entry{Method: fmt.Sprint("there is no entry ", seq)}
}
