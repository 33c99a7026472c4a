package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/engine/history"
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

// TestTour: all that a comparison can do, with responses of every kind, their
// resources one by one, and what a client was never sent before.
func TestTour(t *testing.T) {
	got := ""
	for _, name := range []string{"aggregated", "delta"} {
		scr := viewtest.Told(t, root, name)
		opened := 0
		for i := range scr.Log().Index.Len() {
			r, _ := scr.Log().Index.Row(i)
			if !r.What.Response() || opened == 3 {
				continue
			}
			scr.Run(Open(scr, view.Selection{Seq: r.Seq, Within: "c3"}, false))
			v, is := scr.Top().(*View)
			if !is {
				continue
			}
			opened++
			got += fmt.Sprintf("##### %s, %d: %+v\n", name, r.Seq, v.Selected(scr))
			got += scr.Play(v, 100, 30, key.Down, key.Toggle, key.NextMatch, key.NextMatch, key.PrevMatch, key.Older, key.Newer, key.Newer, key.Pager, key.Copy, key.Open, key.Last, key.Toggle)
			for h := range 5 {
				got += scr.Frame(v, 60, h)
			}
			scr.Run(v.Do(scr, key.Close))
			scr.Over = nil
		}
	}
	golden.Is(t, "testdata/tour.txt", got)
}

// lastOf is the last entry that has another one of its type before it.
func lastOf(scr *viewtest.Screen, what index.What) session.Seq {
	for i := scr.Log().Index.Len() - 1; i >= 0; i-- {
		if r, _ := scr.Log().Index.Row(i); r.What == what && scr.Log().Index.Version(r.Seq, false) != 0 {
			return r.Seq
		}
	}
	return 0
}

// What is said of a resource in a list, where nothing is shown of it, and of the two
// versions of it.
func TestWords(t *testing.T) {
	two := index.Edition{Seq: 7, Version: strings.Repeat("v", 80), Verdict: index.NACK}
	one := index.Edition{Seq: 5, Version: "1", Verdict: index.ACK}
	scr := viewtest.Told(t, root, "aggregated")
	r := lastOf(scr, index.RESP)
	before := scr.Log().Index.Version(r, false)
	c, err := scr.Log().Fetch.Messages(t.Context(), before, r)
	if err != nil || c.Result == nil {
		t.Fatal(before, r, err)
	}
	some := c.Result
	some.Coarse, some.Count[diff.Changed] = true, 12
	for _, tc := range []struct {
		c      index.Compared
		change string
		side   string
		unseen bool
	}{
		{index.Compared{Kind: diff.Same, Old: one, New: two}, "none", "It differs.", false},
		{index.Compared{Kind: diff.Removed, Old: one, New: two}, "gone", "It is gone.", true},
		{index.Compared{Kind: diff.Added, New: two, Lost: index.Unseen}, "what it had before is not known", "What the client had before is not known.", true},
		{index.Compared{Kind: diff.Added, New: two, Lost: index.LetGo}, "what it had before is not kept any more", "What the client had before was seen too long ago: it is not kept any more.", true},
		{index.Compared{Kind: diff.Added, New: two}, "new", "It was not there before.", true},
		{index.Compared{Kind: diff.Changed, Old: one, New: two}, "changed", "It differs.", true},
		{index.Compared{Kind: diff.Changed, Old: one, New: two, Result: some}, "changed in more than 12 places", "It differs.", false},
		{index.Compared{Kind: diff.Changed, Old: one, New: two, Result: &diff.Result{}}, "", "It differs.", false},
	} {
		if _, got := ChangeOf(&tc.c); got != tc.change {
			t.Errorf("%+v: %q, not %q", tc.c, got, tc.change)
		}
		if got := sideWords(&tc.c); got != tc.side {
			t.Errorf("%+v: %q, not %q", tc.c, got, tc.side)
		}
		if got := unseen(&tc.c); tc.c.Kind != diff.Same && got != tc.unseen {
			t.Errorf("%+v: to be looked into %t", tc.c, got)
		}
	}
	for want, c := range map[string]index.Compared{
		"There are no resources in it to compare.": {Kind: diff.Moved},
		"There is no difference.":                  {New: two},
	} {
		var items []index.Compared
		if c.New.Seq != 0 {
			items = []index.Compared{c}
		}
		if got := noDifference(items, "CDS"); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	var b strings.Builder
	for _, lost := range []index.Knowledge{index.Known, index.Unseen, index.LetGo} {
		c := index.Compared{Old: one, New: two, Lost: lost}
		fmt.Fprintf(&b, "%s\n%s\n%s\n", editions(&c, shortVersion), editions(&c, longVersion), noDifference([]index.Compared{c}, "CDS"))
	}
	b.WriteString(editions(&index.Compared{}, longVersion) + "\n")
	// What differs in a message, and how many do not.
	for _, n := range []int{0, 1, 2} {
		items := []index.Compared{{Name: "a", Kind: diff.Changed, Old: one, New: two, Result: some}}
		for i := range n {
			items = append(items, index.Compared{Name: fmt.Sprint(i), Kind: diff.Same, Old: one, New: two})
		}
		b.WriteString("== page\n")
		for _, l := range DiffPage(items, "CDS") {
			b.WriteString(l.PlainText() + "\n")
		}
	}
	alone := DiffPage([]index.Compared{{Kind: diff.Changed, Old: one, New: two}}, "CDS")
	fmt.Fprintf(&b, "== alone\n%d lines: %s\n", len(alone), alone[len(alone)-1].PlainText())
	var long []index.Compared
	for i := range maxDiffLines/2 + 2 {
		long = append(long, index.Compared{Name: fmt.Sprint(i), Kind: diff.Changed, Old: one, New: two})
	}
	page := DiffPage(long, "CDS")
	fmt.Fprintf(&b, "== long\n%d lines: %s\n", len(page), page[len(page)-1].PlainText())
	golden.Is(t, "testdata/words.txt", b.String())
}

// Which of its versions a resource is shown in, by the entry that one came with.
func TestVersionAt(t *testing.T) {
	versions := []history.Version{{Seq: 5, Last: 7, State: engine.Acked}, {Seq: 9, Last: 9, State: engine.Acked}, {Seq: 12, Last: 20, State: engine.Rejected}, {Seq: 25, Last: 25, Removed: true}}
	for _, tc := range []struct {
		of   int // so many of them
		near session.Seq
		want history.Step
	}{
		{4, 0, history.Step{From: 1, To: 2}},
		{4, 4, history.Step{From: 1, To: 2}},
		{4, 5, history.Step{From: -1, To: 0}},
		{4, 7, history.Step{From: -1, To: 0}},
		{4, 8, history.Step{From: 1, To: 2}},
		{4, 9, history.Step{From: 0, To: 1}},
		{4, 12, history.Step{From: 1, To: 2}},
		{4, 20, history.Step{From: 1, To: 2}},
		{4, 25, history.Step{From: 2, To: 3}},
		{1, 0, history.Step{From: -1, To: 0}},
	} {
		p := past{versions: versions[:tc.of]}
		if p.at(tc.near); p.step != tc.want {
			t.Errorf("%d of %d: %+v, not %+v", tc.near, tc.of, p.step, tc.want)
		}
	}
	p := past{versions: versions, gone: 1200}
	p.at(12)
	if got := p.Where(); got != "3 of 4 versions, 1,200 forgotten" {
		t.Error(got)
	}
	v := &View{past: &p}
	for by, want := range map[int]bool{-3: false, -2: true, -1: true, 1: true, 2: false} {
		if v.fits(by) != want {
			t.Errorf("%d from 2 of 4: %t", by, !want)
		}
	}
}

// What goes wrong is said, and what there was stays; esc stops what is being read, and
// only then leaves.
func TestWhatGoesWrong(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	said := func(want ...string) {
		t.Helper()
		if got := strings.Join(scr.Said, "; "); got != strings.Join(want, "; ") {
			t.Errorf("said %q, not %q", got, want)
		}
		scr.Said = nil
	}
	open := scr.Log().Open
	scr.Log().Open = func() (index.Reader, error) { return nil, errors.New("no such file") }
	scr.Run(Open(scr, view.Selection{Client: "n1", Type: "CDS", Name: "c1"}, false))
	if scr.Top() != nil {
		t.Error("it stays open with nothing in it")
	}
	said("cannot read its versions: no such file")
	scr.Log().Open = open
	scr.Run(Open(scr, view.Selection{Client: "n1", Type: "CDS", Name: "never sent"}, false))
	if scr.Top() != nil {
		t.Error("it stays open with nothing in it")
	}
	said("no version of it was seen")
	scr.Run(Open(scr, view.Selection{Seq: 5}, false))
	v := scr.Top().(*View)
	n, first := len(v.items), v.items[0].Name
	if n < 1 {
		t.Fatal("nothing is compared")
	}
	v.tookInto(scr, lookedInto{err: errors.New("it is gone")})
	said("it is gone")
	other := &index.Compared{Name: "other", Only: &document.Tree{}}
	v.tookInto(scr, lookedInto{at: 0, item: other}) // of a comparison before
	v.tookInto(scr, lookedInto{at: n, item: &index.Compared{Name: first}})
	if v.items[0].Only == other.Only && other.Only != nil {
		t.Error("it takes what is about another comparison")
	}
	v.Handle(scr, compareReady{Err: errors.New("too large")})
	said("too large")
	if !scr.IsOpen(v) || len(v.items) != n {
		t.Error("what was there is gone")
	}
	stopped := v.compute(scr, "comparing", func(ctx context.Context) compareReady {
		<-ctx.Done()
		return compareReady{}
	})
	if got := v.Draw(scr, 80, 9)[0].PlainText(); got != " comparing; esc stops" {
		t.Errorf("drawn %q", got)
	}
	v.Do(scr, key.Older)
	said("it is still being read; esc stops")
	v.Do(scr, key.Close)
	said("stopped")
	if msg := stopped().(view.Reply).Msg; msg != nil || !scr.IsOpen(v) {
		t.Errorf("what was stopped gives %v", msg)
	}
	v.Do(scr, key.Close)
	if scr.IsOpen(v) {
		t.Error("esc does not leave")
	}
	empty := &View{whole: map[int]bool{}}
	for _, same := range []int{0, 1, 3} {
		empty.same = same
		want := map[int]string{0: "  There is no difference.", 1: "  There is no difference: 1 resource is as before.", 3: "  There is no difference: 3 resources are as before."}[same]
		if got := empty.Draw(scr, 80, 9)[1].PlainText(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	empty.busy = "comparing"
	if got := empty.Draw(scr, 80, 9)[1].PlainText(); got != "  comparing; esc stops" {
		t.Errorf("drawn %q", got)
	}
}
