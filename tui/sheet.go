package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

// sheet is a text that is read from above: paragraphs with a word before them,
// wrapped to the width. It is part of a view.
type sheet struct {
	win   window
	w     int // columns it was drawn in last
	words string
}

// paragraph is a piece of a sheet.
type paragraph struct {
	head string // the word before it; with no text, it is a heading
	look role   // of the head
	text string
	tone role // of the text
	// as is: the text is code, and its lines are cut, not wrapped.
	asIs bool
	// run is what enter does; nil if it is only read.
	run func(m *Model) tea.Cmd
}

// sheetLine is a line of a sheet, and the paragraph that it belongs to.
type sheetLine struct {
	line
	of *paragraph
}

func (s *sheet) offers() []key.Offer {
	return key.WithMoves([]key.Offer{{Act: key.Filter, Hint: "find", Help: "only lines with these words"}})
}

// do moves, or asks for words; false if the action is another one.
func (s *sheet) do(m *Model, a key.Action, all []paragraph) (tea.Cmd, bool) {
	if a == key.Filter {
		return m.open(rowFilter, s.words), true
	}
	lines := s.lines(all)
	from := s.win.at
	moved := s.win.move(a, len(lines))
	if moved && from < len(lines) && lines[from].of.run != nil {
		s.whole(a, lines, from)
	}
	return nil, moved
}

// whole moves by paragraphs, where these are things to choose: to the first line
// of the one above or below.
func (s *sheet) whole(a key.Action, lines []sheetLine, from int) {
	switch a {
	case key.Down:
		for s.win.at+1 < len(lines) && lines[s.win.at].of == lines[from].of {
			s.win.at++
		}
		if lines[s.win.at].of == lines[from].of { // it is the last one
			s.win.at = from
		}
	case key.Up:
		for s.win.at > 0 && lines[s.win.at-1].of == lines[s.win.at].of {
			s.win.at--
		}
	}
	s.win.fit(len(lines), s.win.rows)
}

// at is the paragraph that is selected, nil if there is none.
func (s *sheet) at(all []paragraph) *paragraph {
	lines := s.lines(all)
	if s.win.at >= len(lines) {
		return nil
	}
	return lines[s.win.at].of
}

func (s *sheet) query() string        { return s.words }
func (s *sheet) language() promptKind { return rowFilter }
func (s *sheet) ask(_ *Model, text string) (tea.Cmd, error) {
	s.words, s.win = text, window{rows: s.win.rows}
	return nil, nil
}

func (s *sheet) where(all []paragraph) string { return place(&s.win, len(s.lines(all))) }

// wanted are the paragraphs with the words that are looked for, below their
// headings.
func (s *sheet) wanted(all []paragraph) []paragraph {
	if s.words == "" {
		return all
	}
	var out []paragraph
	var heading *paragraph
	for i := range all {
		p := &all[i]
		switch {
		case p.text == "":
			heading = p
		case hasWords(p.head+" "+p.text, s.words):
			if heading != nil && heading.head != "" {
				out = append(out, *heading)
			}
			heading = nil
			out = append(out, *p)
		}
	}
	return out
}

// lines are those of the sheet in the columns that it has.
func (s *sheet) lines(all []paragraph) []sheetLine {
	all = s.wanted(all)
	w := max(s.w, leastWidth)
	head := 0
	for i := range all {
		if all[i].text != "" {
			head = max(head, render.Width(render.Safe(all[i].head)))
		}
	}
	head = min(head, w/3)
	var out []sheetLine
	for i := range all {
		p := &all[i]
		if p.text == "" {
			out = append(out, sheetLine{spans(span{plain, " "}, span{p.look, p.head}), p})
			continue
		}
		head, first := head, true
		if p.head == "" {
			head = 0
		}
		room := w - head - 5
		if head == 0 {
			room = w - 3
		}
		for _, piece := range p.pieces(room) {
			l := text(plain, "  ")
			if head > 0 {
				word := ""
				if first {
					word = p.head
				}
				l.add(p.look, left(word, head)+"  ")
			}
			l.add(p.tone, piece)
			out = append(out, sheetLine{l, p})
			first = false
		}
	}
	return out
}

// pieces are the lines of a paragraph's text.
func (p *paragraph) pieces(columns int) []string {
	if p.asIs {
		return strings.Split(strings.TrimRight(p.text, "\n"), "\n")
	}
	return wrapWords(render.Safe(p.text), max(columns, 8))
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
			n := 0
			for i := range word {
				if i > 0 && render.Width(word[:i]) > columns {
					break
				}
				n = i
			}
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

func (s *sheet) draw(all []paragraph, w, h int) []line {
	s.w = w
	lines := s.lines(all)
	s.win.fit(len(lines), h)
	if len(lines) == 0 {
		return []line{blank(), text(plain, "   Nothing here has these words."), text(muted, "   esc shows everything again")}
	}
	var out []line
	for i := s.win.top; i < min(s.win.top+h, len(lines)); i++ {
		l := lines[i].line
		if l.selected = i == s.win.at; l.selected && len(l.spans) > 0 {
			l.spans[0].text = ">" + strings.TrimPrefix(l.spans[0].text, " ")
		}
		out = append(out, l)
	}
	return out
}

// click selects a line; false if there is none.
func (s *sheet) click(all []paragraph, y int) bool {
	if i := s.win.top + y; y >= 0 && i < len(s.lines(all)) {
		s.win.at = i
		return true
	}
	return false
}

// plainText is all of it, as it is copied.
func (s *sheet) plainText(all []paragraph) string {
	var b strings.Builder
	for _, p := range s.wanted(all) {
		b.WriteString(strings.TrimSpace(p.head+"  "+p.text) + "\n")
	}
	return b.String()
}
