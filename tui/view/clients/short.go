package clients

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// drawShort is the list in a pane, or on a narrow screen: the name, and the
// worst of its types.
func (v *View) drawShort(scr view.Screen, w, h int) []widget.Line {
	v.win.Rows, v.shown = max(h, 1), nil
	rows := v.settle(scr)
	if len(rows) == 0 {
		return v.Empty(scr)
	}
	return v.win.Draw(len(rows), h, func(i int) widget.Line {
		r := &rows[i]
		l := widget.Text(widget.Plain, "  ")
		if r.typ != nil {
			v.shortType(scr, &l, r, w)
		} else {
			v.shortClient(scr, &l, r.of, w)
		}
		return l
	})
}

func (v *View) shortClient(scr view.Screen, l *widget.Line, c *engine.ClientStatus, w int) {
	word, look := "synced", widget.Good
	switch t := worstOf(&clientRow{of: c}); {
	case !c.Gone.IsZero() && !scr.Log().Feed.Done():
		word, look = "gone "+render.Age(scr.Seen().At.Sub(c.Gone)), widget.Muted
	case t == nil:
		word, look = "-", widget.Muted
	case t.State > engine.Synced:
		word, look = stateCell(scr, c, t)
		word = widget.MiddleText(t.Type, 5) + " " + word
	}
	const kind = 6
	state := max(13, render.Width(word))
	name := w - 2 - 1 - kind - 1 - state
	if name < 12 { // the kind has no room
		name += kind + 1
	}
	l.Add(clientRole(c), view.ClientName(scr, c.Client, name)+" ")
	if name+2+1+kind+1+state <= w {
		agent, _, _ := strings.Cut(c.Agent, " ")
		l.Add(widget.Muted, widget.Left(render.OrDash(agent), kind)+" ")
	}
	l.Add(look, widget.Left(word, state))
}

func (v *View) shortType(scr view.Screen, l *widget.Line, r *clientRow, w int) {
	branch := scr.Theme().Glyph.Branch
	if r.end {
		branch = scr.Theme().Glyph.Last
	}
	t := r.typ
	l.Add(widget.Muted, branch)
	l.Add(widget.Plain, widget.Middle(t.Type, 5)+" ")
	cell, look := stateCell(scr, r.of, t)
	l.Add(look, widget.Left(cell, max(view.StateWidth, render.Width(cell)+1)))
	l.Add(widget.Muted, widget.Left(render.Age(scr.Seen().At.Sub(t.Since)), 5))
	l.Add(widget.Plain, " "+widget.MiddleText(render.OrDash(t.Sent), w-l.Width()-1))
}
