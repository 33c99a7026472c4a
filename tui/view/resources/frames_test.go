package resources

import (
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

const root = "../../.."

// chosenClient stands for the list of clients.
type chosenClient struct {
	view.Plain
	client string
}

func (c chosenClient) Selected(view.Screen) view.Selection { return view.Selection{Client: c.client} }
func (c chosenClient) Empty(view.Screen) []widget.Line     { return nil }

// TestFrames: the resources of a client, as a tree and by type, and what keys do there.
func TestFrames(t *testing.T) {
	for _, name := range []string{"envoy-delta-removed-while-routed", "envoy-sotw-nack"} {
		scr := viewtest.Session(t, root, name)
		got := ""
		for _, c := range scr.Seen().Standing {
			v := New(chosenClient{client: c.Client})
			got += scr.Play(v, 110, 14, key.Down, key.Right, key.Down, key.Down, key.Left, key.Toggle, key.Toggle, key.Copy, key.Open, key.Diff, key.Only, key.Last, key.Up, key.Left, key.Left, key.First, key.Form, key.Down, key.Down, key.Open, key.Form, key.Resources)
			got += scr.Play(v, 70, 12, key.PageDown, key.Narrower)
			got += scr.Ask(v, "cluster")
			got += scr.Ask(v, "nothing like it")
			said, cmd := v.Preview(scr, "listener")
			if got += "preview: " + said + "\n"; cmd != nil {
				scr.Run(cmd)
			}
		}
		got += scr.Widths(New(chosenClient{client: scr.Seen().Standing[0].Client}))
		golden.Is(t, filepath.Join("testdata", name+".txt"), got)
	}
}

// TestTour: resources in every state, and all that can be done with them.
func TestTour(t *testing.T) {
	for _, name := range []string{"aggregated", "effect"} {
		scr := viewtest.Told(t, root, name)
		got := scr.Play(New(chosenClient{}), 80, 10, key.Open, key.Form, key.Wider, key.Columns)
		for _, c := range scr.Seen().Standing[:1] {
			v := New(chosenClient{client: c.Client})
			got += scr.Tour(v)
			got += scr.Play(v, 130, 30, key.First, key.Form, key.Down, key.Down, key.Down, key.Down, key.Down, key.Down, key.Down, key.Down, key.Left, key.Right)
		}
		live := scr.Live(t)
		got += live.Frame(New(chosenClient{client: scr.Seen().Standing[0].Client}), 130, 12)
		golden.Is(t, filepath.Join("testdata", "tour-"+name+".txt"), got)
	}
}
