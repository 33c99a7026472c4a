package render

import (
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/document"
)

// yamlLines writes a tree line by line as Document.YAML does, or a part of the
// lines. What is not wanted costs no text.
type yamlLines struct {
	from, to int // the lines that are wanted
	at       int // the number of the next line
	emit     func(indent int, text string) bool
	over     bool
}

func (y *yamlLines) line(indent int, text string) {
	if y.at >= y.from && y.at < y.to && !y.over && !y.emit(indent, Safe(text)) {
		y.over = true
	}
	if y.at++; y.at >= y.to {
		y.over = true
	}
}

// passes says whether no line of a value is wanted; then they are counted.
func (y *yamlLines) passes(t *document.Tree, more int) bool {
	if y.over {
		return true
	}
	if y.at >= y.from {
		return false
	}
	n := countLines(t) + more
	if y.at+n > y.from {
		return false
	}
	y.at += n
	return true
}

// value writes a value at a column. Its first line begins with lead, at the
// column where that belongs.
func (y *yamlLines) value(t *document.Tree, column int, lead string, leadColumn int) {
	switch {
	case y.passes(t, 0):
	case len(t.Members) > 0:
		for i := range t.Members {
			y.member(&t.Members[i], column, lead, leadColumn)
			lead, leadColumn = "", column
		}
	case len(t.Items) > 0:
		for i := range t.Items {
			y.item(&t.Items[i], column, lead, leadColumn)
			lead, leadColumn = "", column
		}
	default:
		first, rest := scalarLines(t)
		y.line(leadColumn, lead+first)
		for _, text := range rest {
			y.line(column, text)
		}
	}
}

func (y *yamlLines) member(m *document.Member, column int, lead string, leadColumn int) {
	nested := isNested(&m.Value)
	if y.passes(&m.Value, lines(nested)) {
		return
	}
	key := keyText(m.Name)
	if !nested {
		y.value(&m.Value, column+2, lead+key+" ", leadColumn)
		return
	}
	y.line(leadColumn, lead+key)
	y.value(&m.Value, inner(&m.Value, column), "", inner(&m.Value, column))
}

func (y *yamlLines) item(t *document.Tree, column int, lead string, leadColumn int) {
	y.value(t, column+2, lead+"- ", leadColumn)
}

// isNested says whether a member's value begins on a line of its own.
func isNested(t *document.Tree) bool { return len(t.Members)+len(t.Items) > 0 }

// inner is the column of a nested value: items stand below the name.
func inner(t *document.Tree, column int) int {
	if t.Kind == document.Array {
		return column
	}
	return column + 2
}

func lines(nested bool) int {
	if nested {
		return 1
	}
	return 0
}

// countLines is how many lines a value takes, without the one of its name.
func countLines(t *document.Tree) int {
	n := 0
	for i := range t.Members {
		n += countLines(&t.Members[i].Value) + lines(isNested(&t.Members[i].Value))
	}
	for i := range t.Items {
		n += countLines(&t.Items[i])
	}
	if n == 0 {
		n = 1
		if t.Kind == document.String && strings.Contains(t.Text, "\n") {
			_, rest := scalarLines(t)
			n += len(rest)
		}
	}
	return n
}

// scalarLines is the text of a scalar or of what is empty; of a text of several
// lines the first one is "|" or "|-".
func scalarLines(t *document.Tree) (first string, rest []string) {
	doc := document.Document{Root: document.Tree{Members: []document.Member{{Name: "k", Value: *t}}}}
	text := strings.TrimSuffix(strings.TrimPrefix(string(doc.YAML()), "k: "), "\n")
	first, block, more := strings.Cut(text, "\n")
	if !more {
		return first, nil
	}
	for line := range strings.SplitSeq(block, "\n") {
		rest = append(rest, strings.TrimPrefix(line, "  "))
	}
	return first, rest
}

// keyText is the name of a member, with its colon.
func keyText(name string) string {
	key, _ := scalarLines(&document.Tree{Kind: document.String, Text: strings.ReplaceAll(name, "\n", "\\n")})
	return key + ":"
}
