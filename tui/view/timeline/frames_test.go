package timeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: the entries, how they are filtered and folded, and what keys do there.
func TestFrames(t *testing.T) {
	for _, name := range []string{"demo"} {
		scr := viewtest.Session(t, root, name)
		v := New(false)
		got := scr.Play(v, 120, 12, key.Last, key.Up, key.Up, key.Pair, key.Pair, key.First, key.Down, key.HalfDown, key.NextStream, key.NextStream, key.PrevStream, key.Open, key.Only, key.Not, key.Copy, key.Time, key.Time, key.Form, key.Down, key.Form, key.Violation, key.Sort, key.Sort, key.Reverse, key.PageUp, key.Sort, key.Sort, key.Sort, key.Follow)
		got += scr.Play(v, 80, 12, key.PageDown, key.Narrower, key.Toggle)
		got += scr.Play(v, 50, 10, key.First)
		got += scr.Ask(v, "kind:nack")
		got += scr.Ask(v, "type:cds")
		got += scr.Play(v, 80, 12, key.First, key.Down, key.Last, key.Open)
		got += scr.Ask(v, "not a = filter ((")
		got += scr.Ask(v, "")
		scr.Run(v.Click(scr, 3, 2, false))
		got += scr.Frame(v, 80, 24)
		got += scr.Widths(New(false))
		got += scr.Widths(&View{brief: true})
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: entries of every kind, and all that can be done with them.
func TestTour(t *testing.T) {
	for i, name := range []string{"aggregated", "beside", "delta", "effect"} {
		scr, v := viewtest.Told(t, root, name), New(false)
		v.brief = i%2 > 0 // one of its keys turns that round, for what comes behind
		golden.Is(t, filepath.Join("testdata", "tour-"+name+".txt"), scr.Tour(v))
	}
}

// TestMarks: marks and remarks are walked along, shown alone, and filtered anew when
// there are others.
func TestMarks(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := New(false)
	got := scr.Play(v, 120, 10, key.NextMark, key.OnlyMarks)
	for _, seq := range []session.Seq{3, 12, 30} {
		scr.Log().Index.Annotate(&session.Note{Code: session.NoteMark, About: seq})
	}
	scr.Log().Index.Annotate(&session.Note{Code: session.NoteRemark, About: 12, Text: "look here"})
	got += scr.Play(v, 120, 10, key.NextMark, key.NextMark, key.NextMark, key.NextMark, key.NextMark, key.OnlyMarks, key.NextMark)
	scr.Log().Index.Annotate(&session.Note{Code: session.NoteUnmark, About: 12})
	got += scr.Frame(v, 80, 6)
	got += scr.Play(v, 80, 10, key.OnlyMarks, key.Unfilter, key.Unfilter, key.Unfilter, key.Unfilter)
	for _, seq := range []session.Seq{3, 30} {
		scr.Log().Index.Annotate(&session.Note{Code: session.NoteUnmark, About: seq})
	}
	got += scr.Play(v, 80, 6, key.NextMark, key.OnlyMarks)
	scr.Log().Index.Annotate(&session.Note{Code: session.NoteMark, About: 1})
	got += scr.Play(v, 80, 6, key.NextMark, key.NextMark)
	for _, seq := range []session.Seq{1, 5, 9, 50, 999} {
		scr.Run(v.GoTo(scr, seq))
		v.Follows(scr, seq)
		got += fmt.Sprintf("to %d: %+v\n", seq, v.Selected(scr)) + scr.Frame(v, 80, 4)
	}
	golden.Is(t, filepath.Join("testdata", "marks.txt"), got)
}

// TestGrowing: while entries come the list follows, or says how many are new, and a
// search that needs what entries say goes behind them.
func TestGrowing(t *testing.T) {
	whole := viewtest.Told(t, root, "aggregated")
	scr := whole.Live(t)
	v := New(true)
	got := scr.Play(v, 80, 6, key.Follow, key.Down, key.Open, key.Follow)
	got += fmt.Sprintf("ahead %t, news %q\n", v.Ahead(), v.News(scr))
	scr.Read(t)
	got += scr.Play(v, 100, 8, key.Up, key.Follow, key.Last, key.First, key.Sort, key.Follow)
	got += fmt.Sprintf("ahead %t, news %q\n", v.Ahead(), v.News(scr))
	for _, text := range []string{"c1", "kind:resp c3", "summary"} {
		said, cmd := v.Preview(scr, text)
		scr.Run(cmd)
		again, _ := v.Preview(scr, text)
		got += fmt.Sprintf("preview of %s: %q, %q\n", text, said, again) + scr.Ask(v, text)
	}
	for _, text := range []string{"((", "", "c2", "c"} {
		said, _ := v.Preview(scr, text)
		got += fmt.Sprintf("preview of %s: %q\n", text, said)
	}
	scr.Log().Open = func() (index.Reader, error) { return nil, errors.New("no such file") }
	got += scr.Ask(v, "nothing like it")
	v = New(false)
	v.from = 40
	got += scr.Frame(v, 80, 5) + fmt.Sprintf("news %q\n", v.News(scr))
	golden.Is(t, filepath.Join("testdata", "growing.txt"), got)
}
