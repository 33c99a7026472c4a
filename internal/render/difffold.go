package render

import (
	"github.com/xdsproxy/xdsproxy/decode/document"
)

// piece is equal lines: members, items, or the lines of a text.
type piece struct {
	members []document.Member
	items   []document.Tree
	texts   []string
	column  int
	lead    string // of the first line
	leadAt  int
	from    int // lines that were written already
	count   int // lines, with those
	path    string
}

func (p *piece) write(from, to int, emit func(indent int, text string) bool) {
	y := yamlLines{from: from, to: to, emit: emit}
	lead, at := p.lead, p.leadAt
	for i := range p.members {
		y.member(&p.members[i], p.column, lead, at)
		lead, at = "", p.column
	}
	for i := range p.items {
		y.item(&p.items[i], p.column, lead, at)
		lead, at = "", p.column
	}
	for _, text := range p.texts {
		y.line(p.column, text)
	}
}

func (p *piece) measure() {
	p.count = len(p.texts)
	for i := range p.members {
		p.count += countLines(&p.members[i].Value) + lines(isNested(&p.members[i].Value))
	}
	for i := range p.items {
		p.count += countLines(&p.items[i])
	}
}

func (p *piece) parts() int { return len(p.members) + len(p.items) + len(p.texts) }

// flush writes the equal lines that wait: those near a change, of which next
// are near the one that follows.
func (w *diffWriter) flush(next int) {
	total := 0
	for i := range w.pending {
		total += w.pending[i].count - w.pending[i].from
	}
	head := 0
	if w.after {
		head = w.context
	}
	if w.context < 0 || total <= head+next+1 {
		head, next = total, 0
	}
	fold := total - head - next
	at, folded := 0, false
	for i := range w.pending {
		p := &w.pending[i]
		n := p.count - p.from
		emit := func(indent int, text string) bool {
			return w.out(DiffLine{Sign: ' ', Indent: indent, Text: text, Path: p.path})
		}
		if before := min(n, head-at); before > 0 {
			p.write(p.from, p.from+before, emit)
		}
		if fold > 0 && !folded && at+n > head {
			folded = true
			l := DiffLine{Sign: ' ', Indent: p.column, Text: "...", Equal: fold, Path: p.path}
			first := p.from + max(head-at, 0)
			p.write(first, first+1, func(indent int, text string) bool {
				l.Indent = indent
				if first == 0 && p.parts() == 1 && p.count >= fold && p.texts == nil {
					l.Text = text + " ..." // all of it is one value
				}
				return true
			})
			w.out(l)
		}
		if from := max(head+fold-at, 0); fold > 0 && from < n {
			p.write(p.from+from, p.count, emit)
		}
		at += n
	}
	if w.pending = w.pending[:0]; total > 0 {
		w.after = false
	}
}
