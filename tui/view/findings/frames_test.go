package findings

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
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
