package widget

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/shortname"
)

// Span is a text in one role. It may come from outside: what is not printable
// is escaped when it is drawn.
type Span struct {
	Role Role
	Text string
}

// Line is one row of the screen. What does not fit is cut at its end.
type Line struct {
	Spans    []Span
	Selected bool
}

func In(r Role, s string) Span          { return Span{r, s} }
func Text(r Role, s string) Line        { return Line{Spans: []Span{{r, s}}} }
func Spans(s ...Span) Line              { return Line{Spans: s} }
func Blank() Line                       { return Line{} }
func (l *Line) Add(r Role, s string)    { l.Spans = append(l.Spans, In(r, s)) }
func (l *Line) Join(more Line)          { l.Spans = append(l.Spans, more.Spans...) }
func (l *Line) Pad(columns int)         { l.Add(Plain, Spaces(columns-l.Width())) }
func Spaces(n int) string               { return Repeat(" ", n) }
func Repeat(s string, n int) string     { return strings.Repeat(s, max(n, 0)) }
func Left(s string, columns int) string { return fit(s, columns, false) }

// Right sets a text against the right edge of its column.
func Right(s string, columns int) string { return fit(s, columns, true) }

// fit makes a text exactly so wide.
func fit(s string, columns int, toRight bool) string {
	s = render.End(render.Safe(s), columns)
	room := Spaces(columns - render.Width(s))
	if toRight {
		return room + s
	}
	return s + room
}

// Name fits a name into its column, so that it can be told from the others of its
// list.
func Name(of *shortname.Set, s string, columns int) string {
	return Left(of.Fit(render.Safe(s), columns), columns)
}

// Middle shortens what stands alone to its column, by its middle.
func Middle(s string, columns int) string {
	return Left(render.Middle(render.Safe(s), columns), columns)
}

func (l *Line) Width() int {
	n := 0
	for _, s := range l.Spans {
		n += render.Width(render.Safe(s.Text))
	}
	return n
}

// PlainText is what is copied of a line.
func (l *Line) PlainText() string {
	var b strings.Builder
	for _, s := range l.Spans {
		b.WriteString(render.Safe(s.Text))
	}
	return strings.TrimRight(b.String(), " ")
}

// Paint draws a line in exactly so many columns.
func (l *Line) Paint(t *Theme, columns int) string {
	var b strings.Builder
	for _, s := range Cut(*l, columns) {
		b.WriteString(t.paint(s.Role, l.Selected, s.Text))
	}
	return b.String()
}

// Beside puts two blocks of lines next to each other, with a bar between them.
func Beside(t *Theme, a []Line, columns int, b []Line) []Line {
	out := make([]Line, max(len(a), len(b)))
	for i := range out {
		var l Line
		if i < len(a) {
			// What is selected on the left is selected there alone.
			l.Spans = append(l.Spans, Cut(a[i], columns)...)
			if a[i].Selected {
				for j := range l.Spans {
					l.Spans[j].Role |= chosen
				}
			}
		} else {
			l.Pad(columns)
		}
		l.Add(Muted, t.Glyph.Bar)
		if i < len(b) {
			for _, s := range b[i].Spans {
				if b[i].Selected {
					s.Role |= chosen
				}
				l.Spans = append(l.Spans, s)
			}
		}
		out[i] = l
	}
	return out
}

// Cut makes a line exactly so wide.
func Cut(l Line, columns int) []Span {
	out := make([]Span, 0, len(l.Spans)+1)
	used := 0
	for _, s := range l.Spans {
		clean := render.Safe(s.Text)
		w := render.Width(clean)
		if used+w > columns {
			clean = render.End(clean, columns-used)
			w = render.Width(clean)
		}
		if clean != "" {
			out = append(out, In(s.Role, clean))
		}
		used += w
	}
	return append(out, In(Plain, Spaces(columns-used)))
}

func MiddleText(s string, columns int) string { return render.Middle(render.Safe(s), columns) }

// Choose marks a line that is selected, by more than its colour.
func (l *Line) Choose(is bool) {
	if l.Selected = is; is && len(l.Spans) > 0 {
		l.Spans[0].Text = ">" + strings.TrimPrefix(l.Spans[0].Text, " ")
	}
}
