package tui

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// span is a text in one role. It may come from outside: what is not printable
// is escaped when it is drawn.
type span struct {
	role role
	text string
}

// line is one row of the screen. What does not fit is cut at its end.
type line struct {
	spans    []span
	selected bool
}

func text(r role, s string) line        { return line{spans: []span{{r, s}}} }
func spans(s ...span) line              { return line{spans: s} }
func blank() line                       { return line{} }
func (l *line) add(r role, s string)    { l.spans = append(l.spans, span{r, s}) }
func (l *line) join(more line)          { l.spans = append(l.spans, more.spans...) }
func (l *line) pad(columns int)         { l.add(plain, spaces(columns-l.width())) }
func spaces(n int) string               { return strings.Repeat(" ", max(n, 0)) }
func left(s string, columns int) string { return fit(s, columns, false) }

// right sets a text against the right edge of its column.
func right(s string, columns int) string { return fit(s, columns, true) }

// fit makes a text exactly so wide.
func fit(s string, columns int, toRight bool) string {
	s = render.End(render.Safe(s), columns)
	room := spaces(columns - render.Width(s))
	if toRight {
		return room + s
	}
	return s + room
}

// middle shortens an id to its column, by its middle.
func middle(s string, columns int) string {
	return left(render.Middle(render.Safe(s), columns), columns)
}

func (l *line) width() int {
	n := 0
	for _, s := range l.spans {
		n += render.Width(render.Safe(s.text))
	}
	return n
}

// plainText is what is copied of a line.
func (l *line) plainText() string {
	var b strings.Builder
	for _, s := range l.spans {
		b.WriteString(render.Safe(s.text))
	}
	return strings.TrimRight(b.String(), " ")
}

// paint draws a line in exactly so many columns.
func (l *line) paint(t *Theme, columns int) string {
	var b strings.Builder
	used := 0
	for _, s := range l.spans {
		clean := render.Safe(s.text)
		w := render.Width(clean)
		if used+w > columns {
			clean = render.End(clean, columns-used)
			w = render.Width(clean)
		}
		b.WriteString(t.paint(s.role, l.selected, clean))
		if used += w; used >= columns {
			break
		}
	}
	if rest := spaces(columns - used); rest != "" {
		b.WriteString(t.paint(plain, l.selected, rest))
	}
	return b.String()
}

// beside puts two blocks of lines next to each other, with a bar between them.
func beside(t *Theme, a []line, columns int, b []line) []line {
	out := make([]line, max(len(a), len(b)))
	for i := range out {
		var l line
		if i < len(a) {
			// What is selected on the left is selected there alone.
			l.spans = append(l.spans, cut(a[i], columns)...)
			if a[i].selected {
				for j := range l.spans {
					l.spans[j].role |= chosen
				}
			}
		} else {
			l.pad(columns)
		}
		l.add(muted, t.glyph.bar)
		if i < len(b) {
			for _, s := range b[i].spans {
				if b[i].selected {
					s.role |= chosen
				}
				l.spans = append(l.spans, s)
			}
		}
		out[i] = l
	}
	return out
}

// cut makes a line exactly so wide.
func cut(l line, columns int) []span {
	var out []span
	used := 0
	for _, s := range l.spans {
		clean := render.Safe(s.text)
		w := render.Width(clean)
		if used+w > columns {
			clean = render.End(clean, columns-used)
			w = render.Width(clean)
		}
		if clean != "" {
			out = append(out, span{s.role, clean})
		}
		used += w
	}
	return append(out, span{plain, spaces(columns - used)})
}
