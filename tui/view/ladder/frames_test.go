package ladder

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: conversations of a stream and of a client as arrows, and what keys do there.
func TestFrames(t *testing.T) {
	for name, at := range map[string]session.Seq{"envoy-sotw-nack": 8, "grpc-go-nack": 5, "server-sends-another-type": 4} {
		scr := viewtest.Session(t, root, name)
		scr.Run(Open(scr, view.Selection{}))
		scr.Run(Open(scr, view.Selection{Seq: 99999}))
		scr.Run(Open(scr, view.Selection{Seq: at}))
		v := scr.Top()
		got := scr.Play(v, 90, 16, key.Up, key.Pair, key.Pair, key.Down, key.Down, key.Open, key.Diff, key.Mark, key.Note, key.CopyAs, key.Copy, key.Filter, key.NextMatch, key.First, key.Violation, key.Violation, key.Violation, key.Violation, key.Right, key.Left, key.Last, key.Toggle)
		got += scr.Ask(v, "NACK")
		got += scr.Play(v, 60, 9, key.First, key.NextMatch, key.NextMatch, key.PrevMatch, key.PageDown)
		got += scr.Play(v, 40, 3, key.PageDown)
		scr.Run(v.Click(scr, 3, 2, false))
		got += scr.Frame(v, 80, 12)
		scr.Run(v.Click(scr, 3, 1, true))
		got += scr.Frame(v, 80, 12)
		got += scr.Play(v, 80, 12, key.Ladder)
		for _, c := range scr.Seen().Standing {
			scr.Run(Open(scr, view.Selection{Client: c.Client}))
			got += scr.Play(scr.Top(), 100, 20, key.First)
		}
		golden.Is(t, "testdata/"+name+".txt", got)
	}
}

// TestTour: all that a ladder can do, of conversations with all kinds of entries.
func TestTour(t *testing.T) {
	for name, at := range map[string]session.Seq{"aggregated": 12, "beside": 4} {
		scr := viewtest.Told(t, root, name)
		unread := &View{}
		scr.Run(unread.Do(scr, key.Copy))
		got := scr.Frame(unread, 80, 4)
		scr.Run(Open(scr, view.Selection{Seq: at}))
		v := scr.Top().(*View)
		got += scr.Tour(v)
		for range 12 {
			scr.Run(v.Do(scr, key.Violation))
			got += scr.Frame(v, 80, 5)
		}
		for range v.Pane.Lines {
			scr.Run(v.Do(scr, key.Up))
			scr.Run(v.Do(scr, key.Pair))
			about := v.About(scr)
			got += about.PlainText() + "\n"
		}
		for h := range 6 {
			got += scr.Frame(v, 80, h)
		}
		golden.Is(t, "testdata/tour-"+name+".txt", got)
	}
}
