package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

const (
	// shortWidth is below which views draw their rows in a short form, without
	// titles: in a pane beside another, or on a very narrow screen.
	shortWidth = 60
	// splitWidth is from which what is selected is explained beside the list.
	splitWidth = 120
)

func (v *violations) draw(m *Model, w, h int) []line {
	if w < shortWidth {
		v.titled = false
		return v.rows(m, w, h, (*violations).shortRow)
	}
	v.titled = true
	if w >= splitWidth {
		listed := w * 9 / 16
		right := v.explained(m, w-listed-1, h)
		for i := range right {
			right[i].spans = append([]span{{plain, " "}}, right[i].spans...)
		}
		list := v.table(m, listed, h)
		for len(list) < h {
			list = append(list, blank())
		}
		return beside(&m.theme, list, listed, right)
	}
	if h < 12 {
		return v.table(m, w, h)
	}
	listed := min(max(h*2/5, 5), len(v.list.rows)+1)
	if len(v.list.rows) == 0 {
		return v.table(m, w, h)
	}
	out := v.table(m, w, listed)
	name := ""
	if f := v.finding(); f != nil {
		name = f.Rule.ID
	}
	out = append(out, m.rule(" "+name+" ", title, "", w))
	return append(out, v.explained(m, w, h-listed-1)...)
}

// table is the list with its titles.
func (v *violations) table(m *Model, w, h int) []line {
	c := findingColumnsFor(w)
	head := spaces(4) + left("RULE", c.rule) + " " + left("CLIENT", c.client) + " " + left("TYPE", typeWidth) + " "
	if c.names > 0 {
		head += left("RESOURCE", c.names) + " "
	}
	head += right("COUNT", 5)
	if c.first {
		head += " " + left("FIRST", 8)
	}
	head += " " + left("LAST", 8)
	out := []line{text(muted, head)}
	if len(v.list.rows) == 0 {
		v.listed = 0
		return append(out, v.empty(m)...)
	}
	return append(out, v.rows(m, w, h-1, func(v *violations, m *Model, f *check.Finding, known bool, _ int) line {
		return v.row(m, f, known, &c)
	})...)
}

// rows draws what is visible of the list.
func (v *violations) rows(m *Model, w, h int, draw func(*violations, *Model, *check.Finding, bool, int) line) []line {
	v.listed, v.win.rows = max(h, 1), max(h, 1)
	v.settle()
	if len(v.list.rows) == 0 {
		return v.empty(m)
	}
	var out []line
	for i := v.win.top; i < min(v.win.top+h, len(v.list.rows)); i++ {
		at := v.list.rows[i]
		l := draw(v, m, &v.list.all[at], v.list.known[at], w)
		if l.selected = i == v.win.at; l.selected {
			l.spans[0].text = ">"
		}
		out = append(out, l)
	}
	return out
}

// findingColumns are how wide the columns of the list are.
type findingColumns struct {
	rule, client, names int
	first               bool
}

func findingColumnsFor(w int) findingColumns {
	c := findingColumns{rule: 28, client: 12}
	rest := w - 4 - c.rule - 1 - c.client - 1 - typeWidth - 1 - 5 - 9
	if rest < 10 { // what it is about matters more than whole names
		c.rule, c.client = 22, 10
		rest += 8
	}
	if rest >= 9+12 {
		c.first = true
		rest -= 9
	}
	if rest < 8 {
		c.rule += rest
		return c
	}
	c.names = rest - 1
	if more := (c.names - 20) / 2; more > 0 {
		a := min(more, 10)
		b := min(more-a, 12)
		c.rule, c.client, c.names = c.rule+a, c.client+b, c.names-a-b
	}
	return c
}

func (v *violations) row(m *Model, f *check.Finding, known bool, c *findingColumns) line {
	sign, look := severitySign(f.Severity), severityRole(f.Severity)
	name, client := plain, plain
	if known {
		look, name, client = muted, muted, muted
	}
	l := spans(span{plain, " "}, span{plain, " "}, span{look, sign}, span{plain, " "})
	rule := middle(f.Rule.ID, c.rule)
	if known {
		rule = left(render.Middle(f.Rule.ID, c.rule-6)+" known", c.rule)
	}
	l.add(look, rule+" ")
	l.add(client, middle(orDash(m.clientsOf(f)), c.client)+" ")
	l.add(muted, middle(orDash(f.Type), typeWidth)+" ")
	if c.names > 0 {
		l.add(name, middle(m.namesOf(f), c.names)+" ")
	}
	l.add(plain, right(render.ShortSize(int64(f.Count)), 5))
	if c.first {
		l.add(muted, " "+shortTime(f.At))
	}
	l.add(muted, " "+shortTime(f.Last))
	return l
}

// shortRow is a row of a narrow pane.
func (v *violations) shortRow(m *Model, f *check.Finding, known bool, w int) line {
	look := severityRole(f.Severity)
	if known {
		look = muted
	}
	l := spans(span{plain, " "}, span{look, severitySign(f.Severity)}, span{plain, " "})
	tail := ""
	if f.Count > max(len(f.Clients), 1) {
		tail = " x" + render.ShortSize(int64(f.Count))
	}
	if known {
		tail += " known"
	}
	rule := min(max(w*22/39, 8), 24)
	client := w - l.width() - rule - 1 - render.Width(tail)
	l.add(look, middle(f.Rule.ID, rule)+" ")
	l.add(muted, middle(m.clientsOf(f), client))
	l.add(plain, tail)
	return l
}

func severitySign(s check.Severity) string {
	switch s {
	case check.Error:
		return "!"
	case check.Warning:
		return "~"
	}
	return "i"
}

func (m *Model) namesOf(f *check.Finding) string {
	switch n := len(f.Names); n {
	case 0:
		return "-"
	case 1:
		return m.alias(f.Names[0])
	default:
		return fmt.Sprintf("%s +%d", m.alias(f.Names[0]), n-1)
	}
}

func shortTime(t time.Time) string { return t.UTC().Format("15:04:05") }

func (v *violations) empty(m *Model) []line {
	switch {
	case v.words != "":
		return []line{blank(), text(plain, "   No finding has these words."), text(muted, "   esc takes the filter away")}
	case v.list.muted > 0:
		return []line{blank(), text(plain, "   All that rules found is hidden."), text(muted, "   u shows it again")}
	case !m.feed.Done() && !m.src.Live:
		return []line{blank(), text(muted, "   reading")}
	}
	return []line{blank(), text(good, "   No rule has found anything."), text(muted, "   :explain RULE says what one looks for")}
}

// explained says what was seen, what the rule says, and what to do.
func (v *violations) explained(m *Model, w, h int) []line {
	f := v.finding()
	if f == nil || h < 1 {
		return nil
	}
	r := f.Rule
	out := append(m.headline(f, w), m.seenLines(f, w)...)
	parts := [][]line{
		labelled("means", plain, r.Means, w),
		labelled("next", plain, r.Next, w),
		labelled("causes", plain, r.Causes, w),
		labelled("spec", muted, r.Spec, w),
	}
	// What does not fit goes from the end: the rule's page has all of it.
	room := h - len(out) - 1
	for len(parts) > 2 && total(parts) > room {
		parts = parts[:len(parts)-1]
	}
	if total(parts) > room {
		half := max(room/2, room-len(parts[1]))
		parts[0] = cutShort(parts[0], half)
		parts[1] = cutShort(parts[1], room-len(parts[0]))
	}
	if len(parts) > 3 { // in the order in which one reads them
		parts[1], parts[2] = parts[2], parts[1]
	}
	airy := total(parts)+len(parts)+1 <= room
	for _, p := range parts {
		if airy {
			out = append(out, blank())
		}
		out = append(out, p...)
	}
	if len(out) >= h {
		return out[:h]
	}
	if airy {
		out = append(out, blank())
	}
	return append(out, spans(span{muted, " " + left("more", 8)}, span{accent, ":explain " + r.ID}))
}

func total(parts [][]line) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// cutShort leaves out the end of a paragraph, and says so.
func cutShort(p []line, rows int) []line {
	if rows = max(rows, 0); len(p) <= rows {
		return p
	}
	p = p[:rows]
	if rows > 0 {
		p[rows-1].add(muted, " …")
	}
	return p
}

// headline says which rule it is, and whose fault.
func (m *Model) headline(f *check.Finding, w int) []line {
	var out []line
	look := severityRole(f.Severity)
	if w < splitWidth*2/3 { // beside the list: nothing else says the name
		out = append(out, spans(span{plain, " "}, span{look, severitySign(f.Severity) + " " + f.Rule.ID}), blank())
	}
	for i, t := range wrapped(f.Rule.Title+" (the fault of the "+string(f.Fault)+")", w-11) {
		l := text(plain, " "+left("", 8))
		if i == 0 {
			l = text(look, " "+left(f.Severity.String(), 8))
		}
		l.add(title, t)
		out = append(out, l)
	}
	return out
}

// seenLines say what proved a finding, by the entries.
func (m *Model) seenLines(f *check.Finding, w int) []line {
	out := labelled("seen", plain, m.aliasText(f.Message), w)
	if n := len(f.Clients); n > 0 {
		who := make([]string, n)
		for i, c := range f.Clients {
			who[i] = m.alias(c)
		}
		out = append(out, labelled("on", plain, m.clientsOf(f)+": "+render.SomeOf(who), w)...)
	}
	seqs := involved(f)
	parts := make([]string, 0, len(seqs))
	for _, s := range seqs {
		part := fmt.Sprint(uint64(s))
		if r, ok := m.index.BySeq(s); ok {
			words := m.index.Words(&r)
			what := r.What.String()
			if what == "" {
				what = eventWord(&r)
			}
			part += " " + what
			if words.Version != "" && r.What.Response() {
				part += " " + render.Middle(render.Safe(words.Version), 12)
			}
		}
		parts = append(parts, part)
	}
	if len(parts) > 8 {
		parts = append(parts[:4:4], append([]string{"…"}, parts[len(parts)-3:]...)...)
	}
	out = append(out, labelled("entries", accent, strings.Join(parts, ", "), w)...)
	when := "at " + shortTime(f.At)
	if f.Count > 1 {
		when = fmt.Sprintf("%s times, from %s to %s (%s)", render.Number(int64(f.Count)), shortTime(f.At), shortTime(f.Last), render.Duration(f.Last.Sub(f.At)))
	}
	return append(out, labelled("when", plain, when, w)...)
}
