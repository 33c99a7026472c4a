package tui

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/view"
)

func (d *driver) clickAt(x, y int) {
	d.give(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	d.look()
}

func TestMouse(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	open := func(o Options) *driver {
		o.Theme, o.Now = "mono", func() time.Time { return at }
		d := drive(t, fileSource(sessionPath("envoy-sotw-nack")), 80, 24, o)
		_ = d.frame()
		return d
	}
	d := open(Options{})
	d.clickAt(20, 5)
	shows(t, d, "3 of 23", ">       3")
	if len(d.m.over) > 0 {
		t.Error("one click opens")
	}
	at = at.Add(time.Second)
	d.clickAt(20, 5)
	if len(d.m.over) > 0 {
		t.Error("two slow clicks open")
	}
	d.clickAt(20, 5)
	if len(d.m.over) == 0 {
		t.Error("two clicks do not open")
	}

	d = open(Options{})
	d.give(tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelDown})
	shows(t, d, "4 of 23")
	d.give(tea.MouseWheelMsg{X: 5, Y: 10, Button: tea.MouseWheelUp})
	shows(t, d, "1 of 23")

	for _, c := range []struct {
		x    int
		want string
	}{{2, "[1 Clients]"}, {10, "[1 Clients]"}, {14, "[2 Timeline]"}, {28, "[3 Resources]"}, {44, "[4 Violations]"}, {60, "[5 Stats]"}, {70, "[6 Pushes]"}} {
		d = open(Options{})
		d.clickAt(c.x, 1)
		shows(t, d, c.want)
	}

	// Where there is no room for the names, each of the others has its digit.
	d = open(Options{})
	d.press("enter")
	shows(t, d, "1  [2 Timeline]  3   4   5   6  > Message")
	d.clickAt(18, 1)
	shows(t, d, "[3 Resources]")

	d = open(Options{})
	d.press("1")
	_ = d.frame() // it is drawn before it can be clicked
	d.clickAt(20, 2)
	shows(t, d, "sorted: name")
	d.clickAt(20, 3)
	shows(t, d, "1 of 1")

	// Beside others, a view gets the keys with a click, and scrolls without.
	at = at.Add(time.Second)
	d = drive(t, fileSource(sessionPath("demo")), 160, 50, Options{Theme: "mono", Now: func() time.Time { return at }})
	frame := strings.Split(d.frame(), "\n")
	row := slices.IndexFunc(frame, func(l string) bool { return strings.Contains(l, "RESOURCES") })
	before := d.m.timeline.At
	d.give(tea.MouseWheelMsg{X: 5, Y: row + 2, Button: tea.MouseWheelDown})
	if d.m.focused() != view.View(d.m.timeline) || d.m.timeline.At != before || d.m.resources.Win.At != 3 {
		t.Errorf("the wheel moves %d and %d", d.m.timeline.At, d.m.resources.Win.At)
	}
	d.clickAt(5, row+1)
	if d.m.focused() != view.View(d.m.resources) {
		t.Error("a click does not give it the keys")
	}

	// Nothing is moved where something is typed, or behind the frame.
	d = open(Options{})
	d.press("/")
	d.clickAt(20, 8)
	d.press("esc")
	d.clickAt(20, 21)
	d.clickAt(20, 23)
	d.clickAt(79, 1)
	d.give(tea.MouseClickMsg{X: 20, Y: 8, Button: tea.MouseRight})
	shows(t, d, "1 of 23", "[2 Timeline]")

	d = open(Options{NoMouse: true})
	d.clickAt(20, 8)
	shows(t, d, "1 of 23")
	if v := d.m.View(); v.MouseMode != tea.MouseModeNone {
		t.Error("the mouse is taken from the terminal")
	}
}
