package widget

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

// Window is the part of a list that is visible, and what is selected in it, by
// position. The list itself is elsewhere, and may be of any length.
type Window struct {
	Top, At int
	Rows    int // visible ones
}

// Fit keeps the selection in the list and the window around it.
func (w *Window) Fit(total, rows int) {
	w.Rows = max(rows, 1)
	w.At = min(max(w.At, 0), max(total-1, 0))
	w.Top = min(max(w.Top, w.At-w.Rows+1), w.At)
	w.Top = min(max(w.Top, 0), max(total-w.Rows, 0))
}

// Move changes the selection; false if the action is another one.
func (w *Window) Move(a key.Action, total int) bool {
	switch a {
	case key.Up:
		w.At--
	case key.Down:
		w.At++
	case key.HalfUp:
		w.scroll(-w.Rows / 2)
	case key.HalfDown:
		w.scroll(w.Rows / 2)
	case key.PageUp:
		w.scroll(-w.Rows)
	case key.PageDown:
		w.scroll(w.Rows)
	case key.First:
		w.At = 0
	case key.Last:
		w.At = total - 1
	default:
		return false
	}
	w.Fit(total, w.Rows)
	return true
}

func (w *Window) scroll(by int) {
	w.At += by
	w.Top += by
}

// Place is where the selection is in a list.
func (w *Window) Place(total int) string {
	if total == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%s of %s", render.Number(int64(w.At+1)), render.Number(int64(total)))
}

// HasWords says whether a text has every word; one with a dash before it must
// not be there.
func HasWords(text, words string) bool {
	text = strings.ToLower(text)
	for _, w := range strings.Fields(strings.ToLower(words)) {
		w, not := strings.CutPrefix(w, "-")
		if w != "" && strings.Contains(text, w) == not {
			return false
		}
	}
	return true
}

// Draw is the rows of a list that are visible, the selected one marked.
func (w *Window) Draw(total, rows int, row func(i int) Line) []Line {
	var out []Line
	for i := w.Top; i < min(w.Top+rows, total); i++ {
		l := row(i)
		l.Choose(i == w.At)
		out = append(out, l)
	}
	return out
}
