package findings

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: the list of findings, how it is sorted and filtered, and what keys do there.
func TestFrames(t *testing.T) {
	for _, name := range []string{"envoy-sotw-nack", "server-sends-another-type", "envoy-delta"} {
		scr := viewtest.Session(t, root, name)
		v := New()
		got := scr.Play(v, 120, 16, key.Down, key.Down, key.Open, key.Only, key.Not, key.Copy, key.Diff, key.Violation, key.Sort, key.Sort, key.Reverse, key.Last, key.First, key.Resources)
		got += scr.Play(v, 80, 12, key.PageDown, key.Sort)
		got += scr.Play(v, 50, 30)
		got += scr.Ask(v, "reject")
		got += scr.Ask(v, "nothing like it")
		said, cmd := v.Preview(scr, "cluster")
		if got += "preview: " + said + "\n"; cmd != nil {
			scr.Run(cmd)
		}
		got += scr.Ask(v, "")
		got += scr.Play(v, 80, 24, key.First)
		if len(scr.Seen().Folded) > 0 {
			scr.Run(v.Silence(scr))
		}
		got += scr.Frame(v, 80, 24)
		scr.Run(v.Click(scr, 3, 1, false))
		got += scr.Frame(v, 80, 24)
		got += scr.Widths(New())
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: findings of every kind, and all that can be done with them.
func TestTour(t *testing.T) {
	for _, name := range []string{"aggregated", "effect"} {
		scr := viewtest.Told(t, root, name)
		golden.Is(t, filepath.Join("testdata", "tour-"+name+".txt"), scr.Tour(New())+live(t, scr))
	}
}

// live is what is shown while more may come, in several rooms, of each row.
func live(t *testing.T, scr *viewtest.Screen) string {
	now, v := scr.Live(t), New()
	got := now.Play(v, 130, 24, key.Down, key.Down, key.Right, key.Down, key.Down, key.Down, key.Down, key.Open, key.Down, key.Down) + now.Frame(v, 50, 12) + now.Frame(v, 80, 12)
	return got + now.Ask(v, "no such words") + viewtest.New(t, now.Log().Source).Frame(New(), 80, 6)
}

// Show selects the finding that an entry proved, but for one that is selected already.
func TestShow(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := New()
	scr.Frame(v, 80, 24)
	var rules []string
	for _, seq := range []session.Seq{0, 17, 15, 50, 999, 0} {
		v.Show(seq)
		rules = append(rules, fmt.Sprintf("%d: %s, line %d", seq, v.Finding().Rule.ID, v.win.At))
	}
	for i := range v.List.Rows {
		f := v.List.all[v.List.Rows[i]]
		v.win.At = 0
		v.Show(f.LastSeq)
		if got := v.Finding(); got.LastSeq != f.LastSeq && !slices.Contains(got.Seqs, f.LastSeq) {
			t.Errorf("%d of %s leads to %s", f.LastSeq, f.Rule.ID, got.Rule.ID)
		}
		v.Show(f.Seqs[0])
		if got := v.Finding(); got.LastSeq != f.Seqs[0] && !slices.Contains(got.Seqs, f.Seqs[0]) {
			t.Errorf("%d of %s leads to %s", f.Seqs[0], f.Rule.ID, got.Rule.ID)
		}
	}
	golden.Is(t, filepath.Join("testdata", "show.txt"), strings.Join(rules, "\n")+"\n")
	v = New()
	if v.Show(17); v.Finding() != nil {
		t.Error("there is no list yet")
	}
}

// Of many entries that are involved the first and the last are named; what one client
// alone has in common with all of them is in the filter.
func TestInvolved(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	f := scr.Seen().Folded[0]
	var got strings.Builder
	for n := 7; n <= 9; n++ {
		f.Seqs = nil
		for i := range n {
			f.Seqs = append(f.Seqs, session.Seq(i+5))
		}
		f.LastSeq = f.Seqs[0]
		for _, l := range seenLines(scr, &f, 100) {
			got.WriteString(l.PlainText() + "\n")
		}
	}
	for _, tc := range []struct {
		client, typ string
		seqs        []session.Seq
	}{{"grpc-client", "RDS", []session.Seq{28, 30}}, {"grpc-client", "RDS", []session.Seq{28, 12}}, {"grpc-client", "CDS", []session.Seq{28}}, {"", "", []session.Seq{28, 999}}} {
		f.Client, f.Type, f.Seqs, f.LastSeq = tc.client, tc.typ, tc.seqs, 0
		fmt.Fprintf(&got, "%+v: %s | %s\n", tc, findingFilter(scr, &f), seqWords(involved(&f)))
	}
	f.Clients, f.MoreClients, f.Sources = []string{"a", "b"}, true, []render.Source{{Kind: "Gateway", Namespace: "infra", Name: "eg"}}
	for _, l := range seenLines(scr, &f, 60) {
		got.WriteString(l.PlainText() + "\n")
	}
	golden.Is(t, filepath.Join("testdata", "involved.txt"), got.String())
}
