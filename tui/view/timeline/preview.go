package timeline

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// Preview is how many rows a filter would show and hide. What was found by then
// is kept, and shown if the filter is set; with no text it is given up.
func (v *View) Preview(scr view.Screen, text string) (string, tea.Cmd) {
	if v.ahead != nil && v.ahead.text() != text {
		v.ahead.stop()
		v.ahead = nil
	}
	if text == "" {
		return view.Forecast(scr.Log().Index.Len(), scr.Log().Index.Len()), nil
	}
	if v.ahead == nil {
		f, err := filter.Parse(text)
		if err != nil {
			return "", nil
		}
		v.ahead = newFiltered(scr, f)
	}
	cmd := v.ahead.advance(scr, v)
	if v.ahead.to == 0 && v.ahead.busy {
		return "counting", cmd
	}
	said := view.Forecast(len(v.ahead.rows), v.ahead.to)
	if n := scr.Log().Index.Len(); v.ahead.to < n {
		said += " of the first " + render.Number(v.ahead.to)
	}
	return said, cmd
}
