package store

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

var update = flag.Bool("update", false, "write the golden labels")

// What each entry of a session is labelled, with streams of every kind.
func TestLabels(t *testing.T) {
	var b bytes.Buffer
	for _, name := range []string{"demo", "rest-nack", "client-tells-no-node", "envoy-sotw-held", "grpc-go-load-reports"} {
		r, err := recorder.Open("../../check/testdata/sessions/" + name + ".xdsp")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		fmt.Fprintf(&b, "%s\n", name)
		labels := NewLabels()
		for n := 0; n < 120; n++ {
			e, err := r.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%d %s %s: %s\n", e.Seq, e.Side, e.Kind, strings.Join(labels.Of(&e), " "))
		}
	}
	const golden = "testdata/labels.golden"
	if *update {
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got, old := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	for i := range got {
		if i >= len(old) || got[i] != old[i] {
			t.Fatalf("line %d is\n%s", i+1, got[i])
		}
	}
	if len(got) != len(old) {
		t.Errorf("%d lines, not %d", len(got), len(old))
	}
}

// Of each kind of entry that has no message of xDS.
func TestLabelsOfOthers(t *testing.T) {
	l := NewLabels()
	for _, c := range []struct {
		e    session.Entry
		want string
	}{
		{session.Entry{Kind: session.KindConnect, Conn: 1}, ""},
		{session.Entry{Kind: session.KindNote, Note: &session.Note{Code: session.NoteMark}}, "marks"},
		{session.Entry{Kind: session.KindNote, Note: &session.Note{Code: session.NoteUnmark}}, "marks"},
		{session.Entry{Kind: session.KindNote, Note: &session.Note{Code: "x"}}, ""},
		{session.Entry{Kind: session.KindNote}, ""},
		{session.Entry{Kind: session.KindGap, Gap: &session.Gap{}}, ""},
		{session.Entry{Kind: session.KindHeld, Held: &session.Held{Node: "n1"}}, "begins client:n1"},
		{session.Entry{Kind: session.KindHeld}, "begins"},
		{session.Entry{Kind: session.KindMessage, Conn: 1, Stream: 7, Side: session.Client}, ""},
		{session.Entry{Kind: session.KindMessage, Conn: 1, Stream: 7, Side: session.Client, Message: &session.Message{Truncated: true}}, "begins"},
		{session.Entry{Kind: session.KindMessage, Conn: 1, Stream: 7, Side: session.Client, Message: &session.Message{Compressed: true}}, "begins"},
		{session.Entry{Kind: session.KindTime}, ""},
		{session.Entry{Kind: session.KindTrailer, Conn: 9, Stream: 99}, ""},
	} {
		if got := strings.Join(l.Of(&c.e), " "); got != c.want {
			t.Errorf("%s %+v: %q, not %q", c.e.Kind, c.e.Message, got, c.want)
		}
	}
}

// Peers that make up names fill no memory with them, and are labelled all the same.
func TestLabelsAreBounded(t *testing.T) {
	l := NewLabels()
	for i := range 3 * maxLabels {
		e := session.Entry{Kind: session.KindHeld, Held: &session.Held{Node: fmt.Sprintf("n%d", i)}}
		if got := l.Of(&e); len(got) != 2 || got[1] != fmt.Sprintf("client:n%d", i) {
			t.Fatal(got)
		}
	}
	long := strings.Repeat("x", 1<<10)
	if len(l.clients) != maxLabels {
		t.Errorf("%d are kept", len(l.clients))
	}
	for node, kept := range map[string]int{long: 1, long + "x": 0} {
		l = NewLabels()
		e := session.Entry{Kind: session.KindHeld, Held: &session.Held{Node: node}}
		if got := l.Of(&e); got[1] != "client:"+node || len(l.clients) != kept {
			t.Errorf("%d are kept of %d bytes", len(l.clients), len(node))
		}
	}
}

// How recordings are written: masked or not, with labels in any case.
func TestOptions(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\\nMC4CAQAwBQYDK2VwBCIEIGM=\\n-----END PRIVATE KEY-----"
	s, err := script.Parse("x.xds", []byte("C> type=CDS V= N= R=[] node=n1 err=\""+key+"\" code=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]recorder.Options{"live": Live(true, func(session.Chunks) {}), "copy": Copy(true), "live in the clear": Live(false, func(session.Chunks) {}), "copy in the clear": Copy(false)} {
		o.NoTicks, o.Memory = true, 1<<30
		log, err := recorder.NewRing(o)
		if err != nil {
			t.Fatal(err)
		}
		for e := range s.Entries() {
			log.Append(e)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := log.Reader()
		if err != nil {
			t.Fatal(err)
		}
		clear, labelled := false, false
		r.Want(func(b *recorder.Block) bool {
			labelled = labelled || strings.Contains(strings.Join(b.Labels, " "), "client:n1")
			return true
		})
		for e, err := range r.Entries(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			clear = clear || e.Message != nil && bytes.Contains(e.Message.Data.Bytes(), []byte("MC4CAQAwBQYDK2Vw"))
		}
		if clear != strings.Contains(name, "clear") || !labelled || o.Masked == clear {
			t.Errorf("%s: in the clear %t, labelled %t, masked %t", name, clear, labelled, o.Masked)
		}
	}
}
