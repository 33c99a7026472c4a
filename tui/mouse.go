package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// click is where the mouse was pressed last.
type click struct {
	x, y int
	at   time.Time
}

const (
	doubleClick = 400 * time.Millisecond
	wheelRows   = 3
)

// mouse does what a click or the wheel asks for. Where something is typed or
// asked, it does nothing.
func (m *Model) mouse(msg tea.MouseMsg) tea.Cmd {
	if m.opts.NoMouse || m.prompt != nil || m.palette != nil || m.dialog != nil || m.w < leastWidth || m.h < leastHeight {
		return nil
	}
	if m.frozen {
		m.still("")
		return nil
	}
	at := msg.Mouse()
	switch at.Button {
	case tea.MouseWheelUp:
		return m.wheel(at.X, at.Y, key.Up)
	case tea.MouseWheelDown:
		return m.wheel(at.X, at.Y, key.Down)
	case tea.MouseLeft:
		if _, is := msg.(tea.MouseClickMsg); is {
			return m.press(at.X, at.Y)
		}
	}
	return nil
}

// wheel scrolls what is below the mouse, whoever has the keys.
func (m *Model) wheel(x, y int, a key.Action) tea.Cmd {
	if y < m.bodyTop() || y >= m.bodyBottom() {
		return nil
	}
	v, _, _ := m.paneAt(x, y-m.bodyTop())
	if v == nil || !offered(v, a) {
		return nil
	}
	var cmds []tea.Cmd
	for range wheelRows {
		cmds = append(cmds, v.Do(m, a))
	}
	return tea.Batch(append(cmds, m.tickAll())...)
}

func offered(v view.View, a key.Action) bool {
	for _, o := range v.Keys() {
		if o.Act == a {
			return true
		}
	}
	return false
}

// press is a click of the left button. A second one at the same place, soon
// after, opens.
func (m *Model) press(x, y int) tea.Cmd {
	now := m.now()
	twice := m.clicked.x == x && m.clicked.y == y && !m.clicked.at.IsZero() && now.Sub(m.clicked.at) <= doubleClick
	m.clicked = click{x, y, now}
	if twice {
		m.clicked.at = time.Time{} // a third one begins anew
	}
	top, bottom := m.bodyTop(), m.bodyBottom()
	switch {
	case y == 1 && m.hasTabs():
		return m.pressTab(x)
	case y >= top && y < bottom:
		cmd := m.pressBody(x, y-top, twice)
		return tea.Batch(cmd, m.tickAll())
	}
	return nil
}

func (m *Model) hasTabs() bool { return m.w >= plainWidth && m.h >= plainHeight }

// bodyBottom is the row of the screen below the body.
func (m *Model) bodyBottom() int {
	if m.hasTabs() {
		return m.h - 3
	}
	return m.h - 2
}

// pressTab shows the view whose name was clicked.
func (m *Model) pressTab(x int) tea.Cmd {
	from, crowded := 0, m.crowded()
	for i := range m.tabs() {
		to := from + render.Width(m.tabWord(i, crowded)) + len(" []")
		if x > from && x < to {
			m.show(i)
			return m.tickAll()
		}
		from = to
	}
	return nil
}
