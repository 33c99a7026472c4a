// Package compare says what differs: between the versions of a resource, two
// messages, what clients accepted in two recordings, and what an Envoy holds. What
// it means to be the same is decided in decode/diff, what was accepted in engine.
package compare

import (
	"io"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/input"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// Comparison is what was asked for, and whether anything differs.
type Comparison struct {
	*input.Opener
	Output       string // text or json
	Type, Client string // "" for all
	From, To     string // versions, as vN or as the number of an entry
	All          bool
	Context      int
	Differs      bool // what was compared does
}

// compare compares two decoded messages.
func (c *Comparison) compare(from, to document.Document) *diff.Result {
	o := diff.Options{Ignore: diff.Envelope(), Types: c.Types}
	if from.Type == to.Type {
		o.Type = to.Type
	}
	r := diff.Compare(&from.Root, &to.Root, o)
	c.Differs = c.Differs || !r.Same()
	return r
}

// printResult prints the lines of a difference, and how many of which kind
// there are.
func (c *Comparison) printResult(w io.Writer, r *diff.Result) error {
	style, screen := c.Style(), c.Columns()
	if r.Same() {
		_, err := w.Write([]byte(sameText(r) + "\n"))
		return err
	}
	for l := range render.DiffLines(r, c.Context) {
		if _, err := w.Write([]byte(l.Line(style, screen) + "\n")); err != nil {
			return err
		}
	}
	_, err := w.Write([]byte("\n" + countText(r) + "\n"))
	return err
}

func sameText(r *diff.Result) string {
	if len(r.Ignored) > 0 {
		return "the same, but for " + strings.Join(r.Ignored, " and ")
	}
	return "the same, but perhaps for an order that means nothing"
}

// countText is such as "2 changed, 1 added; ignored: nonce".
func countText(r *diff.Result) string {
	var words []string
	for _, k := range []diff.Kind{diff.Changed, diff.Added, diff.Removed, diff.Moved} {
		if n := r.Count[k]; n > 0 {
			words = append(words, render.Number(n)+" "+k.String())
		}
	}
	text := strings.Join(words, ", ")
	if len(r.Ignored) > 0 {
		text += "; ignored: " + strings.Join(r.Ignored, ", ")
	}
	if r.Coarse {
		text += "; too much differs to find what the parts have in common"
	}
	return text
}
