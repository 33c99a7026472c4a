package widget

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

// Sheet is a text that is read from above: paragraphs with a word before them,
// wrapped to the width. It is part of a view.
type Sheet struct {
	Win   Window
	W     int // columns it was drawn in last
	Words string
}

// Paragraph is a piece of a sheet.
type Paragraph struct {
	Head string // the word before it; with no text, it is a heading
	Look Role   // of the head
	Text string
	Tone Role // of the text
	// as is: the text is code, and its lines are cut, not wrapped.
	AsIs bool
	// Choice is what enter chooses; "" if it is only read.
	Choice string
}

// leastColumns is for how narrow a screen it is laid out at least.
const leastColumns = 40

// sheetLine is a line of a sheet, and the paragraph that it belongs to.
type sheetLine struct {
	Line
	of *Paragraph
}

func (s *Sheet) Offers() []key.Offer {
	return key.WithMoves([]key.Offer{{Act: key.Filter, Hint: "find", Help: "only lines with these words"}})
}

// Do moves; false if the action is another one.
func (s *Sheet) Do(a key.Action, all []Paragraph) bool {
	lines := s.Lines(all)
	from := s.Win.At
	moved := s.Win.Move(a, len(lines))
	if moved && from < len(lines) && lines[from].of.Choice != "" {
		s.whole(a, lines, from)
	}
	return moved
}

// whole moves by paragraphs, where these are things to choose: to the first line
// of the one above or below.
func (s *Sheet) whole(a key.Action, lines []sheetLine, from int) {
	switch a {
	case key.Down:
		for s.Win.At+1 < len(lines) && lines[s.Win.At].of == lines[from].of {
			s.Win.At++
		}
		if lines[s.Win.At].of == lines[from].of { // it is the last one
			s.Win.At = from
		}
	case key.Up:
		for s.Win.At > 0 && lines[s.Win.At-1].of == lines[s.Win.At].of {
			s.Win.At--
		}
	}
	s.Win.Fit(len(lines), s.Win.Rows)
}

// At is the paragraph that is selected, nil if there is none.
func (s *Sheet) At(all []Paragraph) *Paragraph {
	lines := s.Lines(all)
	if s.Win.At >= len(lines) {
		return nil
	}
	return lines[s.Win.At].of
}

// Find keeps only lines with these words.
func (s *Sheet) Find(words string) { s.Words, s.Win = words, Window{Rows: s.Win.Rows} }

func (s *Sheet) Where(all []Paragraph) string { return s.Win.Place(len(s.Lines(all))) }

// wanted are the paragraphs with the words that are looked for, below their
// headings.
func (s *Sheet) wanted(all []Paragraph) []Paragraph {
	if s.Words == "" {
		return all
	}
	var out []Paragraph
	var heading *Paragraph
	for i := range all {
		p := &all[i]
		switch {
		case p.Text == "":
			heading = p
		case HasWords(p.Head+" "+p.Text, s.Words):
			if heading != nil && heading.Head != "" {
				out = append(out, *heading)
			}
			heading = nil
			out = append(out, *p)
		}
	}
	return out
}

// Lines are those of the sheet in the columns that it has.
func (s *Sheet) Lines(all []Paragraph) []sheetLine {
	all = s.wanted(all)
	w := max(s.W, leastColumns)
	head := 0
	for i := range all {
		if all[i].Text != "" {
			head = max(head, render.Width(render.Safe(all[i].Head)))
		}
	}
	head = min(head, w/3)
	var out []sheetLine
	for i := range all {
		p := &all[i]
		if p.Text == "" {
			out = append(out, sheetLine{Spans(In(Plain, " "), In(p.Look, p.Head)), p})
			continue
		}
		head, first := head, true
		if p.Head == "" {
			head = 0
		}
		room := w - head - 5
		if head == 0 {
			room = w - 3
		}
		for _, piece := range p.pieces(room) {
			l := Text(Plain, "  ")
			if head > 0 {
				word := ""
				if first {
					word = p.Head
				}
				l.Add(p.Look, Left(word, head)+"  ")
			}
			l.Add(p.Tone, piece)
			out = append(out, sheetLine{l, p})
			first = false
		}
	}
	return out
}

// pieces are the lines of a paragraph's text.
func (p *Paragraph) pieces(columns int) []string {
	if p.AsIs {
		return strings.Split(strings.TrimRight(p.Text, "\n"), "\n")
	}
	return wrapWords(render.Safe(p.Text), max(columns, 8))
}

// wrapWords breaks a text between words. A word that is too long for a line is
// broken, too.
func wrapWords(s string, columns int) []string {
	var out []string
	now := ""
	for _, word := range strings.Fields(s) {
		for render.Width(word) > columns {
			if now != "" {
				out = append(out, now)
				now = ""
			}
			n := partOf(word, columns)
			if n == 0 {
				break
			}
			out = append(out, word[:n])
			word = word[n:]
		}
		switch {
		case now == "":
			now = word
		case render.Width(now)+1+render.Width(word) > columns:
			out = append(out, now)
			now = word
		default:
			now += " " + word
		}
	}
	return append(out, now)
}

// partOf is how many bytes of a word that is too long stand in a line.
func partOf(word string, columns int) (n int) {
	at, part := 0, 0
	for i, r := range word {
		n = i
		if at += render.Width(string(r)); at > columns {
			break
		}
		if joint(r) {
			part = i + 1 // joints are one byte
		}
	}
	if part > n/3 {
		return part
	}
	return n
}

func (s *Sheet) Draw(all []Paragraph, w, h int) []Line {
	s.W = w
	lines := s.Lines(all)
	s.Win.Fit(len(lines), h)
	if len(lines) == 0 {
		return []Line{Blank(), Text(Plain, "   Nothing here has these words."), Text(Muted, "   esc shows everything again")}
	}
	return s.Win.Draw(len(lines), h, func(i int) Line { return lines[i].Line })
}

// Click selects a line; false if there is none.
func (s *Sheet) Click(all []Paragraph, y int) bool {
	if i := s.Win.Top + y; y >= 0 && i < len(s.Lines(all)) {
		s.Win.At = i
		return true
	}
	return false
}

// PlainText is all of it, as it is copied.
func (s *Sheet) PlainText(all []Paragraph) string {
	var b strings.Builder
	for _, p := range s.wanted(all) {
		b.WriteString(strings.TrimSpace(p.Head+"  "+p.Text) + "\n")
	}
	return b.String()
}
