package compare

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

const (
	diffHead    = 2 // lines above the differences
	diffContext = 3 // equal lines around a difference

	shortVersion, longVersion = 9, 24 // columns of versions in titles
	// FewLines bounds the lines of a content that is large, or on one side only.
	FewLines = 2000
	// maxDiffLines bounds the lines of all differences together.
	maxDiffLines = 20_000
)

// lines are all differences, one resource below the other.
func (v *View) lines() []widget.TextLine {
	var out []widget.TextLine
	out, v.after = compareLines(v.items, v.first, v.whole, len(v.items) > 1)
	if v.first > 0 {
		out = append([]widget.TextLine{aside(fmt.Sprintf("... %s that differ stand before these; N goes back to them", render.Count(v.first, "resource", "resources")), v.first)}, out...)
	}
	if v.after < len(v.items) {
		out = append(out, aside(fmt.Sprintf("... these are %s to %s of %s that differ; n goes on to the others", render.Number(v.first+1), render.Number(v.after), render.Count(len(v.items), "resource", "resources")), v.after-1))
	}
	return out
}

// plainText is all comparisons, those that are not on the screen as well.
func (v *View) plainText() string {
	var b strings.Builder
	for at := 0; at < len(v.items); {
		var lines []widget.TextLine
		lines, at = compareLines(v.items, at, v.whole, len(v.items) > 1)
		for i := range lines {
			b.WriteString(lines[i].PlainText() + "\n")
		}
	}
	return b.String()
}

// aside is a line about the text, beside the item of a number.
func aside(s string, of int) widget.TextLine {
	l := widget.Heading(widget.Warned, s)
	l.Of = of
	return l
}

// compareLines writes comparisons as lines, from one of them on and as many as
// there is room for; after is the first one that is left out. With heads, each
// begins with what it is about.
func compareLines(items []index.Compared, first int, whole map[int]bool, heads bool) (out []widget.TextLine, after int) {
	for i := first; i < len(items); i++ {
		c := &items[i]
		from := len(out)
		if heads {
			if i > first {
				out = append(out, widget.TextLine{Of: i - 1})
			}
			out = append(out, headLine(c))
			from = len(out)
		}
		out = itemLines(out, c, whole[i])
		for j := from; j < len(out); j++ {
			out[j].Level = 1
		}
		for j := max(from-1, 0); j < len(out); j++ {
			out[j].Of = i
		}
		if len(out) > maxDiffLines {
			if i == first { // it alone is too long
				out = append(out[:maxDiffLines:maxDiffLines], aside("... and more of it, which is not shown", i))
			}
			return out, i + 1
		}
	}
	return out, len(items)
}

// headLine names one of several resources.
func headLine(c *index.Compared) widget.TextLine {
	look, words := ChangeOf(c)
	if c.Result != nil {
		n := 0
		for range c.Result.Changes() {
			n++
		}
		words = render.Count(n, "difference", "differences")
	}
	t := widget.TextLine{Name: "resource", Value: c.Name, Ref: uint64(c.New.Seq)}
	t.Add(widget.Title, render.OrDash(c.Name)+"  ")
	t.Add(look, words)
	return t
}

func itemLines(out []widget.TextLine, c *index.Compared, whole bool) []widget.TextLine {
	switch {
	case c.Kind == diff.Same:
		return append(out, widget.Heading(widget.Plain, "There is no difference."))
	case c.Only != nil:
		return onlyLines(out, c)
	case c.Result == nil:
		l := widget.Heading(widget.Muted, sideWords(c))
		if l.Change = 1; unseen(c) {
			l.Add(widget.Accent, " space looks into it.")
		}
		return append(out, l)
	}
	context := diffContext
	if whole {
		context = -1
	}
	for l := range render.DiffLines(c.Result, context) {
		if len(out) > maxDiffLines {
			break
		}
		out = append(out, diffLine(&l))
	}
	if len(c.Result.Ignored) > 0 {
		out = append(out, widget.TextLine{}, widget.Heading(widget.Muted, "ignored: "+strings.Join(c.Result.Ignored, ", ")))
	}
	if c.Result.Coarse {
		out = append(out, widget.TextLine{}, widget.Heading(widget.Warned, "There are very many differences: some are told coarsely."))
	}
	return out
}

// sideWords says why there is nothing to see of a resource.
func sideWords(c *index.Compared) string {
	switch {
	case c.Lost == index.Unseen:
		return "What the client had before is not known."
	case c.Lost == index.LetGo:
		return "What the client had before was seen too long ago: it is not kept any more."
	case c.Kind == diff.Added:
		return "It was not there before."
	case c.Kind == diff.Removed:
		return "It is gone."
	}
	return "It differs."
}

// unseen says whether a resource was not looked into, since there are too many.
func unseen(c *index.Compared) bool { return c.Result == nil && c.Only == nil && c.Kind != diff.Same }

// onlyLines are those of a content that is only on one side.
func onlyLines(out []widget.TextLine, c *index.Compared) []widget.TextLine {
	sign, look := "+ ", widget.Good
	if c.Kind == diff.Removed {
		sign, look = "- ", widget.Bad
	}
	doc := document.Document{Root: *c.Only}
	lines, more := widget.YamlLines(render.SafeLines(string(doc.YAML())), FewLines)
	for i := range lines {
		t := widget.TextLine{Change: 1, Name: lines[i].Name, Value: lines[i].Value}
		t.Add(look, sign+lines[i].PlainText())
		out = append(out, t)
	}
	if more > 0 {
		out = append(out, widget.Heading(widget.Muted, fmt.Sprintf("... %s", render.Count(more, "more line", "more lines"))))
	}
	return out
}

func diffLine(l *render.DiffLine) widget.TextLine {
	t := widget.TextLine{Change: l.Change, Name: l.Path, Folded: l.Equal > 0}
	look := widget.Plain
	switch {
	case l.Sign == '-':
		look = widget.Bad
	case l.Sign == '+':
		look = widget.Good
	case l.Equal > 0:
		look = widget.Muted
	}
	if l.Sign == ' ' {
		t.Change = 0 // it leads to the change
	}
	t.Add(look, string(l.Sign)+" "+widget.Spaces(l.Indent)+l.Text)
	_, value, ok := widget.CutKey(strings.TrimPrefix(l.Text, "- "))
	if ok {
		t.Value = widget.Unquoted(value)
	}
	note := l.Note
	if l.Equal > 0 {
		note = strings.TrimPrefix(note+", "+render.Count(l.Equal, "line equal", "lines equal"), ", ")
	}
	if note != "" {
		t.Pad(max(t.Width()+2, 58-render.Width(note)))
		t.Add(widget.Muted, "["+note+"]")
	}
	return t
}

// DiffPage is what is different in a message since the one before.
func DiffPage(items []index.Compared, typ string) []widget.TextLine {
	var differ []index.Compared
	same := 0
	for i := range items {
		if items[i].Kind == diff.Same {
			same++
			continue
		}
		differ = append(differ, items[i])
	}
	if len(differ) == 0 {
		return []widget.TextLine{widget.Heading(widget.Plain, noDifference(items, typ))}
	}
	t := widget.Text(widget.Muted, "")
	t.Spans = nil
	t.Add(widget.Muted, editions(&differ[0], longVersion))
	if same > 0 {
		t.Add(widget.Muted, "   "+render.Count(same, "resource does", "resources do")+" not differ")
	}
	lines, after := compareLines(differ, 0, nil, len(items) > 1 || differ[0].Name != "")
	if after < len(differ) {
		lines = append(lines, aside(fmt.Sprintf("... these are %s of %s that differ; d shows all", render.Number(after), render.Count(len(differ), "resource", "resources")), after-1))
	}
	return append([]widget.TextLine{{Line: t}, {}}, lines...)
}

// noDifference says plainly that nothing differs, and between what.
func noDifference(items []index.Compared, typ string) string {
	if len(items) == 0 {
		return "There are no resources in it to compare."
	}
	c := &items[0]
	if c.Old.Seq == 0 {
		return "There is no difference."
	}
	return fmt.Sprintf("There is no difference: %s.", strings.TrimSpace(typ+" "+editions(c, longVersion)))
}

// editions says which two versions are compared, each shortened to so many
// columns.
func editions(c *index.Compared, version int) string {
	from := edition(&c.Old, version)
	switch c.Lost {
	case index.Unseen:
		from = "not known"
	case index.LetGo:
		from = "not kept any more"
	}
	return from + " > " + edition(&c.New, version)
}

func edition(e *index.Edition, columns int) string {
	word := ""
	switch {
	case e.Seq == 0:
		return "nothing"
	case e.Verdict == index.NACK:
		word = ", rejected"
	case e.Verdict == index.ACK:
		word = ", accepted"
	}
	version := render.Middle(render.Safe(e.Version), columns)
	if version != "" {
		return fmt.Sprintf("%s (%d%s)", version, e.Seq, word)
	}
	return fmt.Sprintf("%d%s", e.Seq, word)
}

// head is the line that says what is compared.
func (v *View) head(scr view.Screen, w int) string {
	c := v.item()
	if c == nil {
		return ""
	}
	name := scr.Aliases().Name(c.Name)
	if name == "" {
		name = "messages"
	}
	version := longVersion
	if w < 110 {
		version = shortVersion
	}
	s := " " + render.Middle(render.Safe(name), max(w/3, 16)) + "  " + v.typ + "  " + editions(c, version)
	switch {
	case v.past != nil:
		s += "     " + v.past.Where()
	case len(v.items) > 1 || v.same > 0:
		at := 0
		if line := v.Pane.Current(); line >= 0 {
			at = v.Pane.Lines[line].Of
		}
		if len(v.items) > 1 {
			s += fmt.Sprintf("     %d of %d that differ", min(at+1, len(v.items)), len(v.items))
		} else {
			s += "     1 differs"
		}
		if v.same > 0 {
			s += fmt.Sprintf(", %d as before", v.same)
		}
	}
	return s
}

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if len(v.items) == 0 {
		if v.busy != "" {
			return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "  "+v.busy+"; esc stops")}
		}
		what := "There is no difference."
		if v.same > 0 {
			what = fmt.Sprintf("There is no difference: %s as before.", render.Count(v.same, "resource is", "resources are"))
		}
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "  "+what)}
	}
	head := widget.Text(widget.Title, v.head(scr, w))
	if v.busy != "" {
		head = widget.Text(widget.Warned, " "+v.busy+"; esc stops")
	}
	out := []widget.Line{head, widget.Blank()}
	if h <= len(out) {
		return out[:max(h, 0)]
	}
	return append(out, v.Pane.Draw(scr.Theme(), scr.Aliases().Text, w, h-len(out))...)
}

func (v *View) Where(view.Screen) string {
	n := len(v.Pane.Changes())
	if n == 0 {
		return v.Pane.Where()
	}
	return v.Pane.Where() + ", " + render.Count(n, "difference", "differences")
}

func (v *View) About(view.Screen) widget.Line {
	if at := v.Pane.Current(); at >= 0 && v.Pane.Lines[at].Name != "" && v.Pane.Lines[at].Name != "resource" {
		return widget.Text(widget.Muted, v.Pane.Lines[at].Name)
	}
	return widget.Line{}
}

// ChangeOf says what became of a resource.
func ChangeOf(c *index.Compared) (widget.Role, string) {
	switch {
	case c.Kind == diff.Same:
		return widget.Muted, "none"
	case c.Kind == diff.Removed:
		return widget.Warned, "gone"
	case c.Kind == diff.Added && c.Lost == index.Unseen:
		return widget.Muted, "what it had before is not known"
	case c.Kind == diff.Added && c.Lost == index.LetGo:
		return widget.Muted, "what it had before is not kept any more"
	case c.Kind == diff.Added:
		return widget.Good, "new"
	case c.Result == nil:
		return widget.Accent, "changed"
	case c.Result.Coarse:
		return widget.Accent, fmt.Sprintf("changed in more than %d places", c.Result.Count[diff.Changed])
	}
	return widget.Accent, render.ChangeWords(c.Result, 3)
}
