package detail

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: each form of a response, of its answer and of a stream, as read, and what keys do
// in them.
func TestFrames(t *testing.T) {
	for _, name := range []string{"envoy-sotw-nack", "rest-nack"} {
		scr := viewtest.Session(t, root, name)
		got := ""
		n, last := scr.Log().Index.Extent()
		for seq := session.Seq(1); seq <= min(last, 16) && n > 0; seq++ {
			v := New(scr, seq).(*View)
			got += scr.Play(v, 80, 14)
			if seq%5 == 0 {
				got += scr.Play(v, 60, 20, key.Form, key.Form, key.Form, key.Down, key.Down, key.Only, key.Form, key.NextMatch)
			}
		}
		v := New(scr, 10).(*View)
		got += scr.Play(v, 100, 12, key.NextStream, key.NextStream, key.PrevStream, key.Pair, key.Pair, key.Newer, key.Older, key.Violation, key.Violation, key.Down, key.Open, key.Not, key.Copy, key.Wrap, key.Toggle, key.Last)
		got += scr.Ask(v, "cluster")
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: entries of every kind in detail.
func TestTour(t *testing.T) {
	for _, name := range []string{"beside", "delta", "aggregated", "effect"} {
		scr := viewtest.Told(t, root, name)
		got := ""
		_, last := scr.Log().Index.Extent()
		for seq := session.Seq(1); seq <= last; seq++ {
			v := New(scr, seq)
			got += scr.Frame(v, 80, 12)
			if seq%6 == 0 {
				got += scr.Play(v, 80, 16, key.Form, key.Form, key.Form, key.Form)
			}
		}
		got += scr.Tour(New(scr, last/2))
		golden.Is(t, filepath.Join("testdata", "tour-"+name+".txt"), got)
	}
}
