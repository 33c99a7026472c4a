package widget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

// TextLine is one line of a text that can be read, searched and folded.
type TextLine struct {
	Line
	Level  int    // lines of a greater one belong to the line above them
	Value  string // what y copies; "": the line
	Name   string // how that is called
	Ref    uint64 // what it is about, by a number of the view; 0: nothing
	Change int    // the number of the difference that it is part of, 0 if none
	Of     int    // which of several comparisons it is part of
	Folded bool   // lines that are equal stand behind it
}

// TextPane shows lines, one of which is selected. What is folded away is not
// there for moving, but for searching.
type TextPane struct {
	Lines  []TextLine
	closed map[int]bool // lines whose inner ones are hidden
	wrap   bool
	Left   int // columns scrolled to the right
	Win    Window
	Width  int       // that rows were laid out for
	rows   []textRow // nil: a row for each line
	Text   string    // that is searched for
	Found  []int     // lines that have it
	Center bool      // the selection was jumped to
	before int       // the first row that was drawn last
}

// textRow is a row of the screen: a part of a line.
type textRow struct {
	line, from int
	to         int // where the next part of the line begins; 0: there is none
	hidden     int // lines that are folded away behind it
}

const (
	TextGutter = 2 // what is selected, and what was found
	sideways   = 8 // columns that one key scrolls
	wrapIndent = 2
)

// Set shows other lines, as far as possible at the same place.
func (p *TextPane) Set(lines []TextLine) {
	p.Lines, p.closed = lines, nil
	p.layOut()
	p.Win.Fit(p.Total(), p.Win.Rows)
	p.match()
}

// Restart begins at the first line.
func (p *TextPane) Restart(lines []TextLine) {
	p.Win.At, p.Win.Top, p.Left = 0, 0, 0
	p.Set(lines)
}

func (p *TextPane) Total() int {
	if p.rows == nil {
		return len(p.Lines)
	}
	return len(p.rows)
}

func (p *TextPane) row(i int) textRow {
	if p.rows == nil {
		return textRow{line: i}
	}
	return p.rows[i]
}

// Current is the line that is selected, -1 if there is none.
func (p *TextPane) Current() int {
	if p.Win.At < 0 || p.Win.At >= p.Total() {
		return -1
	}
	return p.row(p.Win.At).line
}

// layOut makes rows of the lines.
func (p *TextPane) layOut() {
	p.rows = nil
	if !p.wrap && len(p.closed) == 0 {
		return
	}
	p.rows = make([]textRow, 0, len(p.Lines))
	for i := 0; i < len(p.Lines); i++ {
		r := textRow{line: i}
		if p.closed[i] {
			r.hidden = p.inner(i) - i - 1
		}
		p.rows = append(p.rows, r)
		if p.wrap {
			for _, from := range breaks(render.Safe(p.Lines[i].PlainText()), max(p.Width, 8), max(p.Width-wrapIndent, 8)) {
				p.rows[len(p.rows)-1].to = from
				p.rows = append(p.rows, textRow{line: i, from: from})
			}
		}
		i += r.hidden
	}
}

// inner is the first line behind those that belong to a line.
func (p *TextPane) inner(i int) int {
	n := i + 1
	for n < len(p.Lines) && p.Lines[n].Level > p.Lines[i].Level {
		n++
	}
	return n
}

// Show selects a line, and opens what hides it.
func (p *TextPane) Show(n int) {
	if n < 0 || n >= len(p.Lines) {
		return
	}
	for i := range p.closed {
		if i < n && n < p.inner(i) {
			delete(p.closed, i)
		}
	}
	p.layOut()
	p.Win.At, p.Center = p.rowOf(n), true
	p.Win.Fit(p.Total(), max(p.Win.Rows, 1))
}

func (p *TextPane) rowOf(n int) int {
	if p.rows == nil {
		return n
	}
	i, _ := slices.BinarySearchFunc(p.rows, n, func(r textRow, n int) int { return r.line - n })
	for i > 0 && p.rows[i-1].line == n {
		i--
	}
	return i
}

// Toggle folds what belongs to the selected line, or to the one that it belongs
// to; false: there is nothing to fold.
func (p *TextPane) Toggle() bool {
	at := p.Current()
	if at < 0 {
		return false
	}
	if p.inner(at) == at+1 { // it has nothing within: fold what it is in
		level := p.Lines[at].Level
		for at >= 0 && p.Lines[at].Level >= level {
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
	p.Win.At = p.rowOf(at)
	p.Win.Fit(p.Total(), p.Win.Rows)
	return true
}

// Do moves; false if the action is another one.
func (p *TextPane) Do(a key.Action) bool {
	switch a {
	case key.Left:
		p.Left = max(p.Left-sideways, 0)
	case key.Right:
		if !p.wrap {
			p.Left = min(p.Left+sideways, max(p.widest()-sideways, 0))
		}
	case key.Wrap:
		at := p.Current()
		p.wrap, p.Left = !p.wrap, 0
		p.layOut()
		p.Win.At = p.rowOf(max(at, 0))
		p.Win.Fit(p.Total(), p.Win.Rows)
	default:
		return p.Win.Move(a, p.Total())
	}
	return true
}

// widest is the width of the widest visible line.
func (p *TextPane) widest() int {
	n := 0
	for i := p.Win.Top; i < min(p.Win.Top+p.Win.Rows, p.Total()); i++ {
		n = max(n, p.Lines[p.row(i).line].Width())
	}
	return n
}

// Search looks for lines that have all words of a text.
func (p *TextPane) Search(text string) {
	p.Text = text
	if p.match(); len(p.Found) > 0 {
		at := p.Current()
		i, _ := slices.BinarySearch(p.Found, at)
		p.Show(p.Found[i%len(p.Found)])
	}
}

func (p *TextPane) match() {
	p.Found = nil
	words := strings.Fields(strings.ToLower(p.Text))
	if len(words) == 0 {
		return
	}
	for i := range p.Lines {
		text := strings.ToLower(p.Lines[i].PlainText())
		if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) }) {
			p.Found = append(p.Found, i)
		}
	}
}

// Next goes to the next line of some, or the one before, around the end.
func (p *TextPane) Next(of []int, forward bool) bool {
	if len(of) == 0 {
		return false
	}
	i, here := slices.BinarySearch(of, p.Current())
	switch {
	case !forward:
		i--
	case here:
		i++
	}
	p.Show(of[(i+len(of))%len(of)])
	return true
}

// Changes are the first lines of each difference.
func (p *TextPane) Changes() (out []int) {
	for i := range p.Lines {
		if c := p.Lines[i].Change; c > 0 && (i == 0 || p.Lines[i-1].Change != c || p.Lines[i-1].Of != p.Lines[i].Of) {
			out = append(out, i)
		}
	}
	return out
}

// Where is the place in the text.
func (p *TextPane) Where() string {
	if len(p.Lines) == 0 {
		return ""
	}
	s := fmt.Sprintf("line %s of %s", render.Number(int64(p.Current()+1)), render.Number(int64(len(p.Lines))))
	if p.Text != "" {
		if i, here := slices.BinarySearch(p.Found, p.Current()); here {
			return fmt.Sprintf("%s, match %d of %d", s, i+1, len(p.Found))
		}
		return s + ", " + render.Count(len(p.Found), "match", "matches")
	}
	return s
}

// Click selects a row.
func (p *TextPane) Click(y int) {
	if i := p.Win.Top + y; y >= 0 && i < p.Total() {
		p.Win.At = i
		p.Win.Fit(p.Total(), p.Win.Rows)
	}
}
