package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/session"
)

// entriesOf are those of a script or of a recording.
func entriesOf(t *testing.T, path string) (all []session.Entry) {
	t.Helper()
	if !strings.HasSuffix(path, ".xds") {
		all, _ = read(t, path)
		return all
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	for e := range s.Entries() {
		all = append(all, e)
	}
	return all
}

// TestReports: what a report says of conversations in which different things go wrong,
// and what other forms are told of them.
func TestReports(t *testing.T) {
	const sessions, stories = "../../check/testdata/sessions/", "../../check/testdata/stories/"
	var out strings.Builder
	for _, c := range []struct {
		path   string
		choose func(*session.Entry, *check.Change) bool
		clear  bool
		noted  bool
		lost   uint64
	}{
		{path: sessions + "client-hides-its-rejection.xdsp", choose: everything},
		{path: sessions + "envoy-delta-nack.xdsp", choose: everything, clear: true, noted: true},
		{path: sessions + "grpc-core-resource-errors.xdsp", choose: rejected, lost: 7},
		{path: sessions + "rest-envoy.xdsp", choose: everything},
		{path: stories + "nack-received-fleet-of-one-cause.xds", choose: everything},
		{path: stories + "csds-divergence-delta.xds", choose: everything},
		{path: stories + "partial-state-of-the-world-swapped.xds", choose: everything},
	} {
		all := entriesOf(t, c.path)
		w := &walker{all: all, choose: c.choose}
		o := convert.Report{Program: "xdsproxy test", Source: filepath.Base(c.path), Findings: func() []check.Finding { return w.checker.Findings() }}
		o.Facts.Masked = !c.clear
		if c.lost > 0 {
			o.Facts.Lost, o.Chosen = c.lost, "--filter kind:nack"
		}
		if c.noted {
			o.Notes = notes.New(time.Time{})
			o.Notes.Entries[3] = notes.Note{Marked: true}
			o.Notes.Entries[5] = notes.Note{Text: "look `here`"}
		}
		var text bytes.Buffer
		done, err := convert.Write(&text, convert.Markdown, w.walk, convert.Options{Report: o})
		fmt.Fprintf(&out, "==== %s: %d entries, %d left out, large %v, %v\n%s\n", filepath.Base(c.path), done.Entries, done.LeftOut, done.Large, err, &text)

		told, err := convert.Tell(w.walk, &o, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.walk(func(e *session.Entry, c *check.Change, _ bool) error { told.Meet(e, c); return nil }); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "-- told: %s to %s, lost %d, part %t, counts %v, %d not listed, note %+v\n", told.First.Format(time.RFC3339), told.Last.Format(time.RFC3339), told.Lost, told.Part, told.Count, told.Unlisted, told.Note(5))
		for _, client := range told.Clients {
			fmt.Fprintf(&out, "   %+v\n", client)
		}
		for _, f := range told.Findings {
			fmt.Fprintf(&out, "   %s, shown %v, named %v, %d compared\n", f.Rule.ID, f.Shown, f.Named, len(f.Compared()))
		}
	}
	golden.Is(t, "testdata/reports.txt", out.String())
}

// TestOtherForms: a diagram ends where nobody would draw on, a log of gRPC is not made of
// what is none, and errors of the place that is written to are told.
func TestOtherForms(t *testing.T) {
	var many []session.Entry
	for i := range 260 {
		many = append(many, session.Entry{Seq: session.Seq(i + 1), Conn: 1, Kind: session.KindConnect, Peer: &session.Peer{Client: "c"}})
	}
	for n, left := range map[int]uint64{250: 0, 251: 1, 260: 10} {
		text, done := written(t, many[:n], convert.Mermaid, "", everything)
		if done.LeftOut != left || done.Entries != uint64(n)-left || strings.Contains(text, "entries more are left out") != (left > 0) {
			t.Errorf("%d entries: %+v", n, done)
		}
	}
	all, _ := read(t, "../../check/testdata/sessions/demo.xdsp")
	rest, _ := read(t, "../../check/testdata/sessions/rest-envoy.xdsp")
	w := &walker{all: rest, choose: everything}
	if _, err := convert.Write(&bytes.Buffer{}, convert.BinaryLog, w.walk, convert.Options{}); err == nil || err.Error() != "nothing of it is a call of gRPC: a binary log would be empty" {
		t.Error(err)
	}
	if text, done := written(t, all, convert.BinaryLog, "some", rejected); done.Entries == 0 || len(text) == 0 {
		t.Errorf("%+v, %d bytes", done, len(text))
	}
	if _, err := convert.Write(&bytes.Buffer{}, "word", w.walk, convert.Options{}); err == nil {
		t.Error("a form that is none is written")
	}
	full := errors.New("no room")
	for _, form := range []convert.Form{convert.CSV, convert.JSONL, convert.YAML, convert.Mermaid, convert.BinaryLog, convert.Markdown} {
		w := &walker{all: all, choose: everything}
		o := convert.Options{Report: convert.Report{Findings: func() []check.Finding { return w.checker.Findings() }}}
		for room := range 2 { // at once, and after the first of it
			if _, err := convert.Write(&narrow{room, full}, form, w.walk, o); !errors.Is(err, full) && !(room == 1 && (form == convert.Mermaid || form == convert.Markdown)) {
				t.Errorf("%s, with room for %d: %v", form, room, err)
			}
		}
	}
}

// narrow takes so many writes.
type narrow struct {
	room int
	err  error
}

func (n *narrow) Write(p []byte) (int, error) {
	if n.room--; n.room < 0 {
		return 0, n.err
	}
	return len(p), nil
}
