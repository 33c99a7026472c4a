package push

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Table is pushes as people read them, a line each, on a screen of so many
// columns; 0 stands for a pipe or a file.
func Table(heads []pushes.Head, s render.Style, columns int) string {
	var b strings.Builder
	b.WriteString(TableHead(s, columns))
	for i := range heads {
		b.WriteString(TableLine(&heads[i], s, columns))
	}
	return b.String()
}

// TableHead is the line of titles.
func TableHead(s render.Style, columns int) string {
	c := columnsOf(columns)
	return s.Title("  "+strings.Join(c.Titles(), " ")) + "\n"
}

// TableLine is the line of one push.
func TableLine(h *pushes.Head, s render.Style, columns int) string {
	c, r := columnsOf(columns), NewRow(h)
	line, used := paint(s, r.Sign)+" ", 2
	for _, w := range c.Cells(&r) {
		line, used = line+paint(s, w)+" ", used+render.Width(w.Text)+1
	}
	for i, n := range r.Notes {
		if i > 0 {
			n.Text = ", " + n.Text
		}
		if columns > 0 && used+render.Width(n.Text) > columns {
			line += paint(s, Word{n.Look, render.End(n.Text, columns-used)})
			break
		}
		line, used = line+paint(s, n), used+render.Width(n.Text)
	}
	return strings.TrimRight(line, " ") + "\n"
}

// columnsOf are those of a screen, which has the sign, too.
func columnsOf(screen int) Columns {
	if screen > 0 {
		screen = max(screen-2, 1)
	}
	return ColumnsFor(screen)
}

// Text is one push as people read it.
func Text(p *pushes.Push, s render.Style, columns int, f Form) string {
	if columns <= 0 {
		columns = 1 << 16
	}
	const label = 9
	var b strings.Builder
	for _, said := range Detail(p, f) {
		head := said.Label
		for _, line := range strings.Split(strings.TrimRight(render.Wrapped(said.Text, columns-label), "\n"), "\n") {
			b.WriteString(strings.TrimRight(s.Muted(render.PadRight(head, label))+paint(s, Word{said.Look, line}), " ") + "\n")
			head = ""
		}
	}
	return b.String()
}

func paint(s render.Style, w Word) string {
	switch w.Look {
	case Muted:
		return s.Muted(w.Text)
	case Good:
		return s.Good(w.Text)
	case Accent:
		return s.Accent(w.Text)
	case Warned:
		return s.Warned(w.Text)
	case Bad:
		return s.Bad(w.Text)
	}
	return w.Text
}

// Titles are those of the columns that are there, and of the notes behind them.
func (c *Columns) Titles() (out []string) {
	for _, t := range c.all() {
		if t.width > 0 {
			out = append(out, t.fill(t.title))
		}
	}
	return append(out, "NOTES")
}

// Cells are what a row has in these columns.
func (c *Columns) Cells(r *Row) (out []Word) {
	for _, t := range c.all() {
		if t.width == 0 {
			continue
		}
		w := t.cell(r, t.width)
		w.Text = t.fill(render.End(w.Text, t.width))
		out = append(out, w)
	}
	return out
}

type column struct {
	title string
	width int
	right bool
	cell  func(r *Row, width int) Word
}

func (c *column) fill(s string) string {
	if c.right {
		return render.PadLeft(s, c.width)
	}
	return render.PadRight(s, c.width)
}

func (c *Columns) all() []column {
	return []column{
		{"PUSH", c.N, true, func(r *Row, _ int) Word { return Word{Plain, r.N} }},
		{"TIME", c.Time, false, func(r *Row, w int) Word {
			if w < render.Width(r.LongTime) {
				return Word{Muted, r.Time}
			}
			return Word{Muted, r.LongTime}
		}},
		{"VERSION", c.Version, false, func(r *Row, w int) Word { return Word{Plain, render.Middle(r.Version, w)} }},
		{"TYPES", c.Types, false, func(r *Row, w int) Word { return Word{Plain, r.TypesIn(w)} }},
		{"CHANGED", c.Changed, false, func(r *Row, _ int) Word { return r.Changed }},
		{"ACCEPTED", c.Clients, true, func(r *Row, _ int) Word { return r.Clients }},
		{"AFTER", c.In, true, func(r *Row, _ int) Word { return Word{Plain, r.In} }},
	}
}
