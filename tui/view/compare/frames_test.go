package compare

import (
	"fmt"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
)

const root = "../../.."

// TestFrames: each message of a session against what was there before, each resource along its
// versions, and what keys do there.
func TestFrames(t *testing.T) {
	for _, name := range []string{"envoy-sotw-nack", "envoy-delta-removed-while-routed", "grpc-go-nack"} {
		scr := viewtest.Session(t, root, name)
		got := ""
		open := func(s view.Selection, toMark bool, w, h int, actions ...key.Action) {
			t.Helper()
			scr.Over = nil
			got += fmt.Sprintf("=== %+v, to the mark: %t\n", s, toMark)
			scr.Run(Open(scr, s, toMark))
			if v := scr.Top(); v != nil {
				got += scr.Play(v, w, h, actions...)
			}
			for _, said := range scr.Said {
				got += "said: " + said + "\n"
			}
			scr.Said = nil
		}
		open(view.Selection{}, false, 80, 10)
		open(view.Selection{Client: "nobody"}, false, 80, 10)
		open(view.Selection{Client: "nobody", Type: "CDS", Name: "nothing"}, false, 80, 10)
		open(view.Selection{Seq: 99999}, false, 80, 10)
		open(view.Selection{Seq: 6}, true, 80, 10)
		_, last := scr.Log().Index.Extent()
		for seq := session.Seq(1); seq <= min(last, 24); seq++ {
			open(view.Selection{Seq: seq}, false, 80, 16, key.NextMatch)
		}
		scr.Log().Index.Annotate(&session.Note{Code: session.NoteMark, About: 5})
		for _, seq := range []session.Seq{3, 4, 5, 9} {
			open(view.Selection{Seq: seq}, true, 100, 12, key.Last)
		}
		all := []key.Action{key.Older, key.Older, key.Older, key.Newer, key.Newer, key.Newer, key.Toggle, key.Toggle, key.NextMatch, key.PrevMatch, key.PrevMatch, key.Copy, key.Open, key.Filter, key.Right, key.Left, key.Wrap, key.Last, key.Toggle, key.Close}
		versions := 0
		for i := range scr.Log().Index.Len() {
			r, _ := scr.Log().Index.Row(i)
			if r.What.Response() && versions < 6 {
				versions++
				open(view.Selection{Seq: r.Seq, Within: "nothing"}, false, 120, 24, all...)
				v := scr.Top()
				if v == nil {
					continue
				}
				got += scr.Ask(v, "name")
				got += scr.Play(v, 80, 8, key.NextMatch, key.PrevMatch)
				got += scr.Ask(v, "no such words")
				scr.Run(v.Click(scr, 3, 4, false))
				got += scr.Frame(v, 80, 1) + scr.Frame(v, 80, 2) + scr.Frame(v, 80, 9)
				if c := v.(*View).item(); c != nil {
					w := scr.Log().Index.Words(&r)
					open(view.Selection{Client: w.Client, Type: w.Type, Name: c.Name, Proof: []session.Seq{r.Seq}}, false, 80, 12, key.Older, key.Newer, key.Newer)
				}
			}
		}
		golden.Is(t, "testdata/"+name+".txt", got)
	}
}
