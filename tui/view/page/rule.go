package page

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// RulePage is what there is to know about a rule.
type RulePage struct {
	view.Plain
	Rule  *check.Rule
	Only  func() tea.Cmd // shows its findings
	lines []string
	width int // that they were made for
	top   int
	rows  int
}

func (v *RulePage) Title() string { return "Rule" }

func (v *RulePage) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Only, Hint: "only", Help: "the findings of this rule"},
		{Act: key.Copy, Hint: "copy", Help: "copy the page"},
	})
}

func (v *RulePage) Do(scr view.Screen, a key.Action) tea.Cmd {
	switch a {
	case key.Only:
		return v.Only()
	case key.Copy:
		return scr.Copy(render.RulePage(v.Rule, render.Style{}, 80), "the page")
	default:
		w := widget.Window{Top: v.top, At: v.top, Rows: v.rows}
		switch a {
		case key.Up:
			w.At--
		case key.Down:
			w.At++
		case key.Last:
			w.At = len(v.lines)
		default:
			w.Move(a, len(v.lines))
		}
		v.top = max(min(w.At, len(v.lines)-v.rows), 0)
	}
	return nil
}

func (v *RulePage) Draw(_ view.Screen, w, h int) []widget.Line {
	if width := min(w-2, 100); v.width != width {
		v.width, v.lines = width, strings.Split(strings.TrimRight(render.RulePage(v.Rule, render.Style{}, width), "\n"), "\n")
	}
	v.rows = h
	v.top = max(min(v.top, len(v.lines)-h), 0)
	var out []widget.Line
	for i, s := range v.lines[v.top:min(v.top+h, len(v.lines))] {
		look := widget.Plain
		if v.top+i == 0 || s == "Usual causes" || s == "What to do" {
			look = widget.Title
		}
		l := widget.Text(look, " ")
		if rest, is := strings.CutPrefix(s, v.Rule.ID); is && v.top+i == 0 {
			l.Add(widget.ToRule(look), v.Rule.ID)
			s = rest
		}
		l.Add(look, s)
		out = append(out, l)
	}
	return out
}

func (v *RulePage) Where(view.Screen) string {
	if v.rows >= len(v.lines) {
		return v.Rule.ID
	}
	return fmt.Sprintf("%s   lines %d-%d of %d", v.Rule.ID, v.top+1, min(v.top+v.rows, len(v.lines)), len(v.lines))
}

func (v *RulePage) About(scr view.Screen) widget.Line {
	n := 0
	for i := range scr.Seen().Folded {
		if scr.Seen().Folded[i].Rule.ID == v.Rule.ID {
			n++
		}
	}
	return widget.Text(widget.Plain, fmt.Sprintf("here: %s", render.Count(n, "finding", "findings")))
}
