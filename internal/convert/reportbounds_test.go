package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/convert"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/notes"
	"github.com/xdsproxy/xdsproxy/recorder"
	"github.com/xdsproxy/xdsproxy/session"
)

// TestReportBounds: what a report says of recordings that have more than it tells:
// clients, notes, entries and long messages; of those that have nothing; and of parts of
// longer ones.
func TestReportBounds(t *testing.T) {
	stream := func(n int, node string, rounds, names int) string {
		var b strings.Builder
		var list []string
		for i := range names {
			list = append(list, fmt.Sprintf("outbound|80||service-%04d.a-namespace-with-a-name.svc.cluster.local{eds}", i))
		}
		fmt.Fprintf(&b, "-- stream %d\nC> type=CDS V= N= R=[] node=%s\n", n, node)
		for i := range rounds {
			fmt.Fprintf(&b, "S< type=CDS V=%d N=n%d res=[%s]\nC> type=CDS V= N=n%d R=[] err=\"no such thing\"\n", i, i, strings.Join(list, ","), i)
		}
		return b.String()
	}
	fleet := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(stream(i+1, fmt.Sprintf("%s-%03d", strings.Repeat("client", 20), i), 1, 1))
		}
		return b.String()
	}
	gap := func(cause session.GapCause) func([]session.Entry) []session.Entry {
		return func(all []session.Entry) []session.Entry {
			last := all[len(all)-1]
			return append(all, session.Entry{Seq: last.Seq + 1, Time: last.Time, Kind: session.KindGap, Gap: &session.Gap{Cause: cause, Entries: 12}})
		}
	}
	noted := func(n int) *notes.Notes {
		out := notes.New(time.Time{})
		for i := range n {
			out.Entries[session.Seq(i+1)] = notes.Note{Marked: i%2 == 0, Text: strings.Repeat("x", i%3)}
		}
		return out
	}
	var out strings.Builder
	for _, c := range []struct {
		name   string
		script string
		change func([]session.Entry) []session.Entry
		report convert.Report
		choose func(*session.Entry, *check.Change) bool
	}{
		{name: "one request", script: "C> type=CDS V= N= R=[] node=n1\n", report: convert.Report{Attached: true}},
		{name: "nothing is chosen", script: stream(1, "n1", 2, 1), report: convert.Report{Chosen: "--seq 999"}, choose: func(*session.Entry, *check.Change) bool { return false }},
		{name: "as many clients as are listed", script: fleet(20)},
		{name: "one more", script: fleet(21)},
		{name: "as many notes as are listed", script: fleet(15), report: convert.Report{Notes: noted(50)}},
		{name: "one more note", script: fleet(15), report: convert.Report{Notes: noted(51)}},
		{name: "notes of what is chosen", script: stream(1, "n1", 4, 1), report: convert.Report{Chosen: "--filter kind:nack", Notes: noted(20)}, choose: rejected},
		{name: "a long loop", script: stream(1, "n1", 60, 2)},
		{name: "long messages", script: stream(1, "n1", 12, 90)},
		{name: "messages that are longer", script: stream(1, "n1", 2, 1200)},
		{name: "some were lost", script: stream(1, "n1", 1, 1), change: gap(session.Lost)},
		{name: "a part of a longer one", script: stream(1, "n1", 1, 1), change: gap(session.Cut), report: convert.Report{Attached: true}},
	} {
		s, err := script.Parse("test.xds", []byte(c.script))
		if err != nil {
			t.Fatal(err)
		}
		all := slices.Collect(s.Entries())
		if c.change != nil {
			all = c.change(all)
		}
		w := &walker{all: all, choose: everything}
		if c.choose != nil {
			w.choose = c.choose
		}
		o := c.report
		o.Program, o.Source = "xdsproxy test", "a.xdsp"
		o.Findings = func() []check.Finding { return w.checker.Findings() }
		o.Facts.Masked, o.Facts.Program = true, "xdsproxy of yesterday"
		var text bytes.Buffer
		done, err := convert.Write(&text, convert.Markdown, w.walk, convert.Options{Report: o})
		if text.Len() > 65_536 {
			t.Errorf("%s: %d bytes are too many for an issue", c.name, text.Len())
		}
		fmt.Fprintf(&out, "==== %s: %d entries, %d messages, large %v, %v, %d bytes\n", c.name, done.Entries, done.Messages, done.Large, err, text.Len())
		for i, l := range strings.Split(text.String(), "\n") {
			if c.name == "one request" || !strings.HasPrefix(l, " ") && !strings.HasPrefix(l, "@") && (i < 400 || strings.Contains(l, "more")) {
				fmt.Fprintln(&out, l)
			}
		}
	}
	golden.Is(t, "testdata/bounds.txt", out.String())
}

// TestProofFails: what cannot be written or read while a proof is looked for is said.
func TestProofFails(t *testing.T) {
	bad := errors.New("bad")
	walk := func(convert.Visit) error { return bad }
	for _, way := range []int64{0, 1 << 20} {
		_, _, err := convert.Prove(t.Context(), t.TempDir()+"/part.xdsp", recorder.Facts{}, walk, &convert.Proof{Seqs: []session.Seq{3}, Way: way}, convert.CutOptions{})
		if !errors.Is(err, bad) {
			t.Errorf("%v", err)
		}
	}
	p := &convert.Proof{}
	all := []check.Finding{{LastSeq: 1}, {LastSeq: 2}}
	if got := p.Among(all); len(got) != 2 {
		t.Errorf("%d of all", len(got))
	}
	one, two := &check.Rule{ID: "one"}, &check.Rule{ID: "two"}
	p.Findings = []check.Finding{{Rule: one, Client: "a", Type: "CDS", Severity: check.Warning, Names: []string{"x"}, Clients: []string{"a", "b"}}}
	for _, tc := range []struct {
		f    check.Finding
		want bool
	}{
		{check.Finding{Rule: one, Client: "a", Type: "CDS", Severity: check.Warning, Names: []string{"x"}}, true},
		{check.Finding{Rule: one, Client: "a", Type: "CDS", Severity: check.Error, Names: []string{"y"}}, true}, // one of its clients
		{check.Finding{Rule: one, Client: "b", Type: "CDS"}, true},
		{check.Finding{Rule: one, Client: "b", Type: "EDS"}, false},
		{check.Finding{Rule: two, Client: "b", Type: "CDS"}, false},
		{check.Finding{Rule: one, Client: "c", Type: "CDS", Severity: check.Error, Names: []string{"x"}}, false},
	} {
		if got := len(p.Among([]check.Finding{tc.f})) == 1; got != tc.want {
			t.Errorf("%s of %s, %s: %t", tc.f.Rule.ID, tc.f.Client, tc.f.Type, got)
		}
	}
}
