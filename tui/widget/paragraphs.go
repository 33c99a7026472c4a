package widget

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Wrapped breaks a text from outside into lines of at most so many columns; none
// if there is nothing in it.
func Wrapped(s string, columns int) []string {
	if s = render.Safe(s); strings.TrimSpace(s) == "" {
		return nil
	}
	return wrapWords(s, max(columns, 1))
}

// Labelled is a text behind a label, its further lines below it.
func Labelled(label string, look Role, s string, columns int) []Line {
	const labelWidth = 8
	var out []Line
	for i, t := range Wrapped(s, columns-labelWidth-2) {
		if i > 0 {
			label = ""
		}
		out = append(out, Spans(In(Muted, " "+Left(label, labelWidth)), In(look, t)))
	}
	return out
}

// Rule is a line across, with a title in it.
func (t *Theme) Rule(name string, look Role, more string, columns int) Line {
	g := t.Glyph.Line
	l := Spans(In(Muted, g), In(look, name))
	if more != "" && render.Width(name)+render.Width(more)+4 < columns {
		l.Add(Muted, " "+more)
	}
	l.Add(Muted, " ")
	l.Add(Muted, Repeat(g, columns-l.Width()))
	return Line{Spans: Cut(l, columns)}
}

// joint says whether a line may end behind a character: names and addresses that
// are longer than a line are broken where their parts meet.
func joint(r rune) bool { return strings.ContainsRune(" /.:,;|&?=-", r) }

// breaks are the columns where a text goes on in a new line: the first has room for
// first columns, the others for rest.
func breaks(s string, first, rest int) (out []int) {
	from, at, room, last := 0, 0, first, 0
	for _, r := range s {
		w := render.Width(string(r))
		if at+w > from+room {
			if last <= from+room/3 {
				last = at
			}
			out = append(out, last)
			from, room = last, rest
		}
		if at += w; joint(r) {
			last = at
		}
	}
	return out
}

// BreakWords breaks a text into lines of so many columns, within words where
// these are longer. There is at least one line.
func BreakWords(s string, columns int) (out []string) {
	columns = max(columns, 4)
	for {
		cut, at, space, part := -1, 0, -1, -1
		for i, r := range s {
			if r == ' ' && i > 0 {
				space = i
			} else if i > 0 && joint(rune(s[i-1])) {
				part = i
			}
			if at += render.Width(string(r)); at > columns {
				cut = i
				break
			}
		}
		if cut <= 0 {
			return append(out, s)
		}
		next := cut
		switch {
		case space > cut/3:
			cut, next = space, space+1
		case part > cut/3:
			cut, next = part, part
		}
		out = append(out, strings.TrimRight(s[:cut], " "))
		s = s[next:]
	}
}
