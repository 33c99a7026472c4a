package render

import (
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

// replace writes a value that has changed as a whole. Of a text of several
// lines only those are said to have changed that have.
func (w *diffWriter) replace(n *diff.Node, f slot, l DiffLine) {
	if was, is, ok := texts(n); ok && !n.Root() {
		lead, column, note := f.take(' ')
		first, _ := scalarLines(n.New)
		name := "- "
		if !n.Item() {
			name = keyText(n.Name) + " "
		}
		w.header(DiffLine{Indent: column, Text: Safe(lead + name + first), Note: Safe(note), Path: l.Path, Change: l.Change})
		w.texts(was, is, f.column+2, l)
		return
	}
	l.Sign = '-'
	w.block(n, n.Old, f, l)
	l.Sign = '+'
	w.block(n, n.New, f, l)
}

// texts are the lines of two texts that are both written as blocks, in the same
// way.
func texts(n *diff.Node) (was, is *document.Tree, ok bool) {
	oldHead, oldLines := scalarLines(n.Old)
	newHead, newLines := scalarLines(n.New)
	if isNested(n.Old) || isNested(n.New) || oldHead != newHead || len(oldLines) == 0 || len(newLines) == 0 {
		return nil, nil, false
	}
	list := func(lines []string) *document.Tree {
		t := &document.Tree{Kind: document.Array}
		for _, l := range lines {
			t.Items = append(t.Items, document.Tree{Kind: document.String, Text: l})
		}
		return t
	}
	return list(oldLines), list(newLines), true
}

func (w *diffWriter) texts(was, is *document.Tree, column int, l DiffLine) {
	r := diff.Compare(was, is, diff.Options{})
	l.Indent = column
	for i := range r.Root.Nodes {
		n := &r.Root.Nodes[i]
		switch {
		case n.Kind == diff.Same:
			p := piece{column: column, path: l.Path, count: n.Run}
			for _, t := range is.Items[n.NewAt : n.NewAt+n.Run] {
				p.texts = append(p.texts, t.Text)
			}
			w.pending = append(w.pending, p)
			continue
		case n.Ghost, n.Kind == diff.Removed:
			l.Sign, l.Text = '-', Safe(n.Old.Text)
		default:
			l.Sign, l.Text = '+', Safe(n.New.Text)
		}
		w.flush(w.context)
		w.out(l)
	}
}
