package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
)

// sayWhy says why an action that was done at once changed nothing that is shown,
// and said nothing itself: said is how much had been said before it.
func (m *Model) sayWhy(a key.Action, said uint64, cmd tea.Cmd) tea.Cmd {
	if cmd != nil || m.events.said != said || m.prompt != nil || m.palette != nil || m.dialog != nil || !sameBody(m.frame, m.Frame()) {
		return nil
	}
	switch a {
	case key.View1, key.View2, key.View3, key.View4, key.View5, key.View6:
		m.Say("this is %s", m.top().Title())
	case key.Up, key.First, key.HalfUp, key.PageUp:
		m.Say("there is nothing above this")
	case key.Down, key.Last, key.HalfDown, key.PageDown:
		m.Say("there is nothing below this")
	case key.Left:
		m.Say("there is nothing to fold here, and nothing on the left")
	case key.Right:
		m.Say("there is nothing to unfold here, and nothing on the right")
	case key.NextPane, key.PrevPane:
		m.Say("there is nothing else to choose here")
	case key.Sort, key.Reverse:
		m.Say("what is listed stays in the same order")
	case key.Wrap:
		m.Say("no line here is longer than the screen is wide")
	default:
		m.Say("%s changes nothing here", key.BindingOf(a).Keys[0])
	}
	return nil
}

// sameBody says whether two frames are the same but for what the message line
// says.
func sameBody(a, b string) bool {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(x) != len(y) || len(x) < 2 {
		return false
	}
	for i := range x {
		if i != len(x)-2 && x[i] != y[i] {
			return false
		}
	}
	return true
}
