package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// draw fills w columns and at most h rows.
func (p *textPane) draw(m *Model, w, h int) []line {
	if p.width != w-textGutter {
		at := p.current()
		p.width = w - textGutter
		p.layOut()
		p.win.at = p.rowOf(max(at, 0))
	}
	p.fit(h)
	var out []line
	for i := p.win.top; i < min(p.win.top+h, p.total()); i++ {
		out = append(out, p.drawRow(m, i))
	}
	return out
}

// fit keeps the selection in so many rows. One that was jumped to has some lines
// above it.
func (p *textPane) fit(h int) {
	if p.center && (p.win.rows != h || p.win.at < p.before || p.win.at >= p.before+h) {
		p.win.top = p.win.at - h/3
	} else if p.center {
		p.win.top = p.before
	}
	p.center = false
	p.win.fit(p.total(), h)
	p.before = p.win.top
}

func (p *textPane) drawRow(m *Model, i int) line {
	r := p.row(i)
	of := &p.lines[r.line]
	gutter := span{plain, " "}
	l := spans(gutter)
	if i == p.win.at {
		l.selected = true
		l.spans[0].text = ">"
	}
	sign := " "
	if _, found := slices.BinarySearch(p.found, r.line); found && r.from == 0 {
		sign = "/"
	}
	l.add(accent, sign)
	shown := make([]span, len(of.spans))
	for j, s := range of.spans {
		shown[j] = span{s.role, m.aliasText(s.text)}
	}
	switch {
	case p.wrap && r.from > 0:
		l.add(plain, spaces(wrapIndent))
		l.spans = append(l.spans, partOf(shown, r.from, p.width-wrapIndent)...)
	case p.wrap:
		l.spans = append(l.spans, partOf(shown, 0, p.width)...)
	case widthOf(shown) > p.left+p.width:
		l.spans = append(l.spans, partOf(shown, p.left, p.width-1)...)
		l.pad(textGutter + p.width - 1)
		l.add(muted, m.theme.glyph.right)
	default:
		l.spans = append(l.spans, partOf(shown, p.left, p.width)...)
	}
	if r.hidden > 0 {
		l.add(muted, "  ["+render.Count(r.hidden, "line", "lines")+"]")
	}
	return l
}

func widthOf(of []span) int { return (&line{spans: of}).width() }

// partOf is the part of some spans from a column on, at most so wide.
func partOf(of []span, from, columns int) []span {
	var out []span
	at := 0 // column where the next rune begins
	for _, s := range of {
		clean := render.Safe(s.text)
		if w := render.Width(clean); at+w <= from {
			at += w
			continue
		} else if at >= from && at+w <= from+columns {
			out = append(out, span{s.role, clean})
			at += w
			continue
		}
		var b strings.Builder
		for i := 0; i < len(clean); {
			_, n := utf8.DecodeRuneInString(clean[i:])
			w := render.Width(clean[i : i+n])
			switch {
			case at >= from && at+w <= from+columns:
				b.WriteString(clean[i : i+n])
			case at < from && at+w > from: // half of a wide one
				b.WriteByte(' ')
			}
			at += w
			i += n
		}
		if b.Len() > 0 {
			out = append(out, span{s.role, b.String()})
		}
		if at >= from+columns {
			break
		}
	}
	return out
}
