package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// maxChanges is how many changes of one resource are told.
const maxChanges = 20

// Changes says, with types beside the linked ones, what differs between two resources, a line for each change but
// for those that pass, if not nil, says to pass over, and whether nothing does.
func Changes(types *descriptors.Types, oldType string, old []byte, newType string, new []byte, pass func(diff.Path) bool) (text string, same bool) {
	a, b := document.Decoder{Types: types}.Any(oldType, old), document.Decoder{Types: types}.Any(newType, new)
	r := diff.Compare(&a.Root, &b.Root, diff.Options{Types: types})
	if r.Same() && !r.Coarse {
		return "", true
	}
	var lines []string
	more := 0
	for c := range r.Changes() {
		if pass != nil && pass(c.Path) {
			continue
		}
		if len(lines) == maxChanges {
			more++
			continue
		}
		path := c.Path.String()
		if path == "" {
			path = "all of it"
		}
		switch c.Kind {
		case diff.Moved:
			lines = append(lines, path+": moved")
		default:
			lines = append(lines, fmt.Sprintf("%s: %s instead of %s", path, brief(c.New), brief(c.Old)))
		}
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more changes", more))
	}
	return strings.Join(lines, "\n"), lines == nil && !r.Coarse
}

// brief is a value in a few words.
func brief(t *document.Tree) string {
	switch {
	case t == nil:
		return "nothing"
	case t.Kind == document.Object:
		if typ, is := t.Get("@type"); is {
			return "a " + Bounded(xds.TypeName(typ.Text))
		}
		return fmt.Sprintf("an object of %d", len(t.Members))
	case t.Kind == document.Array:
		return fmt.Sprintf("a list of %d", len(t.Items))
	case t.Kind == document.String:
		return strconv.Quote(Bounded(t.Text))
	}
	return t.Text
}
