package widget

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Draw fills w columns and at most h rows. alias is how texts are written.
func (p *TextPane) Draw(t *Theme, alias func(string) string, w, h int) []Line {
	if p.Width != w-TextGutter {
		at := p.Current()
		p.Width = w - TextGutter
		p.layOut()
		p.Win.At = p.rowOf(max(at, 0))
	}
	p.Fit(h)
	var out []Line
	for i := p.Win.Top; i < min(p.Win.Top+h, p.Total()); i++ {
		out = append(out, p.drawRow(t, alias, i))
	}
	return out
}

// Fit keeps the selection in so many rows. One that was jumped to has some lines
// above it.
func (p *TextPane) Fit(h int) {
	if p.Center && (p.Win.Rows != h || p.Win.At < p.before || p.Win.At >= p.before+h) {
		p.Win.Top = p.Win.At - h/3
	} else if p.Center {
		p.Win.Top = p.before
	}
	p.Center = false
	p.Win.Fit(p.Total(), h)
	p.before = p.Win.Top
}

func (p *TextPane) drawRow(t *Theme, alias func(string) string, i int) Line {
	r := p.row(i)
	of := &p.Lines[r.line]
	gutter := In(Plain, " ")
	l := Spans(gutter)
	l.Choose(i == p.Win.At)
	sign := " "
	if _, found := slices.BinarySearch(p.Found, r.line); found && r.from == 0 {
		sign = "/"
	}
	l.Add(Accent, sign)
	shown := make([]Span, len(of.Spans))
	for j, s := range of.Spans {
		shown[j] = In(s.Role, alias(s.Text))
	}
	switch {
	case p.wrap:
		room := p.Width
		if r.from > 0 {
			l.Add(Plain, Spaces(wrapIndent))
			room -= wrapIndent
		}
		if r.to > 0 {
			room = min(room, r.to-r.from)
		}
		l.Spans = append(l.Spans, PartOf(shown, r.from, room)...)
	case widthOf(shown) > p.Left+p.Width:
		l.Spans = append(l.Spans, PartOf(shown, p.Left, p.Width-1)...)
		l.Pad(TextGutter + p.Width - 1)
		l.Add(Muted, t.Glyph.Right)
	default:
		l.Spans = append(l.Spans, PartOf(shown, p.Left, p.Width)...)
	}
	if r.hidden > 0 {
		l.Add(Muted, "  ["+render.Count(r.hidden, "line", "lines")+"]")
	}
	return l
}

func widthOf(of []Span) int { return (&Line{Spans: of}).Width() }

// PartOf is the part of some spans from a column on, at most so wide.
func PartOf(of []Span, from, columns int) []Span {
	var out []Span
	at := 0 // column where the next rune begins
	for _, s := range of {
		clean := render.Safe(s.Text)
		if w := render.Width(clean); at+w <= from {
			at += w
			continue
		} else if at >= from && at+w <= from+columns {
			out = append(out, In(s.Role, clean))
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
			out = append(out, In(s.Role, b.String()))
		}
		if at >= from+columns {
			break
		}
	}
	return out
}
