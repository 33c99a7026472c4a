package render

import (
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
)

// maxChangeValue is the longest value that a change is told with, in columns.
const maxChangeValue = 24

// ChangeWords tells the differences of a result in one line: the first few, and
// how many more there are. Paths may hold names that peers chose.
func ChangeWords(r *diff.Result, most int) string {
	var words []string
	total := 0
	for c := range r.Changes() {
		if total++; total <= most {
			words = append(words, changeWord(&c))
		}
	}
	text := strings.Join(words, ", ")
	if more := total - len(words); more > 0 {
		text += " +" + strconv.Itoa(more) + " more"
	}
	return text
}

func changeWord(c *diff.Change) string {
	path := c.Path.String()
	if path == "" {
		path = "all of it"
	}
	was, is := scalarText(c.Old), scalarText(c.New)
	switch {
	case c.Kind == diff.Changed && was != "" && is != "":
		return path + " " + was + " > " + is
	case c.Kind == diff.Added && is != "":
		return path + " " + is + " added"
	}
	return path + " " + c.Kind.String()
}

// scalarText is a value that fits into a sentence, else "".
func scalarText(t *document.Tree) string {
	if t == nil || t.Kind == document.Object || t.Kind == document.Array || t.Text == "" ||
		strings.ContainsAny(t.Text, "\n ") || Width(Safe(t.Text)) > maxChangeValue {
		return ""
	}
	return t.Text
}
