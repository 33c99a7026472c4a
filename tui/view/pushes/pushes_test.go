package pushes

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: what changed, how far each change came, and what each key does with
// it, in rooms of several sizes.
func TestFrames(t *testing.T) {
	for _, name := range []string{"demo", "client-tells-no-node"} {
		scr := viewtest.Session(t, root, name)
		v := New()
		got := scr.Play(v, 100, 14, key.First, key.Down, key.Open, key.Diff, key.Ladder, key.Resources, key.Copy, key.Follow, key.Up, key.Follow, key.Last, key.Unfilter, key.Zoom)
		got += scr.Play(v, 80, 12, key.Up, key.PageUp, key.Open)
		got += scr.Play(v, 40, 8, key.Down)
		got += scr.Play(v, 30, 4)
		for _, words := range []string{"rejected", "cds", "no such words", ""} {
			got += scr.Ask(v, words)
			got += scr.Play(v, 80, 12, key.Open)
		}
		got += scr.Play(v, 80, 12, key.Unfilter, key.Unfilter, key.Unfilter)
		got += scr.Widths(New())
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: pushes that were rejected and overtaken, and all that can be done with them.
func TestTour(t *testing.T) {
	for _, name := range []string{"aggregated", "delta"} {
		scr := viewtest.Told(t, root, name)
		golden.Is(t, filepath.Join("testdata", "tour-"+name+".txt"), scr.Tour(New()))
	}
}
