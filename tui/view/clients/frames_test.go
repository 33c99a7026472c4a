package clients

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: where clients stand, how they are sorted and filtered, and what keys do there.
func TestFrames(t *testing.T) {
	for _, name := range []string{"demo", "grpc-go-nack"} {
		scr := viewtest.Session(t, root, name)
		v := New()
		got := scr.Play(v, 120, 12, key.Down, key.Toggle, key.Down, key.Down, key.Open, key.Up, key.Only, key.Not, key.Copy, key.Resources, key.Left, key.Sort, key.Sort, key.Reverse, key.Sort, key.Last, key.First, key.Right)
		got += scr.Play(v, 80, 12, key.PageDown, key.Narrower)
		got += scr.Play(v, 50, 30, key.Right)
		got += scr.Ask(v, "CDS")
		got += scr.Ask(v, "nothing like it")
		got += scr.Ask(v, "")
		scr.Run(v.Click(scr, 3, 2, false))
		got += scr.Frame(v, 80, 24)
		got += scr.Widths(New())
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: clients of whom more is known, and all that can be done with them.
func TestTour(t *testing.T) {
	for _, name := range []string{"aggregated", "effect", "delta"} {
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
