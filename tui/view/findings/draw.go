package findings

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if v.titled = w >= view.ShortWidth; !v.titled {
		return v.rows(scr, w, h, (*View).shortRow)
	}
	return view.Split(scr, w, h, len(v.List.Rows),
		func(w, h int) []widget.Line { return v.table(scr, w, h) },
		func(w, h int) []widget.Line { return v.explained(scr, w, h) },
		func() (string, widget.Role) {
			if f := v.Finding(); f != nil {
				return f.Rule.ID, view.SeverityRole(f.Severity)
			}
			return "", widget.Title
		})
}

// table is the list with its titles.
func (v *View) table(scr view.Screen, w, h int) []widget.Line {
	c := findingColumnsFor(w)
	c.choose(scr.Choice(v.Title()), w)
	v.shown = c.list()
	head := widget.Spaces(4) + widget.Left("RULE", c.rule) + " "
	if c.client > 0 {
		head += widget.Left("CLIENT", c.client) + " "
	}
	if c.typ > 0 {
		head += widget.Left("TYPE", c.typ) + " "
	}
	if c.names > 0 {
		head += widget.Left("RESOURCE", c.names) + " "
	}
	head += widget.Right("COUNT", c.count)
	if c.first > 0 {
		head += " " + widget.Left("FIRST", c.first)
	}
	if c.last > 0 {
		head += " " + widget.Left("LAST", c.last)
	}
	out := []widget.Line{widget.Text(widget.Muted, head)}
	if len(v.List.Rows) == 0 {
		v.listed = 0
		return append(out, v.empty(scr)...)
	}
	return append(out, v.rows(scr, w, h-1, func(v *View, scr view.Screen, f *check.Finding, known bool, _ int) widget.Line {
		return v.row(scr, f, known, &c)
	})...)
}

// rows draws what is visible of the list.
func (v *View) rows(scr view.Screen, w, h int, draw func(*View, view.Screen, *check.Finding, bool, int) widget.Line) []widget.Line {
	v.listed, v.win.Rows = max(h, 1), max(h, 1)
	v.settle()
	if len(v.List.Rows) == 0 {
		return v.empty(scr)
	}
	return v.win.Draw(len(v.List.Rows), h, func(i int) widget.Line {
		at := v.List.Rows[i]
		return draw(v, scr, &v.List.all[at], v.List.known[at], w)
	})
}

// findingColumns are how wide the columns of the list are.
type findingColumns struct {
	rule, client, typ, names int
	count, first, last       int
}

func (c *findingColumns) list() []chosen.Column {
	return []chosen.Column{
		{Title: "RULE", Width: c.rule, Fixed: true},
		{Title: "CLIENT", Width: c.client},
		{Title: "TYPE", Width: c.typ},
		{Title: "RESOURCE", Width: c.names},
		{Title: "COUNT", Width: c.count},
		{Title: "FIRST", Width: c.first},
		{Title: "LAST", Width: c.last},
	}
}

// choose makes the columns those that were chosen. The names have what is left, or
// the rule.
func (c *findingColumns) choose(by *chosen.List, w int) {
	if by.Plain() {
		return
	}
	spare := w - 4
	for i, width := range []*int{&c.rule, &c.client, &c.typ, &c.names, &c.count, &c.first, &c.last} {
		if *width = by.Width(c.list()[i].Title, *width, w/2); *width > 0 {
			spare -= *width + 1
		}
	}
	switch {
	case c.names > 0 && !by.Chosen("RESOURCE"):
		c.names = max(c.names+spare, 4)
	case !by.Chosen("RULE"):
		c.rule = max(c.rule+spare, 8)
	}
}

func findingColumnsFor(w int) findingColumns {
	c := findingColumns{rule: 28, client: 12, typ: view.TypeWidth, count: 5, last: 8}
	rest := w - 4 - c.rule - 1 - c.client - 1 - view.TypeWidth - 1 - 5 - 9
	if rest < 10 { // what it is about matters more than whole names
		c.rule, c.client = 22, 10
		rest += 8
	}
	if rest >= 9+12 {
		c.first = 8
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

func (v *View) row(scr view.Screen, f *check.Finding, known bool, c *findingColumns) widget.Line {
	sign, look := render.SeveritySign(f.Severity), view.SeverityRole(f.Severity)
	name, client := widget.Plain, widget.Plain
	if known {
		look, name, client = widget.Muted, widget.Muted, widget.Muted
	}
	l := widget.Spans(widget.In(widget.Plain, " "), widget.In(widget.Plain, " "), widget.In(look, sign), widget.In(widget.Plain, " "))
	rule := widget.Middle(f.Rule.ID, c.rule)
	if known {
		rule = widget.Left(render.Middle(f.Rule.ID, c.rule-6)+" known", c.rule)
	}
	l.Add(widget.ToRule(look), rule)
	l.Add(look, " ")
	if c.client > 0 {
		l.Add(client, widget.Name(scr.Seen().Names, render.OrDash(view.ClientsOf(scr, f)), c.client)+" ")
	}
	if c.typ > 0 {
		l.Add(widget.Muted, widget.Middle(render.OrDash(f.Type), c.typ)+" ")
	}
	if c.names > 0 {
		l.Add(name, widget.Name(v.List.names, namesOf(f, scr.Aliases().Name), c.names)+" ")
	}
	l.Add(widget.Plain, widget.Right(render.ShortSize(int64(f.Count)), c.count))
	if c.first > 0 {
		l.Add(widget.Muted, " "+widget.Left(render.ShortTime(f.At), c.first))
	}
	if c.last > 0 {
		l.Add(widget.Muted, " "+widget.Left(render.ShortTime(f.Last), c.last))
	}
	return l
}

// shortRow is a row of a narrow pane.
func (v *View) shortRow(scr view.Screen, f *check.Finding, known bool, w int) widget.Line {
	look := view.SeverityRole(f.Severity)
	if known {
		look = widget.Muted
	}
	l := widget.Spans(widget.In(widget.Plain, " "), widget.In(look, render.SeveritySign(f.Severity)), widget.In(widget.Plain, " "))
	tail := ""
	if f.Count > max(len(f.Clients), 1) {
		tail = " x" + render.ShortSize(int64(f.Count))
	}
	if known {
		tail += " known"
	}
	rule := min(max(w*22/39, 8), 24)
	client := w - l.Width() - rule - 1 - render.Width(tail)
	l.Add(widget.ToRule(look), widget.Middle(f.Rule.ID, rule))
	l.Add(look, " ")
	l.Add(widget.Muted, widget.Name(scr.Seen().Names, view.ClientsOf(scr, f), client))
	l.Add(widget.Plain, tail)
	return l
}

func namesOf(f *check.Finding, alias func(string) string) string {
	switch n := len(f.Names); n {
	case 0:
		return "-"
	case 1:
		return alias(f.Names[0])
	default:
		return fmt.Sprintf("%s +%d", alias(f.Names[0]), n-1)
	}
}

func (v *View) empty(scr view.Screen) []widget.Line {
	switch {
	case v.Words != "":
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   No finding has these words."), widget.Text(widget.Muted, "   esc takes the filter away")}
	case !scr.Log().Feed.Done() && !scr.Log().Live:
		return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "   reading")}
	}
	return []widget.Line{widget.Blank(), widget.Text(widget.Good, "   No rule has found anything."), widget.Text(widget.Muted, "   :explain RULE says what one looks for")}
}

// explained says what was seen, what the rule says, and what to do.
func (v *View) explained(scr view.Screen, w, h int) []widget.Line {
	f := v.Finding()
	if f == nil || h < 1 {
		return nil
	}
	r := f.Rule
	out := append(headline(scr, f, w), seenLines(scr, f, w)...)
	parts := [][]widget.Line{
		widget.Labelled("means", widget.Plain, r.Means, w),
		widget.Labelled("next", widget.Plain, r.Next, w),
		widget.Labelled("causes", widget.Plain, r.Causes, w),
		widget.Labelled("spec", widget.Muted, r.Spec, w),
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
			out = append(out, widget.Blank())
		}
		out = append(out, p...)
	}
	if len(out) >= h {
		return out[:h]
	}
	if airy {
		out = append(out, widget.Blank())
	}
	return append(out, widget.Spans(widget.In(widget.Muted, " "+widget.Left("more", 8)), widget.In(widget.Accent, ":explain "+r.ID)))
}

func total(parts [][]widget.Line) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// cutShort leaves out the end of a paragraph, and says so.
func cutShort(p []widget.Line, rows int) []widget.Line {
	if rows = max(rows, 0); len(p) <= rows {
		return p
	}
	p = p[:rows]
	if rows > 0 {
		p[rows-1].Add(widget.Muted, " …")
	}
	return p
}

// headline says which rule it is, and whose fault.
func headline(scr view.Screen, f *check.Finding, w int) []widget.Line {
	var out []widget.Line
	look := view.SeverityRole(f.Severity)
	if w < view.SplitWidth*2/3 { // beside the list: nothing else says the name
		out = append(out, widget.Spans(widget.In(widget.Plain, " "), widget.In(look, render.SeveritySign(f.Severity)+" "), widget.In(widget.ToRule(look), f.Rule.ID)), widget.Blank())
	}
	for i, t := range widget.Wrapped(f.Rule.Title+" (the fault of the "+string(f.Fault)+")", w-11) {
		l := widget.Text(widget.Plain, " "+widget.Left("", 8))
		if i == 0 {
			l = widget.Text(look, " "+widget.Left(f.Severity.String(), 8))
		}
		l.Add(widget.Title, t)
		out = append(out, l)
	}
	return out
}

// seenLines say what proved a finding, by the entries.
func seenLines(scr view.Screen, f *check.Finding, w int) []widget.Line {
	out := widget.Labelled("seen", widget.Plain, scr.Aliases().Text(f.Message), w)
	if from := view.MadeFrom(scr, f.Sources, f.MoreSources, 3); from != "" {
		out = append(out, widget.Labelled("whose", widget.Plain, from, w)...)
	}
	if n := len(f.Clients); n > 0 {
		who := make([]string, n)
		for i, c := range f.Clients {
			who[i] = scr.Aliases().Name(c)
		}
		out = append(out, widget.Labelled("on", widget.Plain, view.ClientsOf(scr, f)+": "+render.SomeOf(who, 8), w)...)
	}
	seqs := involved(f)
	parts := make([]string, 0, len(seqs))
	for _, s := range seqs {
		part := fmt.Sprint(uint64(s))
		if r, ok := scr.Log().Index.BySeq(s); ok {
			words := scr.Log().Index.Words(&r)
			what := r.What.String()
			if what == "" {
				what = render.EventWord(r.Kind, words.Method.Variant)
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
	out = append(out, widget.Labelled("entries", widget.Accent, strings.Join(parts, ", "), w)...)
	when := "at " + render.ShortTime(f.At)
	if f.Count > 1 {
		when = fmt.Sprintf("%s times, from %s to %s (%s)", render.Number(int64(f.Count)), render.ShortTime(f.At), render.ShortTime(f.Last), render.Duration(f.Last.Sub(f.At)))
	}
	return append(out, widget.Labelled("when", widget.Plain, when, w)...)
}
