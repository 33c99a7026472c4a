package render

import (
	"fmt"
	"iter"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

// DiffLine is one line of a difference, as YAML.
type DiffLine struct {
	Sign   byte   // ' ' for both, '-' for the old, '+' for the new
	Indent int    // columns before the text
	Text   string // printable; of folded lines what they begin with, or "..."
	// Note is what is to be said of the line beside its text, such as "was [3]".
	Note string
	// Equal is how many lines are folded into this one; 0: it is one line.
	Equal int
	// Change is the number of the change that the line is part of, from 1 in
	// the order of Result.Changes; 0 for none.
	Change int
	// Path is where the line stands, as a Path of package diff.
	Path string
}

// Line is what a person reads, on a screen of so many columns; 0 stands for a
// pipe or a file.
func (l *DiffLine) Line(s Style, columns int) string {
	look := plain
	switch {
	case l.Sign == '-':
		look = bad
	case l.Sign == '+':
		look = good
	case l.Equal > 0:
		look = muted
	}
	text := string(l.Sign) + " " + strings.Repeat(" ", l.Indent) + l.Text
	note := l.Note
	if l.Equal > 0 {
		note = join(note, Count(l.Equal, "line equal", "lines equal"))
	}
	if note == "" {
		return strings.TrimRight(s.paint(look, text), " ")
	}
	note = "[" + note + "]"
	text = PadRight(text, max(Width(text)+2, min(columns, noteColumn)-Width(note)))
	return s.paint(look, text) + s.paint(muted, note)
}

// noteColumn is where notes end, on a wide screen.
const noteColumn = 80

// DiffLines yields the lines of a difference. Of lines that are equal only so
// many are shown before and after each change, and those that lead to it; all
// if context is negative. Who has seen enough may stop.
func DiffLines(r *diff.Result, context int) iter.Seq[DiffLine] {
	return func(yield func(DiffLine) bool) {
		w := diffWriter{yield: yield, context: context, moves: make(map[*document.Tree]int)}
		number := 0
		for c := range r.Changes() {
			if number++; c.Moved {
				w.moves[c.New] = number
			}
		}
		w.node(&r.Root, nil, nil, slot{})
		w.flush(0)
	}
}

// diffWriter lays out one difference.
type diffWriter struct {
	yield   func(DiffLine) bool
	context int
	over    bool
	change  int                    // number of the last one
	moves   map[*document.Tree]int // the numbers of moves, by the new value
	pending []piece                // equal lines that were not written yet
	after   bool                   // the last line that was written is part of a change
}

// slot is where a value is written. Its first line begins with lead; of an
// item that is "- ", once in what is old and once in what is new.
type slot struct {
	column int
	lead   *leads
}

type leads struct {
	old, new string
	column   int
	note     string // of the first line, whichever it is
}

// take returns what a line of a sign begins with, where, and what is to be said
// of it.
func (f slot) take(sign byte) (lead string, column int, note string) {
	l := f.lead
	if l == nil {
		return "", f.column, ""
	}
	lead, column, note = l.new, l.column, l.note
	if sign == '-' {
		lead = l.old
	} else {
		l.new = ""
	}
	if sign != '+' {
		l.old = ""
	}
	if l.note = ""; lead == "" {
		column = f.column
	}
	return lead, column, note
}

func (w *diffWriter) out(l DiffLine) bool {
	if !w.over && !w.yield(l) {
		w.over = true
	}
	w.after = l.Change > 0
	return !w.over
}

// header writes a line that leads to a change.
func (w *diffWriter) header(l DiffLine) {
	w.flush(0)
	l.Sign = ' '
	w.out(l)
	w.after = false
}

// node writes a node that is a part of the new tree in, or of the old one if it
// was removed.
func (w *diffWriter) node(n *diff.Node, up diff.Path, in *document.Tree, f slot) {
	if w.over {
		return
	}
	if n.Kind == diff.Same {
		w.same(n, up, in, f)
		return
	}
	change := 0
	if _, is := n.Change(up); is {
		w.change++
		change = w.change
	}
	path := n.Path(up)
	l := DiffLine{Change: change}
	if len(n.Nodes) == 0 {
		l.Path = path.String()
	}
	switch {
	case n.Ghost:
		l.Sign, l.Change, l.Note = '-', w.moves[n.New], fmt.Sprintf("moved to [%d]", n.NewAt)
		w.block(n, n.Old, f, l)
	case n.Kind == diff.Moved:
		l.Sign, l.Note = '+', fmt.Sprintf("moved from [%d]", n.OldAt)
		w.block(n, n.New, f, l)
	case n.Kind == diff.Removed:
		l.Sign = '-'
		w.block(n, n.Old, f, l)
	case n.Kind == diff.Added:
		l.Sign = '+'
		w.block(n, n.New, f, l)
	case len(n.Nodes) == 0:
		if n.Moved {
			l.Note = fmt.Sprintf("moved from [%d]", n.OldAt)
		}
		w.replace(n, f, l)
	case !isNested(n.Old) || !isNested(n.New):
		w.filled(n, path, f)
	default:
		w.within(n, path, f, change)
	}
}

// filled writes a value that is empty on one side: what it is there stands on
// the line of its name.
func (w *diffWriter) filled(n *diff.Node, path diff.Path, f slot) {
	l := DiffLine{Sign: '-', Path: path.String(), Change: w.change + 1}
	if n.Moved {
		l.Note = fmt.Sprintf("moved from [%d]", n.OldAt)
	}
	full := byte('-')
	if !isNested(n.Old) {
		full = '+'
		w.block(n, n.Old, f, l)
		l.Note = ""
	}
	lead, column, note := f.take(full)
	in := slot{column: f.column}
	switch {
	case n.Item():
		note = join(note, l.Note)
		in = slot{column: f.column + 2, lead: &leads{old: lead + "- ", new: lead + "- ", column: column, note: note}}
	case !n.Root():
		l.Sign, l.Indent, l.Text, l.Note = full, column, Safe(lead+keyText(n.Name)), Safe(join(note, l.Note))
		w.flush(w.context)
		w.out(l)
		in.column = inner(n.New, f.column)
	}
	for i := range n.Nodes {
		w.node(&n.Nodes[i], path, n.New, in)
	}
	if full == '-' {
		l.Sign, l.Change, l.Note = '+', w.change, ""
		w.block(n, n.New, f, l)
	}
}

// same keeps equal lines until it is known which of them are near a change.
func (w *diffWriter) same(n *diff.Node, up diff.Path, in *document.Tree, f slot) {
	p := piece{column: f.column, path: up.String()}
	switch {
	case in == nil: // the whole tree
		p = whole(n.New, f.column)
	case n.Item():
		p.items = in.Items[n.NewAt : n.NewAt+n.Run]
	default:
		p.members = in.Members[n.NewAt : n.NewAt+n.Run]
	}
	p.lead, p.leadAt, _ = f.take(' ')
	p.measure()
	w.pending = append(w.pending, p)
}

// whole is a tree that is part of nothing.
func whole(t *document.Tree, column int) piece {
	p := piece{members: t.Members, items: t.Items, column: column}
	if !isNested(t) {
		first, rest := scalarLines(t)
		p.texts = append([]string{first}, rest...)
	}
	return p
}

// within writes what leads to the changes in a value, and these.
func (w *diffWriter) within(n *diff.Node, path diff.Path, f slot, change int) {
	note := ""
	if n.Moved {
		note = fmt.Sprintf("moved from [%d]", n.OldAt)
	}
	lead, column, said := f.take(' ')
	note = join(said, note)
	in := slot{column: f.column}
	switch first := &n.Nodes[0]; {
	case n.Item():
		// Its first line says which one it is, or what is said beside it does.
		in = slot{column: f.column + 2, lead: &leads{old: lead + "- ", new: lead + "- ", column: column, note: note}}
		if first.Kind != diff.Same {
			in.lead.note = join(note, n.Key)
			break
		}
		w.flush(0)
		w.same(first, path, n.New, in)
		p := w.pending[0]
		w.pending = w.pending[:0]
		p.write(0, 1, func(indent int, text string) bool {
			if _, value, _ := strings.Cut(n.Key, "="); !strings.Contains(text, value) {
				note = join(note, n.Key)
			}
			w.header(DiffLine{Indent: indent, Text: text, Note: Safe(note), Path: path.String(), Change: change})
			return true
		})
		if p.from = 1; p.from < p.count {
			w.pending = append(w.pending, p)
		}
		for i := range n.Nodes[1:] {
			w.node(&n.Nodes[1+i], path, n.New, in)
		}
		return
	case len(path) > 0:
		w.header(DiffLine{Indent: column, Text: Safe(lead + keyText(n.Name)), Note: Safe(note), Path: path.String(), Change: change})
		in.column = inner(n.New, f.column)
	}
	for i := range n.Nodes {
		w.node(&n.Nodes[i], path, n.New, in)
	}
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + ", " + b
}

// block writes the lines of a value that only one tree has, or that moved: of
// that, what is more than its first line is folded.
func (w *diffWriter) block(n *diff.Node, t *document.Tree, f slot, l DiffLine) {
	lead, column, note := f.take(l.Sign)
	l.Note = Safe(join(note, l.Note))
	p := partOf(n, t, f.column)
	p.lead, p.leadAt = lead, column
	p.measure()
	w.flush(w.context)
	until := p.count
	if n.Kind == diff.Moved && w.context >= 0 && p.count > 2 {
		until = 1
	}
	p.write(0, until, func(indent int, text string) bool {
		l.Indent, l.Text = indent, text
		more := w.out(l)
		l.Note = ""
		return more
	})
	if until < p.count {
		l.Indent, l.Text, l.Equal = p.column+2, "...", p.count-until
		w.out(l)
	}
}

// partOf is one value of a node with its name.
func partOf(n *diff.Node, t *document.Tree, column int) piece {
	switch {
	case n.Item():
		return piece{items: []document.Tree{*t}, column: column}
	case n.Root():
		return whole(t, column)
	}
	return piece{members: []document.Member{{Name: n.Name, Value: *t}}, column: column}
}
