package shortname

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const ellipsis = "…"

// Columns is how many columns of a terminal a printable character takes: two for
// wide East Asian ones and most emoji, none for combining marks.
func Columns(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// word is a name in cells: characters with the marks that combine with them.
type word struct {
	text, key string
	shape     []span
	cells     []int // where each begins, and where the last one ends
	upTo      []int // columns before each
	width     int
}

func newWord(text string) *word {
	w := &word{text: text, key: keyOf(text), shape: shapeOf(text)}
	for i, r := range text {
		c := Columns(r)
		if c > 0 || i == 0 {
			w.cells, w.upTo = append(w.cells, i), append(w.upTo, w.width)
		}
		w.width += c
	}
	w.cells, w.upTo = append(w.cells, len(text)), append(w.upTo, w.width)
	return w
}

// cellOf is the cell of a byte of the key.
func (w *word) cellOf(at int) int {
	for _, s := range w.shape {
		if n := s.to - s.from; at > n {
			at -= n + 1
			continue
		}
		at += s.from
		break
	}
	return w.cellAt(at)
}

func (w *word) cellAt(at int) int {
	i, is := slices.BinarySearch(w.cells, at)
	if !is {
		i--
	}
	return max(min(i, len(w.cells)-2), 0)
}

// pieces are the parts of a word that are shown, by cells, in order.
type pieces []span

// with is the pieces and one more. What stands between two of them is shown, too,
// where a sign for it were as wide.
func (w *word) with(p pieces, from, to int) pieces {
	out := append(make(pieces, 0, len(p)+1), p...)
	i, _ := slices.BinarySearchFunc(out, from, func(s span, from int) int { return s.from - from })
	out = slices.Insert(out, i, span{from, to})
	n := 0
	for _, s := range out[1:] {
		if last := &out[n]; s.from <= last.to || w.upTo[s.from]-w.upTo[last.to] <= 1 {
			last.to = max(last.to, s.to)
			continue
		}
		n++
		out[n] = s
	}
	out = out[:n+1]
	if first := &out[0]; w.upTo[first.from] <= 1 {
		first.from = 0
	}
	if last := &out[n]; w.width-w.upTo[last.to] <= 1 {
		last.to = len(w.cells) - 1
	}
	return out
}

// cost is how many columns pieces take, with a sign for each gap.
func (w *word) cost(p pieces) int {
	n, at := 0, 0
	for _, s := range p {
		if s.from > at {
			n++
		}
		n += w.upTo[s.to] - w.upTo[s.from]
		at = s.to
	}
	if at < len(w.cells)-1 {
		n++
	}
	return n
}

func (w *word) write(p pieces) string {
	var b strings.Builder
	at := 0
	for _, s := range p {
		if s.from > at {
			b.WriteString(ellipsis)
		}
		b.WriteString(w.text[w.cells[s.from]:w.cells[s.to]])
		at = s.to
	}
	if at < len(w.cells)-1 {
		b.WriteString(ellipsis)
	}
	return b.String()
}

// fit is the word in at most so many columns.
func (w *word) fit(need []int, columns int) string {
	if w.width <= columns {
		return w.text
	}
	return w.cut(need, columns)
}

// cut leaves something out. The cells that are needed come first, then the parts
// in which they are, then what tells most of the name.
func (w *word) cut(need []int, columns int) string {
	if len(w.cells) < 2 {
		return w.text
	}
	var p pieces
	try := func(from, to int) bool {
		if from < 0 || to >= len(w.cells) || from >= to {
			return false
		}
		with := w.with(p, from, to)
		if w.cost(with) > columns || slices.Equal(with, p) {
			return false
		}
		p = with
		return true
	}
	for _, c := range need {
		try(c, c+1)
	}
	parts := w.tokens()
	tokens := slices.Concat(parts...)
	for _, c := range need {
		i := slices.IndexFunc(tokens, func(t span) bool { return t.from <= c && c < t.to })
		if i >= 0 {
			try(tokens[i].from, tokens[i].to)
		}
	}
	if len(need) > 0 || w.shape != nil {
		for _, part := range parts {
			whole := true
			for _, t := range part {
				whole = (try(t.from, t.to) || w.shows(p, t)) && whole
			}
			if !whole { // of what tells less there is nothing, then
				break
			}
		}
	}
	if w.shape == nil || w.cost(p)*3 < columns*2 {
		w.grow(&p, try)
	}
	return w.write(p)
}

func (w *word) shows(p pieces, t span) bool {
	return slices.ContainsFunc(p, func(s span) bool { return s.from <= t.from && t.to <= s.to })
}

// grow shows as much as there is room for: of the beginning, of the end, and
// around what is shown already.
func (w *word) grow(p *pieces, try func(from, to int) bool) {
	end := len(w.cells) - 1
	for again := true; again; {
		again = false
		if ps := *p; len(ps) == 0 || ps[len(ps)-1].to < end {
			again = try(end-1, end)
		} else {
			again = try(ps[len(ps)-1].from-1, ps[len(ps)-1].from)
		}
		if ps := *p; len(ps) == 0 || ps[0].from > 0 {
			again = try(0, 1) || again
		} else {
			again = try(ps[0].to, ps[0].to+1) || again
		}
		for i := 1; i < len(*p)-1; i++ {
			again = try((*p)[i].from-1, (*p)[i].from) || again
			if i < len(*p)-1 {
				again = try((*p)[i].to, (*p)[i].to+1) || again
			}
		}
	}
}

// tokens are what stands between signs, by cells, for each part of the shape in the
// order in which they tell something. Of what has no shape that is its ends first.
func (w *word) tokens() [][]span {
	shape := w.shape
	if shape == nil {
		shape = []span{{0, len(w.text)}}
	}
	var out [][]span
	for _, s := range shape {
		var of []span
		for from := s.from; from < s.to; {
			n := strings.IndexFunc(w.text[from:s.to], isSign)
			if n < 0 {
				n = s.to - from
			}
			if n > 0 {
				of = append(of, span{w.cellAt(from), w.cellAt(from+n-1) + 1})
			}
			from += n
			_, size := utf8.DecodeRuneInString(w.text[from:])
			from += max(size, 1)
		}
		if !strings.Contains(w.text[s.from:s.to], ".") { // a host tells most at its beginning
			of = endsFirst(of)
		}
		out = append(out, of)
	}
	return out
}

func isSign(r rune) bool { return strings.ContainsRune("~|/.:@#-_,= ", r) }

func endsFirst(list []span) []span {
	out := make([]span, 0, len(list))
	for i, j := 0, len(list)-1; i <= j; i, j = i+1, j-1 {
		out = append(out, list[i])
		if i < j {
			out = append(out, list[j])
		}
	}
	return out
}
