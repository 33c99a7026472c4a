package tui

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/diff"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

const (
	diffHead    = 2 // lines above the differences
	diffContext = 3 // equal lines around a difference

	shortVersion, longVersion = 9, 24 // columns of versions in titles
	// maxDiffLines bounds the lines of all differences together.
	maxDiffLines = 20_000
)

// lines are all differences, one resource below the other.
func (v *diffView) lines() []textLine {
	return compareLines(v.items, v.whole, len(v.items) > 1)
}

// compareLines writes comparisons as lines. With heads, each begins with what it
// is about.
func compareLines(items []index.Compared, whole map[int]bool, heads bool) (out []textLine) {
	for i := range items {
		c := &items[i]
		from := len(out)
		if heads {
			if i > 0 {
				out = append(out, textLine{of: i - 1})
			}
			out = append(out, headLine(c))
			from = len(out)
		}
		out = itemLines(out, c, whole[i])
		for j := from; j < len(out); j++ {
			out[j].level = 1
		}
		for j := max(from-1, 0); j < len(out); j++ {
			out[j].of = i
		}
		if len(out) > maxDiffLines {
			return append(out[:maxDiffLines:maxDiffLines], heading(warned, "... and more, which is not shown"))
		}
	}
	return out
}

// headLine names one of several resources.
func headLine(c *index.Compared) textLine {
	look, words := changeOf(c)
	if c.Result != nil {
		n := 0
		for range c.Result.Changes() {
			n++
		}
		words = render.Count(n, "difference", "differences")
	}
	t := textLine{name: "resource", value: c.Name, seq: c.New.Seq}
	t.add(title, orDash(c.Name)+"  ")
	t.add(look, words)
	return t
}

func itemLines(out []textLine, c *index.Compared, whole bool) []textLine {
	switch {
	case c.Kind == diff.Same:
		return append(out, heading(plain, "There is no difference."))
	case c.Only != nil:
		return onlyLines(out, c)
	case c.Result == nil:
		return append(out, heading(muted, sideWords(c)))
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
		out = append(out, textLine{}, heading(muted, "ignored: "+strings.Join(c.Result.Ignored, ", ")))
	}
	if c.Result.Coarse {
		out = append(out, textLine{}, heading(warned, "There are very many differences: some are told coarsely."))
	}
	return out
}

// sideWords says why there is nothing to see of a resource.
func sideWords(c *index.Compared) string {
	switch {
	case c.Lost:
		return "What the client had before is not known."
	case c.Kind == diff.Added:
		return "It was not there before."
	case c.Kind == diff.Removed:
		return "It is gone."
	}
	return "It differs; there are too many resources to look into each: d on a single one does."
}

// onlyLines are those of a content that is only on one side.
func onlyLines(out []textLine, c *index.Compared) []textLine {
	sign, look := "+ ", good
	if c.Kind == diff.Removed {
		sign, look = "- ", bad
	}
	doc := decode.Document{Root: *c.Only}
	lines, more := yamlLines(render.SafeLines(string(doc.YAML())), fewLines)
	for i := range lines {
		t := textLine{change: 1, name: lines[i].name, value: lines[i].value}
		t.add(look, sign+lines[i].plainText())
		out = append(out, t)
	}
	if more > 0 {
		out = append(out, heading(muted, fmt.Sprintf("... %s", render.Count(more, "more line", "more lines"))))
	}
	return out
}

func diffLine(l *render.DiffLine) textLine {
	t := textLine{change: l.Change, name: l.Path, folded: l.Equal > 0}
	look := plain
	switch {
	case l.Sign == '-':
		look = bad
	case l.Sign == '+':
		look = good
	case l.Equal > 0:
		look = muted
	}
	if l.Sign == ' ' {
		t.change = 0 // it leads to the change
	}
	t.add(look, string(l.Sign)+" "+spaces(l.Indent)+l.Text)
	_, value, ok := cutKey(strings.TrimPrefix(l.Text, "- "))
	if ok {
		t.value = unquoted(value)
	}
	note := l.Note
	if l.Equal > 0 {
		note = strings.TrimPrefix(note+", "+render.Count(l.Equal, "line equal", "lines equal"), ", ")
	}
	if note != "" {
		t.pad(max(t.width()+2, 58-render.Width(note)))
		t.add(muted, "["+note+"]")
	}
	return t
}

// diffPage is what is different in a message since the one before.
func diffPage(items []index.Compared, typ string) []textLine {
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
		return []textLine{heading(plain, noDifference(items, typ))}
	}
	t := text(muted, "")
	t.spans = nil
	t.add(muted, editions(&differ[0], longVersion))
	if same > 0 {
		t.add(muted, "   "+render.Count(same, "resource does", "resources do")+" not differ")
	}
	return append([]textLine{{line: t}, {}}, compareLines(differ, nil, len(items) > 1 || differ[0].Name != "")...)
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
	if c.Lost {
		from = "not known"
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
func (v *diffView) head(m *Model, w int) string {
	c := v.item()
	if c == nil {
		return ""
	}
	name := m.alias(c.Name)
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
		s += "     " + v.past.where()
	case len(v.items) > 1 || v.same > 0:
		at := 0
		if line := v.pane.current(); line >= 0 {
			at = v.pane.lines[line].of
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

func (v *diffView) draw(m *Model, w, h int) []line {
	if len(v.items) == 0 {
		if v.busy != "" {
			return []line{blank(), text(muted, "  "+v.busy+"; esc stops")}
		}
		what := "There is no difference."
		if v.same > 0 {
			what = fmt.Sprintf("There is no difference: %s as before.", render.Count(v.same, "resource is", "resources are"))
		}
		return []line{blank(), text(plain, "  "+what)}
	}
	head := text(title, v.head(m, w))
	if v.busy != "" {
		head = text(warned, " "+v.busy+"; esc stops")
	}
	out := []line{head, blank()}
	if h <= len(out) {
		return out[:max(h, 0)]
	}
	return append(out, v.pane.draw(m, w, h-len(out))...)
}

func (v *diffView) where(*Model) string {
	n := len(v.pane.changes())
	if n == 0 {
		return v.pane.where()
	}
	return v.pane.where() + ", " + render.Count(n, "difference", "differences")
}

func (v *diffView) about(*Model) line {
	if at := v.pane.current(); at >= 0 && v.pane.lines[at].name != "" && v.pane.lines[at].name != "resource" {
		return text(muted, v.pane.lines[at].name)
	}
	return line{}
}
