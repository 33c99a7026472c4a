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
