package tui

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// wrapped breaks a text into lines of at most so many columns. A word that is
// longer than a line is cut where the line ends.
func wrapped(s string, columns int) []string {
	columns = max(columns, 1)
	var out []string
	var at strings.Builder
	used := 0
	end := func() {
		out = append(out, at.String())
		at.Reset()
		used = 0
	}
	for _, word := range strings.Fields(render.Safe(s)) {
		w := render.Width(word)
		if used > 0 && used+1+w > columns {
			end()
		}
		for w > columns {
			n := 0
			head := 0
			for i, r := range word {
				if rw := render.Width(string(r)); head+rw > columns {
					break
				} else {
					head, n = head+rw, i+len(string(r))
				}
			}
			if n == 0 {
				return out // not even one character fits
			}
			out = append(out, word[:n])
			word = word[n:]
			w = render.Width(word)
		}
		if used > 0 {
			at.WriteByte(' ')
			used++
		}
		at.WriteString(word)
		used += w
	}
	if used > 0 {
		end()
	}
	return out
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
