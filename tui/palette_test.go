package tui

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/palette"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// The palette knows every action of every view, those that work everywhere, and
// the commands, and finds each by its name.
func TestPaletteKnowsEveryAction(t *testing.T) {
	d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, Options{Theme: "mono"})
	for _, v := range everyView(d) {
		d.m.show(1)
		d.m.Push(v)
		d.press("ctrl+p")
		p := d.m.palette
		if p == nil {
			t.Fatalf("there is no palette in %s", v.Title())
		}
		rows := p.Rows()
		has := func(a key.Action) bool {
			return slices.ContainsFunc(rows, func(i palette.Item) bool { return i.Act == a && i.Help != "" && i.Keys != "" })
		}
		var want []key.Action
		for _, o := range v.Keys() {
			want = append(want, o.Act)
		}
		for _, a := range append(want, key.Global()...) {
			if a != key.Palette && !has(a) {
				t.Errorf("%s: %s is not in the palette", v.Title(), a)
			}
		}
		for _, c := range d.m.commands() {
			if !slices.ContainsFunc(rows, func(i palette.Item) bool { return strings.TrimSpace(i.Command) == c.Name }) {
				t.Errorf("%s: :%s is not in the palette", v.Title(), c.Name)
			}
		}
		d.press("esc")
		if d.m.palette != nil {
			t.Fatal("esc leaves the palette open")
		}
	}
}

func TestPaletteDoes(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want state
	}{
		"an action by its name":         {append([]string{"ctrl+p"}, keysTyped("ladder")...), state{tab: 1, over: "Ladder", frame: "> Ladder"}},
		"by what it does":               {append([]string{"ctrl+p"}, keysTyped("what changed")...), state{tab: 1, over: "Diff"}},
		"a command":                     {append([]string{"ctrl+p"}, keysTyped("silence")...), state{tab: 1, said: "silence is for a finding"}},
		"a command that takes a rule":   {append(append([]string{"ctrl+p"}, keysTyped(":explain")...), keysTyped("nack-received")...), state{tab: 1, over: "Rule"}},
		"what is below":                 {[]string{"ctrl+p", "m", "a", "r", "k", "down", "enter"}, state{tab: 1, said: "nothing is marked yet"}},
		"nothing":                       {[]string{"ctrl+p", "m", "a", "r", "k", "esc"}, state{tab: 1}},
		"nothing has these words":       {append([]string{"ctrl+p"}, keysTyped("nonsense")...), state{tab: 1, frame: "nothing here has these words"}},
		"a place in the list":           {[]string{"ctrl+p"}, state{tab: 1, frame: "do:    "}},
		"a key of it means that letter": {[]string{"ctrl+p", "q"}, state{tab: 1, frame: " do: q "}},
	} {
		t.Run(name, func(t *testing.T) {
			d := openAt(t, "demo", 46, 80, 24)
			d.press(c.keys...)
			if d.m.palette == nil {
				d.press("ctrl+p", "esc") // it opens again
			}
			d.check(name, c.want)
		})
	}
	for _, s := range append(sizes(), [2]int{300, 80}) {
		d := drive(t, fileSource(sessionPath("demo")), s[0], s[1], Options{Theme: "mono"})
		d.press("ctrl+p")
		d.frame()
		if v := d.m.View(); v.Cursor == nil || d.m.top() == view.View(nil) {
			t.Error("the palette has no cursor")
		}
	}
}
