package tui

import (
	"github.com/xdsproxy/xdsproxy/tui/key"
)

// window is the part of a list that is visible, and what is selected in it, by
// position. The list itself is elsewhere, and may be of any length.
type window struct {
	top, at int
	rows    int // visible ones
}

// fit keeps the selection in the list and the window around it.
func (w *window) fit(total, rows int) {
	w.rows = max(rows, 1)
	w.at = min(max(w.at, 0), max(total-1, 0))
	w.top = min(max(w.top, w.at-w.rows+1), w.at)
	w.top = min(max(w.top, 0), max(total-w.rows, 0))
}

// move changes the selection; false if the action is another one.
func (w *window) move(a key.Action, total int) bool {
	switch a {
	case key.Up:
		w.at--
	case key.Down:
		w.at++
	case key.HalfUp:
		w.scroll(-w.rows / 2)
	case key.HalfDown:
		w.scroll(w.rows / 2)
	case key.PageUp:
		w.scroll(-w.rows)
	case key.PageDown:
		w.scroll(w.rows)
	case key.First:
		w.at = 0
	case key.Last:
		w.at = total - 1
	default:
		return false
	}
	w.fit(total, w.rows)
	return true
}

func (w *window) scroll(by int) {
	w.at += by
	w.top += by
}
