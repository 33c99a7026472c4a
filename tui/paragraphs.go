package tui

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// wrapped breaks a text from outside into lines of at most so many columns; none
// if there is nothing in it.
func wrapped(s string, columns int) []string {
	if s = render.Safe(s); strings.TrimSpace(s) == "" {
		return nil
	}
	return wrapWords(s, max(columns, 1))
}

// labelled is a text behind a label, its further lines below it.
func labelled(label string, look role, s string, columns int) []line {
	const labelWidth = 8
	var out []line
	for i, t := range wrapped(s, columns-labelWidth-2) {
		if i > 0 {
			label = ""
		}
		out = append(out, spans(span{muted, " " + left(label, labelWidth)}, span{look, t}))
	}
	return out
}

// rule is a line across, with a title in it.
func (m *Model) rule(name string, look role, more string, columns int) line {
	g := m.theme.glyph.line
	l := spans(span{muted, g}, span{look, name})
	if more != "" && render.Width(name)+render.Width(more)+4 < columns {
		l.add(muted, " "+more)
	}
	l.add(muted, " ")
	l.add(muted, repeat(g, columns-l.width()))
	return line{spans: cut(l, columns)}
}
