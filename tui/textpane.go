package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// textLine is one line of a text that can be read, searched and folded.
type textLine struct {
	line
	level  int         // lines of a greater one belong to the line above them
	value  string      // what y copies; "": the line
	name   string      // how that is called
	seq    session.Seq // the entry that it is about, 0 if none
	change int         // the number of the difference that it is part of, 0 if none
	of     int         // which of several comparisons it is part of
	folded bool        // lines that are equal stand behind it
}

// textPane shows lines, one of which is selected. What is folded away is not
// there for moving, but for searching.
type textPane struct {
	lines  []textLine
	closed map[int]bool // lines whose inner ones are hidden
	wrap   bool
	left   int // columns scrolled to the right
	win    window
	width  int       // that rows were laid out for
	rows   []textRow // nil: a row for each line
	text   string    // that is searched for
	found  []int     // lines that have it
	center bool      // the selection was jumped to
	before int       // the first row that was drawn last
}

// textRow is a row of the screen: a part of a line.
type textRow struct {
	line, from int
	hidden     int // lines that are folded away behind it
}

const (
	textGutter = 2 // what is selected, and what was found
	sideways   = 8 // columns that one key scrolls
	wrapIndent = 2
)

// set shows other lines, as far as possible at the same place.
func (p *textPane) set(lines []textLine) {
	p.lines, p.closed = lines, nil
	p.layOut()
	p.win.fit(p.total(), p.win.rows)
	p.match()
}

// restart begins at the first line.
func (p *textPane) restart(lines []textLine) {
	p.win.at, p.win.top, p.left = 0, 0, 0
	p.set(lines)
}

func (p *textPane) total() int {
	if p.rows == nil {
		return len(p.lines)
	}
	return len(p.rows)
}

func (p *textPane) row(i int) textRow {
	if p.rows == nil {
		return textRow{line: i}
	}
	return p.rows[i]
}

// current is the line that is selected, -1 if there is none.
func (p *textPane) current() int {
	if p.win.at < 0 || p.win.at >= p.total() {
		return -1
	}
	return p.row(p.win.at).line
}

// layOut makes rows of the lines.
func (p *textPane) layOut() {
	p.rows = nil
	if !p.wrap && len(p.closed) == 0 {
		return
	}
	p.rows = make([]textRow, 0, len(p.lines))
	for i := 0; i < len(p.lines); i++ {
		r := textRow{line: i}
		if p.closed[i] {
			r.hidden = p.inner(i) - i - 1
		}
		p.rows = append(p.rows, r)
		if p.wrap {
			l := &p.lines[i].line
			w := l.width()
			for from := p.wrapAt(l, 0); from < w; from = p.wrapAt(l, from) {
				p.rows = append(p.rows, textRow{line: i, from: from})
			}
		}
		i += r.hidden
	}
}

// wrapAt is where the part of a line ends that begins at a column.
func (p *textPane) wrapAt(l *line, from int) int {
	room := p.width
	if from > 0 {
		room -= wrapIndent
	}
	return from + max(room, 8)
}

// inner is the first line behind those that belong to a line.
func (p *textPane) inner(i int) int {
	n := i + 1
	for n < len(p.lines) && p.lines[n].level > p.lines[i].level {
		n++
	}
	return n
}

// show selects a line, and opens what hides it.
func (p *textPane) show(n int) {
	if n < 0 || n >= len(p.lines) {
		return
	}
	for i := range p.closed {
		if i < n && n < p.inner(i) {
			delete(p.closed, i)
		}
	}
	p.layOut()
	p.win.at, p.center = p.rowOf(n), true
	p.win.fit(p.total(), max(p.win.rows, 1))
}

func (p *textPane) rowOf(n int) int {
	if p.rows == nil {
		return n
	}
	i, _ := slices.BinarySearchFunc(p.rows, n, func(r textRow, n int) int { return r.line - n })
	for i > 0 && p.rows[i-1].line == n {
		i--
	}
	return i
}

// toggle folds what belongs to the selected line, or to the one that it belongs
// to; false: there is nothing to fold.
func (p *textPane) toggle() bool {
	at := p.current()
	if at < 0 {
		return false
	}
	if p.inner(at) == at+1 { // it has nothing within: fold what it is in
		level := p.lines[at].level
		for at >= 0 && p.lines[at].level >= level {
			at--
		}
		if at < 0 {
			return false
		}
	}
	if p.closed[at] {
		delete(p.closed, at)
	} else {
		if p.closed == nil {
			p.closed = make(map[int]bool)
		}
		p.closed[at] = true
	}
	p.layOut()
	p.win.at = p.rowOf(at)
	p.win.fit(p.total(), p.win.rows)
	return true
}

// do moves; false if the action is another one.
func (p *textPane) do(a action) bool {
	switch a {
	case actLeft:
		p.left = max(p.left-sideways, 0)
	case actRight:
		if !p.wrap {
			p.left = min(p.left+sideways, max(p.widest()-sideways, 0))
		}
	case actWrap:
		at := p.current()
		p.wrap, p.left = !p.wrap, 0
		p.layOut()
		p.win.at = p.rowOf(max(at, 0))
		p.win.fit(p.total(), p.win.rows)
	default:
		return p.win.move(a, p.total())
	}
	return true
}

// widest is the width of the widest visible line.
func (p *textPane) widest() int {
	n := 0
	for i := p.win.top; i < min(p.win.top+p.win.rows, p.total()); i++ {
		n = max(n, p.lines[p.row(i).line].width())
	}
	return n
}

// search looks for lines that have all words of a text.
func (p *textPane) search(text string) {
	p.text = text
	if p.match(); len(p.found) > 0 {
		at := p.current()
		i, _ := slices.BinarySearch(p.found, at)
		p.show(p.found[i%len(p.found)])
	}
}

func (p *textPane) match() {
	p.found = nil
	words := strings.Fields(strings.ToLower(p.text))
	if len(words) == 0 {
		return
	}
	for i := range p.lines {
		text := strings.ToLower(p.lines[i].plainText())
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			p.found = append(p.found, i)
		}
	}
}

// next goes to the next line of some, or the one before, around the end.
func (p *textPane) next(of []int, forward bool) bool {
	if len(of) == 0 {
		return false
	}
	i, here := slices.BinarySearch(of, p.current())
	switch {
	case !forward:
		i--
	case here:
		i++
	}
	p.show(of[(i+len(of))%len(of)])
	return true
}

// changes are the first lines of each difference.
func (p *textPane) changes() (out []int) {
	for i := range p.lines {
		if c := p.lines[i].change; c > 0 && (i == 0 || p.lines[i-1].change != c || p.lines[i-1].of != p.lines[i].of) {
			out = append(out, i)
		}
	}
	return out
}

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

// where is the place in the text.
func (p *textPane) where() string {
	if len(p.lines) == 0 {
		return ""
	}
	s := fmt.Sprintf("line %s of %s", render.Number(int64(p.current()+1)), render.Number(int64(len(p.lines))))
	if p.text != "" {
		if i, here := slices.BinarySearch(p.found, p.current()); here {
			return fmt.Sprintf("%s, match %d of %d", s, i+1, len(p.found))
		}
		return s + ", " + render.Count(len(p.found), "match", "matches")
	}
	return s
}

// click selects a row.
func (p *textPane) click(y int) {
	if i := p.win.top + y; y >= 0 && i < p.total() {
		p.win.at = i
		p.win.fit(p.total(), p.win.rows)
	}
}

// plainText is all of the text.
func (p *textPane) plainText() string { return linesText(p.lines) }

func linesText(lines []textLine) string {
	var b strings.Builder
	for i := range lines {
		b.WriteString(lines[i].plainText())
		b.WriteByte('\n')
	}
	return b.String()
}

// underCursor is what is copied of the selected line: its value, or all that
// belongs to it, and what that is called.
func (p *textPane) underCursor() (text, what string) {
	at := p.current()
	if at < 0 {
		return "", ""
	}
	l := &p.lines[at]
	end := p.inner(at)
	switch {
	case l.value != "" && l.name != "":
		return l.value, "the value of " + l.name
	case l.value != "":
		return l.value, "the value"
	case end > at+1 && l.name != "":
		return dedent(linesText(p.lines[at:end])), l.name + " with all that is in it"
	case end > at+1:
		return dedent(linesText(p.lines[at:end])), "the line with all that is in it"
	}
	return strings.TrimSpace(l.plainText()), "the line"
}

// dedent takes away the columns that all lines begin with.
func dedent(text string) string {
	least := -1
	for l := range strings.Lines(text) {
		if n := len(l) - len(strings.TrimLeft(l, " ")); strings.TrimSpace(l) != "" && (least < 0 || n < least) {
			least = n
		}
	}
	if least <= 0 {
		return text
	}
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(l[min(least, len(l)-len(strings.TrimLeft(l, " "))):])
	}
	return b.String()
}
