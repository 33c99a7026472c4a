package timeline

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
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
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: entries of every kind, and all that can be done with them.
func TestTour(t *testing.T) {
	for _, name := range []string{"aggregated", "beside"} {
		scr := viewtest.Told(t, root, name)
		golden.Is(t, filepath.Join("testdata", "tour-"+name+".txt"), scr.Tour(New(false)))
	}
}
