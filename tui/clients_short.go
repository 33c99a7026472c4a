package tui

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// drawShort is the list in a pane, or on a narrow screen: the name, and the
// worst of its types.
func (v *clients) drawShort(m *Model, w, h int) []line {
	v.win.rows = max(h, 1)
	rows := v.settle(m)
	if len(rows) == 0 {
		return v.empty(m)
	}
	var out []line
	for i := v.win.top; i < min(v.win.top+h, len(rows)); i++ {
		r := &rows[i]
		l := text(plain, "  ")
		if r.typ != nil {
			v.shortType(m, &l, r, w)
		} else {
			v.shortClient(m, &l, r.of, w)
		}
		if l.selected = i == v.win.at; l.selected {
			l.spans[0].text = "> "
		}
		out = append(out, l)
	}
	return out
}

func (v *clients) shortClient(m *Model, l *line, c *engine.ClientStatus, w int) {
	word, look := "synced", good
	switch t := worstOf(&clientRow{of: c}); {
	case !c.Gone.IsZero() && !m.feed.Done():
		word, look = "gone "+age(m.seen.at.Sub(c.Gone)), muted
	case t == nil:
		word, look = "-", muted
	case t.State > engine.Synced:
		word, look = stateCell(m, c, t)
		word = middleText(t.Type, 5) + " " + word
	}
	const kind = 6
	state := max(13, render.Width(word))
	name := w - 2 - 1 - kind - 1 - state
	if name < 12 { // the kind has no room
		name += kind + 1
	}
	l.add(clientRole(c), middle(m.alias(c.Client), name)+" ")
	if name+2+1+kind+1+state <= w {
		agent, _, _ := strings.Cut(c.Agent, " ")
		l.add(muted, left(orDash(agent), kind)+" ")
	}
	l.add(look, left(word, state))
}

func (v *clients) shortType(m *Model, l *line, r *clientRow, w int) {
	branch := m.theme.glyph.branch
	if r.end {
		branch = m.theme.glyph.last
	}
	t := r.typ
	l.add(muted, branch)
	l.add(plain, middle(t.Type, 5)+" ")
	cell, look := stateCell(m, r.of, t)
	l.add(look, left(cell, max(stateWidth, render.Width(cell)+1)))
	l.add(muted, left(age(m.seen.at.Sub(t.Since)), 5))
	l.add(plain, " "+middleText(orDash(t.Sent), w-l.width()-1))
}

func middleText(s string, columns int) string { return render.Middle(render.Safe(s), columns) }
