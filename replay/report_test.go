package replay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay/fault"
)

func TestDifferenceAsText(t *testing.T) {
	for _, c := range []struct {
		d    Difference
		want string
	}{
		{Difference{Expected: "ACK", Got: "NACK", Seq: 7, Answers: 6, Detail: "no such cluster"}, "entry 7, the answer to entry 6: expected ACK, got NACK: no such cluster"},
		{Difference{Expected: "no answer", Got: "ACK", Seq: 6, Answers: 6}, "the answer to entry 6: expected no answer, got ACK"},
		{Difference{Expected: "a stream", Got: "none", Seq: 1}, "entry 1: expected a stream, got none"},
		{Difference{Expected: "no stream", Got: "one"}, "not recorded: expected no stream, got one"},
	} {
		if got := c.d.Where() + ": " + c.d.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// What is said while a replay goes on is said once, and changes of contents once for all that changed alike; the
// report lists a thousand differences by the entries, and counts the others.
func TestLedger(t *testing.T) {
	var said []string
	l := NewLedger([]string{"a note of the plan"}, func(s string) { said = append(said, s) })
	l.Note("%d", 1)
	l.Note("1")
	l.Sent()
	l.Received()
	l.Received()
	l.TurnedAway("the first")
	l.TurnedAway("the second")
	alike := Difference{Expected: "the content", Got: AnotherContent, Detail: "timeout: 7 instead of 1", Type: "CDS", Seq: 9}
	l.Differ(alike)
	alike.Seq = 8
	l.Differ(alike)
	alike.Type = "EDS"
	l.Differ(alike)
	alike.Detail = ""
	l.Differ(alike)
	l.Differ(Difference{Expected: "ACK", Got: "NACK", Seq: 3, Detail: strings.Repeat("x", 4097)})
	r := l.Report([]Played{{Begun: true, Matched: 2, Expected: 3}, {Matched: 1, Expected: 1}, {Begun: true}})
	wantSaid := []string{
		"1", "entry 9: expected the content, got another content: timeout: 7 instead of 1", "entry 8: expected the content, got another content: timeout: 7 instead of 1",
		"entry 8: expected the content, got another content", "entry 3: expected ACK, got NACK: " + strings.Repeat("x", 4096) + "…",
	}
	if d := cmp.Diff(wantSaid, said); d != "" {
		t.Error(d)
	}
	var order []string
	for _, d := range r.Differences {
		order = append(order, fmt.Sprint(d.Seq, d.Type))
	}
	r.Differences, r.Played = nil, nil
	if d := cmp.Diff([]string{"3", "8CDS", "8EDS", "8EDS", "9CDS"}, order); d != "" {
		t.Error(d)
	}
	want := &Report{Streams: 2, Sent: 1, Received: 2, Matched: 3, Expected: 4, Notes: []string{"a note of the plan", "1"}, TurnedAway: "the first"}
	if d := cmp.Diff(want, r); d != "" {
		t.Error(d)
	}
}

func TestLedgerIsBounded(t *testing.T) {
	said := 0
	l := NewLedger(nil, func(string) { said++ })
	if l.Report(nil).Differs() {
		t.Error("nothing differs")
	}
	for i := range 1001 {
		l.Differ(Difference{Seq: 1, Got: fmt.Sprint(i)})
		l.Note("note %d", i)
	}
	r := l.Report(nil)
	if len(r.Differences) != 1000 || r.More != 1 || len(r.Notes) != 200 || said != 1200 || !r.Differs() {
		t.Errorf("%d differences and %d more, %d notes, %d said", len(r.Differences), r.More, len(r.Notes), said)
	}
	if r.Differences = nil; !r.Differs() {
		t.Error("one that is not listed does not count")
	}
}

// A fault is told to whoever asked for faults, and noted.
func TestLedgerWrong(t *testing.T) {
	f, err := fault.Parse("drop:type=CDS", true)
	if err != nil {
		t.Fatal(err)
	}
	for _, listens := range []bool{true, false} {
		var told []string
		o := Options{}
		if listens {
			o.Wrong = func(s string) { told = append(told, s) }
		}
		l := NewLedger(nil, nil)
		l.Wrong(&o, f, "entry %d is not sent", 7)
		want := fmt.Sprintf("on purpose (%s): entry 7 is not sent", f)
		if notes := l.Report(nil).Notes; len(notes) != 1 || notes[0] != want || listens != (len(told) == 1 && told[0] == want) {
			t.Errorf("noted %q, told %q; want %q", notes, told, want)
		}
	}
}

func TestStreamInReports(t *testing.T) {
	s := &Stream{ID: 5, Client: "sidecar~10.1.0.7~reviews-v1", Method: xds.LookupMethod("/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters")}
	if d := cmp.Diff(Played{Stream: 5, Client: s.Client, Variant: "sotw", Type: "CDS"}, s.Row()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Difference{Seq: 1, Stream: 5, Client: s.Client}, s.Difference(Difference{Seq: 1})); d != "" {
		t.Error(d)
	}
	if got, want := s.String(), `stream 5 of "sidecar~10.1.0.7~reviews-v1" (sotw CDS)`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
