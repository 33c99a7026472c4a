package stats

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: what is counted of a session, and the biggest messages.
func TestFrames(t *testing.T) {
	for _, name := range []string{"demo"} {
		scr := viewtest.Session(t, root, name)
		v := New()
		v.Measure = func() uint64 { return 64 << 20 }
		got := scr.Play(v, 120, 40, key.Down, key.Down, key.Up, key.Open, key.Only, key.Copy, key.Last, key.First)
		got += scr.Play(v, 80, 24, key.PageDown)
		got += scr.Play(v, 40, 12)
		got += scr.Widths(New())
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: what is counted of conversations with all kinds of entries.
func TestTour(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := New()
	v.Measure = func() uint64 { return 64 << 20 }
	golden.Is(t, filepath.Join("testdata", "tour-aggregated.txt"), scr.Tour(v))
}
