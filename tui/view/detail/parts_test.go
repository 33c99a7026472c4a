package detail

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

func same(s string) string { return s }

// A summary has so many lines and one, whatever there is to say.
func TestSummaryIsBounded(t *testing.T) {
	for n, want := range map[int]int{maxSummaryLines: maxSummaryLines, maxSummaryLines + 1: maxSummaryLines + 1, maxSummaryLines + 2: maxSummaryLines + 1} {
		facts := make([]render.Fact, n)
		for i := range facts {
			facts[i] = render.Fact{Name: "n", Text: "t"}
		}
		if got := len(layFacts(nil, facts, 80, same)); got != want {
			t.Errorf("%d facts have %d lines, not %d", n, got, want)
		}
	}
}

// What is hidden of a fact is its text, and what that means.
func TestFactsAreHidden(t *testing.T) {
	alias := func(s string) string { return strings.ReplaceAll(s, "web", "cluster-1") }
	for _, tc := range [][3]string{{"web", "", "cluster-1"}, {"x", "of web", "of cluster-1"}, {"web", "of web", "cluster-1"}, {"x", "y", "x"}} {
		got := ""
		for _, l := range layFacts(nil, []render.Fact{{Name: "n", Text: tc[0], Means: tc[1]}}, 80, alias) {
			got += l.PlainText() + "\n"
		}
		if strings.Contains(got, "web") || !strings.Contains(got, tc[2]) {
			t.Errorf("%q is written as\n%s", tc, got)
		}
	}
}

// A fact whose name is longer than its column stands below it, and belongs to it.
func TestLongNames(t *testing.T) {
	for name, want := range map[string]string{"short": "0 short text", "x-rather-long-name-of-a-fact": "0 x-rather-long-name-of-a-fact, 1 text"} {
		var got []string
		for _, l := range layFact(nil, &render.Fact{Name: name, Text: "text"}, name, 8, 60) {
			got = append(got, fmt.Sprint(l.Level, " ", strings.Join(strings.Fields(l.PlainText()), " ")))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// That a message was cut is a problem where something of it is missing.
func TestCutMessages(t *testing.T) {
	for _, tc := range []struct {
		truncated bool
		size      int64
		want      bool
	}{{true, 5, true}, {true, 4, false}, {true, 3, false}, {false, 5, false}} {
		e := session.Entry{Kind: session.KindMessage, Message: &session.Message{Data: session.Chunks{make([]byte, 4)}, Size: tc.size, Truncated: tc.truncated}}
		got := strings.Join(problemsOf(&index.Fetched{Entry: e}), "; ")
		if strings.Contains(got, "were recorded") != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
}

// The page that is asked for is not asked for again; that of another entry is. The
// message at the other end is part of a summary and of what differs.
func TestPageIsAskedForOnce(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := New(scr, 5).(*View)
	cmd := v.Tick(scr)
	if cmd == nil || v.Tick(scr) != nil {
		t.Error("it is asked for not once")
	}
	r, ok := scr.Log().Index.BySeq(5)
	if !ok || r.Partner() == 0 {
		t.Fatal("5 has no pair")
	}
	for form := range Forms {
		v.Form = form
		want := r.Partner()
		if form != FormSummary && form != FormDiff {
			want = 0
		}
		if got := v.key(scr).partner; got != want {
			t.Errorf("%v is made of %d, too, not of %d", form, got, want)
		}
	}
	v.Form = FormSummary
	v.Show(7)
	if v.Seq != 7 || v.stop != nil || v.Tick(scr) == nil {
		t.Errorf("%d is shown", v.Seq)
	}
	if v.Show(7); v.stop == nil {
		t.Error("what is read already is given up")
	}
}

// From a line that is about another entry, the key leads there.
func TestFollowALine(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	led, stayed := 0, 0
	_, last := scr.Log().Index.Extent()
	for seq := session.Seq(1); seq <= last; seq++ {
		v := New(scr, seq).(*View)
		scr.Frame(v, 80, 40)
		for i := range v.Pane.Lines {
			to := session.Seq(v.Pane.Lines[i].Ref)
			w := New(scr, seq).(*View)
			scr.Frame(w, 80, 40)
			w.Pane.Show(i)
			scr.Said = nil
			w.follow(scr)
			said := strings.Contains(strings.Join(scr.Said, ", "), "this line is about no other entry")
			if to == 0 || to == seq {
				if stayed++; w.Seq != seq || !said {
					t.Errorf("line %d of %d leads to %d, said %q", i, seq, w.Seq, scr.Said)
				}
			} else if led++; w.Seq != to || said {
				t.Errorf("line %d of %d leads to %d, not to %d, said %q", i, seq, w.Seq, to, scr.Said)
			}
		}
	}
	if led == 0 || stayed == 0 {
		t.Errorf("%d lines lead on, %d do not", led, stayed)
	}
}
