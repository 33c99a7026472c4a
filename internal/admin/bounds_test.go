package admin

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// How long a profile may be taken, to the bound.
func TestBrief(t *testing.T) {
	for seconds, want := range map[string]int{
		"": http.StatusOK, "1": http.StatusOK, "0.001": http.StatusOK, "300": http.StatusOK, "300.001": http.StatusBadRequest, "0": http.StatusBadRequest,
		"-1": http.StatusBadRequest, "NaN": http.StatusBadRequest, "Inf": http.StatusBadRequest, "x": http.StatusBadRequest, "1s": http.StatusBadRequest,
	} {
		w := httptest.NewRecorder()
		brief(func(http.ResponseWriter, *http.Request) {})(w, httptest.NewRequest("GET", "/?seconds="+url.QueryEscape(seconds), nil))
		if w.Code != want || (w.Body.Len() > 0) != (want != http.StatusOK) {
			t.Errorf("%q: %d %s", seconds, w.Code, w.Body)
		}
	}
}

// What waits to be recorded was seen, and neither recorded nor lost.
func TestWaiting(t *testing.T) {
	for _, c := range []struct {
		st   recorder.Stats
		want uint64
	}{
		{recorder.Stats{Last: 10, Entries: 6, Lost: 1}, 3},
		{recorder.Stats{Last: 10, Entries: 9, Lost: 1}, 0},
		{recorder.Stats{Last: 10, Entries: 20}, 0}, // a ring repeats entries
		{recorder.Stats{}, 0},
	} {
		if got := waiting(&c.st); got != c.want {
			t.Errorf("%+v: %d wait", c.st, got)
		}
	}
}

// A stream is open once, from its beginning to its end, and only so many are known.
func TestStanding(t *testing.T) {
	s := newStanding()
	for _, c := range []struct {
		conn session.ConnID
		id   session.StreamID
		want bool
	}{{1, 1, true}, {1, 1, false}, {2, 1, false}, {1, 0, false}, {1, 2, true}, {2, 3, true}} {
		if s.begin(c.conn, c.id, xds.VariantSotw) != c.want {
			t.Errorf("%+v: %v", c, !c.want)
		}
	}
	for _, c := range []struct {
		id    session.StreamID
		want  bool
		conns int
	}{{1, true, 2}, {1, false, 2}, {2, true, 1}, {9, false, 1}, {3, true, 0}} {
		if v, was := s.end(c.id); was != c.want || was && v != xds.VariantSotw || len(s.byConn) != c.conns {
			t.Errorf("%+v: %v, %q, %d connections", c, was, v, len(s.byConn))
		}
	}
	for i := range session.StreamID(maxOpen) {
		if !s.begin(1, i+1, xds.VariantSotw) {
			t.Fatalf("stream %d is one too many", i+1)
		}
	}
	if s.begin(1, maxOpen+1, xds.VariantSotw) {
		t.Error("any number of streams is known")
	}
	if _, was := s.end(7); !was || !s.begin(1, maxOpen+1, xds.VariantSotw) {
		t.Error("one that ends makes no room")
	}
}

// Notes are counted by what they are about, so many of them; those of people are not.
func TestNotes(t *testing.T) {
	m := NewMetrics(nil)
	step := func(n *session.Note) {
		m.Step(&session.Entry{Kind: session.KindNote, Note: n}, &check.Change{})
	}
	step(nil)
	for _, code := range []session.NoteCode{session.NoteMark, session.NoteUnmark, session.NoteRemark, session.NoteSilenced, session.NoteFault, session.NoteStatic, session.NoteFiles} {
		step(&session.Note{Code: code})
	}
	const known = "xdsproxy_notes_total"
	if n := testutil.CollectAndCount(m, known); n != 1 { // one is there from the beginning
		t.Errorf("%d kinds of notes", n)
	}
	for i := range maxNotes + 3 {
		for range 2 {
			step(&session.Note{Code: session.NoteCode(fmt.Sprint("code-", i))})
		}
	}
	if n := testutil.CollectAndCount(m, known); n != maxNotes+1 {
		t.Errorf("%d kinds of notes, want %d and others", n, maxNotes)
	}
	if got := testutil.ToFloat64(m.notes.WithLabelValues(otherLabel)); got != 8 {
		t.Errorf("%v others", got)
	}
	if got := testutil.ToFloat64(m.notes.WithLabelValues("code-0")); got != 2 {
		t.Errorf("%v of the first", got)
	}
}

// That nobody is answered any more is said, if nobody wanted that.
func TestListenerThatBreaks(t *testing.T) {
	for name, broken := range map[string]bool{"broken": true, "closed": false} {
		core, said := observer.New(zap.ErrorLevel)
		s := New(Config{Metrics: NewMetrics(nil), Logger: zap.New(core), Stats: func() recorder.Stats { return recorder.Stats{} }, Clients: func() int { return 0 }, Refused: func() uint64 { return 0 }})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.Serve(l)
		if broken {
			_ = l.Close()
			s.run.Wait()
		}
		s.Close(0)
		if got := said.FilterMessage("the admin endpoint has ended").Len(); (got == 1) != broken {
			t.Errorf("%s: %d lines", name, got)
		}
	}
}

// What a Host is compared by.
func TestHostOf(t *testing.T) {
	for in, want := range map[string]string{"A.example.:80": "a.example", "[::1]:80": "::1", "[::1]": "::1", "::1": "::1", "LOCALHOST.": "localhost", "": "", "x": "x"} {
		if got := hostOf(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	if isLoopback(nil) || isLoopback(&net.UnixAddr{}) || isLoopback(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1)}) || !isLoopback(&net.TCPAddr{IP: net.IPv6loopback}) {
		t.Error("loopback is not told from elsewhere")
	}
	if strings.Contains(variantLabel(""), "sotw") || variantLabel(xds.VariantDelta) != string(xds.VariantDelta) {
		t.Error("labels of variants")
	}
}
