package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
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
func (p *textPane) do(a key.Action) bool {
	switch a {
	case key.Left:
		p.left = max(p.left-sideways, 0)
	case key.Right:
		if !p.wrap {
			p.left = min(p.left+sideways, max(p.widest()-sideways, 0))
		}
	case key.Wrap:
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
