package tui

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// A screen that is held shows what it showed, until it is let go: the header says
// since when. Keys that would change it say so.

func (m *Model) freeze() {
	m.picture = nil
	if m.frozen = !m.frozen; m.frozen {
		m.frozenAt = m.now()
		m.Say("the screen is held still, and recording goes on; z lets it go")
	}
}

// hold is the lines as they were when the screen was held, with the message line
// of now. A screen of another size is held as it is then.
func (m *Model) hold(lines []widget.Line) []widget.Line {
	if len(m.picture) != m.h || m.pictureOf != m.w {
		m.picture, m.pictureOf = slices.Clone(lines), m.w
		m.picture[m.h-2] = m.aboutLine()
	}
	out := slices.Clone(m.picture)
	if m.events.fresh(m.now()) {
		out[m.h-2] = lines[m.h-2]
	}
	return out
}

// still says whether a screen that is held keeps an action from being done.
func (m *Model) still(a key.Action) bool {
	if !m.frozen || a == key.Freeze || a == key.Stop {
		return false
	}
	m.Say("the screen is held as it was; z lets it go")
	return true
}
