package resources

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// resourceColumns are how wide the columns are; 0 for those that there is no
// room for.
type resourceColumns struct {
	name, state, effect, version, seq, age int
	step                                   int  // of a level of the tree
	told                                   bool // there is word of what clients use
}

func resourceColumnsFor(w int, told bool) resourceColumns {
	c := resourceColumns{state: 9, step: 3, told: told}
	switch {
	case w < view.ShortWidth:
		c.step = 2
	case w < 100:
		c.version, c.seq, c.age = 12, 7, 5
	default:
		c.version, c.seq, c.age = 24, 8, 6
	}
	if told && c.version > 0 {
		if c.effect = 10; w < 100 { // the number of the response gives way
			c.seq = 0
		}
	}
	c.name = w - 2 - 1 - c.state
	for _, n := range []int{c.effect, c.version, c.seq, c.age} {
		if n > 0 {
			c.name -= n + 1
		}
	}
	return c
}

func (c *resourceColumns) list() []chosen.Column {
	out := []chosen.Column{
		{Title: "RESOURCE", Width: c.name, Fixed: true},
		{Title: "STATE", Width: c.state, Fixed: true},
		{Title: "VERSION", Width: c.version},
		{Title: "SEQ", Width: c.seq},
		{Title: "AGE", Width: c.age},
	}
	if c.told {
		out = slices.Insert(out, 2, chosen.Column{Title: effectTitle, Width: c.effect})
	}
	return out
}

// choose makes the columns those that were chosen. The version has what is left of
// names that were chosen, else the names have it.
func (c *resourceColumns) choose(by *chosen.List, w int) {
	if by.Plain() {
		return
	}
	spare := w - 2
	widths := []*int{&c.name, &c.state, &c.version, &c.seq, &c.age}
	if c.told {
		widths = slices.Insert(widths, 2, &c.effect)
	}
	for i, width := range widths {
		if *width = by.Width(c.list()[i].Title, *width, w*3/4); *width > 0 {
			spare -= *width + 1
		}
	}
	switch spare++; {
	case !by.Chosen("RESOURCE") || spare < 0 && c.version == 0:
		c.name = max(c.name+spare, 12)
	case c.version > 0 && !by.Chosen("VERSION"):
		c.version = max(c.version+spare, 4)
	}
}

func (v *View) Columns(view.Screen) []chosen.Column { return v.shown }

// SortBy does not sort: the order is that of the references, or of the types.
func (v *View) SortBy(view.Screen, string) (tea.Cmd, bool) { return nil, false }

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if w < view.SplitWidth || v.Of(scr) == "" {
		return v.list(scr, w, h)
	}
	listed := w * 5 / 8
	out := v.list(scr, listed, h)
	for len(out) < h {
		out = append(out, widget.Blank())
	}
	return widget.Beside(scr.Theme(), out, listed, v.aside(scr, w-listed-1, h))
}

// list is the client, and its resources.
func (v *View) list(scr view.Screen, w, h int) []widget.Line {
	c := resourceColumnsFor(w, v.told())
	c.choose(scr.Choice(v.Title()), w)
	v.shown = c.list()
	client := v.Of(scr)
	if client == "" {
		return v.clients.Empty(scr)
	}
	out := []widget.Line{v.clientLine(scr, client, w)}
	if w >= view.ShortWidth {
		head := "  " + widget.Left("RESOURCE", c.name) + " " + widget.Left("STATE", c.state)
		if c.effect > 0 {
			head += " " + widget.Left(effectTitle, c.effect)
		}
		if c.version > 0 {
			head += " " + widget.Left("VERSION", c.version)
		}
		if c.seq > 0 {
			head += " " + widget.Right("SEQ", c.seq)
		}
		if c.age > 0 {
			head += " " + widget.Right("AGE", c.age)
		}
		out = append(out, widget.Text(widget.Muted, head))
	}
	v.titles = len(out)
	v.Win.Rows = max(h-len(out), 1)
	v.settle()
	rows := v.Rows()
	if v.Forest == nil || v.Forest.query.client != client {
		return append(out, widget.Blank(), widget.Text(widget.Muted, "   reading"))
	}
	if len(rows) == 0 {
		return append(out, v.empty(scr, client)...)
	}
	for i := max(v.Win.Top, 1); i < min(max(v.Win.Top, 1)+h-v.titles, len(rows)+1); i++ {
		l := v.rowLine(scr, &rows[i-1], &c)
		l.Choose(i == v.Win.At)
		out = append(out, l)
	}
	return out
}

func (v *View) empty(scr view.Screen, client string) []widget.Line {
	if v.words != "" {
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   No resource has these words."), widget.Text(widget.Muted, "   esc takes the filter away")}
	}
	text := "It asked for nothing, and nothing was sent to it."
	for _, c := range scr.Seen().Standing {
		switch {
		case c.Client != client || len(c.Types) == 0:
		case slices.ContainsFunc(c.Types, func(t engine.TypeStatus) bool { return t.Lost }):
			text = "No resource is known: not all was recorded or can be read."
		default:
			text = "It asked for no resource by name, and none was sent to it."
		}
	}
	return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   "+text)}
}

// clientLine is who it is, and where it stands.
func (v *View) clientLine(scr view.Screen, client string, w int) widget.Line {
	l := widget.Text(widget.Plain, "  ")
	l.Choose(v.Win.At == 0)
	name := min(render.Width(render.Safe(scr.Aliases().Name(client))), max(w/3, 12))
	l.Add(widget.Title, view.ClientName(scr, client, name)+"  ")
	for i := range scr.Seen().Standing {
		c := &scr.Seen().Standing[i]
		if c.Client != client {
			continue
		}
		if c.Agent != "" && w >= view.ShortWidth {
			l.Add(widget.Muted, strings.TrimSpace(c.Agent+" "+c.Version)+"  ")
		}
		if !c.Gone.IsZero() && !scr.Log().Feed.Done() {
			l.Add(widget.Muted, "gone "+render.Age(scr.Seen().At.Sub(c.Gone))+"  ")
		}
	}
	if v.Forest == nil || v.Forest.query.client != client {
		return l
	}
	bad0 := false
	for _, state := range []engine.ResourceState{engine.Rejected, engine.Missing, engine.Uncertain, engine.Sent} {
		if n := v.Forest.States[state]; n > 0 {
			l.Add(resourceRole(state), fmt.Sprintf("%s %s  ", state, render.Number(int64(n))))
			bad0 = true
		}
	}
	if n := v.Forest.States[engine.Acked]; n > 0 && (!bad0 || w >= view.ShortWidth) {
		l.Add(widget.Good, fmt.Sprintf("%s %s", engine.Acked, render.Number(int64(n))))
	}
	return l
}

func resourceRole(s engine.ResourceState) widget.Role {
	switch s {
	case engine.Acked:
		return widget.Good
	case engine.NotOverXDS:
		return widget.Muted
	case engine.Rejected, engine.Missing:
		return widget.Bad
	}
	return widget.Warned
}

// rowLine is one resource, or a title.
func (v *View) rowLine(scr view.Screen, r *treeRow, c *resourceColumns) widget.Line {
	l := widget.Text(widget.Plain, "  ")
	if r.node == nil {
		sign := "- "
		if r.folded {
			sign = "+ "
		}
		l.Add(widget.Muted, sign)
		name, about, more := strings.Cut(r.title, ":")
		l.Add(widget.Title, name)
		if more && c.version > 0 {
			l.Add(widget.Muted, ":"+about)
		}
		return l
	}
	n := r.node
	lead := v.lead(scr, r, c.step)
	if most := max(c.name-16, 0); render.Width(lead) > most { // very deep
		lead = ""
	}
	if r.folded {
		lead += "+ "
	}
	l.Add(widget.Muted, lead)
	typ := n.Type
	if len(typ) > 5 {
		typ = render.Middle(typ, 8)
	}
	width := max(view.TypeWidth, render.Width(typ))
	l.Add(widget.Accent, widget.Left(typ, width)+" ")
	room := c.name - render.Width(lead) - width - 1
	name := widget.Plain
	if n.State == engine.Missing {
		name = widget.Muted
	}
	again := ""
	if n.Again && room > 20 {
		again = " (above)"
	}
	shown := v.Forest.names[n.Type].Fit(render.Safe(scr.Aliases().Name(n.Name)), room-len(again))
	l.Add(name, shown)
	l.Add(widget.Muted, again)
	l.Pad(2 + c.name)
	beside := c.version
	if c.effect > 0 {
		beside += 1 + c.effect
	}
	if n.State == engine.NotOverXDS && c.version > 0 { // there is no version
		l.Add(resourceRole(n.State), " "+widget.Left(string(n.State), c.state+1+beside))
	} else {
		l.Add(resourceRole(n.State), " "+widget.Left(string(n.State), c.state))
		if c.effect > 0 {
			e := v.effectOf(n)
			l.Add(effectRole(&e), " "+widget.Left(render.EffectWord(&e), c.effect))
		}
	}
	if c.version > 0 && n.State != engine.NotOverXDS {
		l.Add(widget.Plain, " "+widget.Middle(render.OrDash(n.Version), c.version))
	}
	if c.seq > 0 || c.age > 0 {
		seq, when := "-", "-"
		if n.Seq != 0 {
			seq, when = fmt.Sprint(uint64(n.Seq)), render.Age(scr.Seen().At.Sub(n.At))
		}
		if c.seq > 0 {
			l.Add(widget.Muted, " "+widget.Right(seq, c.seq))
		}
		if c.age > 0 {
			l.Add(widget.Muted, " "+widget.Right(when, c.age))
		}
	}
	return l
}

// lead draws the branches before a node.
func (v *View) lead(scr view.Screen, r *treeRow, step int) string {
	g := scr.Theme().Glyph
	if r.section > dangling || v.byType {
		return "  "
	}
	short := func(s string) string {
		if step == 3 {
			return s
		}
		runes := []rune(s)
		return string([]rune{runes[0], runes[len(runes)-1]})
	}
	var b strings.Builder
	for d := range int(r.depth) {
		if r.ends&(1<<d) != 0 {
			b.WriteString(widget.Spaces(step))
		} else {
			b.WriteString(short(g.Trunk))
		}
	}
	if r.ends&(1<<r.depth) != 0 {
		b.WriteString(short(g.Last))
	} else {
		b.WriteString(short(g.Branch))
	}
	return b.String()
}

// aside is what there is to say of the resource that is selected.
func (v *View) aside(scr view.Screen, w, h int) []widget.Line {
	r := v.row()
	if r == nil || r.node == nil || v.Forest == nil {
		return v.asideClient(scr, w, h)
	}
	n := v.Forest.nodes[[2]string{r.node.Type, r.node.Name}]
	if n == nil {
		n = r.node
	}
	out := []widget.Line{widget.Spans(widget.In(widget.Accent, " "+n.Type+" "))}
	for i, t := range widget.Wrapped(scr.Aliases().Name(n.Name), w-7) {
		if i > 0 {
			out = append(out, widget.Text(widget.Title, widget.Spaces(6)+t))
			continue
		}
		out[0] = widget.Spans(widget.In(widget.Accent, " "+widget.Left(n.Type, 5)), widget.In(widget.Title, t))
	}
	out = append(out, widget.Blank())
	out = append(out, widget.Labelled("state", resourceRole(n.State), string(n.State), w)...)
	if n.State == engine.Rejected {
		if t := scr.Seen().Type(v.Of(scr), n.Type); t != nil && t.Nack != "" {
			out = append(out, widget.Labelled("why", widget.Plain, scr.Aliases().Text(t.Nack), w)...)
			out = append(out, widget.Labelled("by", widget.Accent, fmt.Sprint(uint64(t.NackSeq)), w)...)
		}
	}
	if from := view.MadeFrom(scr, n.Sources, n.MoreSources, 6); from != "" {
		out = append(out, widget.Labelled("whose", widget.Plain, from, w)...)
	}
	if n.Version != "" {
		out = append(out, widget.Labelled("version", widget.Plain, n.Version, w)...)
	}
	if v.told() && n.State != engine.Missing && n.State != engine.NotOverXDS {
		e := v.effectOf(n)
		out = append(out, widget.Labelled("effect", effectRole(&e), scr.Aliases().Text(render.EffectReason(&e)), w)...)
	}
	if n.Seq != 0 {
		out = append(out, widget.Labelled("came", widget.Plain, fmt.Sprintf("with %d at %s, %s ago", n.Seq, render.TimeOfDay(n.At), render.Age(scr.Seen().At.Sub(n.At))), w)...)
	} else if n.State != engine.Missing && n.State != engine.NotOverXDS {
		out = append(out, widget.Labelled("came", widget.Muted, "so long ago that it has to be looked for: enter", w)...)
	}
	above := v.above(n)
	out = append(out, widget.Blank())
	if len(above) == 0 {
		why := "nothing refers to it"
		if n.State == engine.Missing {
			why = "the client asks for it by name"
		} else if r.section == used {
			why = "the client asks for it; nothing refers to such a type"
		}
		out = append(out, widget.Text(widget.Muted, " "+why))
	} else {
		out = append(out, widget.Text(widget.Muted, " referred to by"))
		out = append(out, v.references(scr, above, w, max((h-len(out))/2, 2))...)
	}
	if len(n.Children) > 0 {
		out = append(out, widget.Blank(), widget.Text(widget.Muted, " refers to"))
		out = append(out, v.references(scr, n.Children, w, max(h-len(out), 1))...)
	}
	return out[:min(len(out), h)]
}

// references lists some resources, and how many more there are.
func (v *View) references(scr view.Screen, list []*engine.Node, w, h int) []widget.Line {
	var out []widget.Line
	for i, n := range list {
		if i == h-1 && len(list) > h {
			return append(out, widget.Text(widget.Muted, fmt.Sprintf("   and %s more", render.Number(int64(len(list)-i)))))
		}
		l := widget.Spans(widget.In(widget.Accent, "   "+widget.Left(n.Type, 5)))
		l.Add(widget.Plain, widget.Name(v.Forest.names[n.Type], scr.Aliases().Name(n.Name), max(w-8-11, 4))+" ")
		l.Add(resourceRole(n.State), widget.Left(string(n.State), 9))
		out = append(out, l)
	}
	return out
}

// asideClient says where the client stands with each type.
func (v *View) asideClient(scr view.Screen, w, h int) []widget.Line {
	client := v.Of(scr)
	out := []widget.Line{widget.Text(widget.Title, " "+widget.MiddleText(scr.Aliases().Name(client), w-2)), widget.Blank()}
	for i := range scr.Seen().Standing {
		c := &scr.Seen().Standing[i]
		if c.Client != client {
			continue
		}
		if len(c.Types) > 0 {
			out = append(out, widget.Text(widget.Muted, " TYPE  STATE     HAVE    SINCE   VERSION"))
		}
		for j := range c.Types {
			t := &c.Types[j]
			l := widget.Spans(widget.In(widget.Accent, " "+widget.Middle(t.Type, 5)+" "))
			l.Add(view.StateRole(t.State), widget.Left(t.State.String(), view.StateWidth))
			l.Add(widget.Plain, widget.Right(render.Number(int64(t.Have)), 7))
			l.Add(widget.Muted, "    "+widget.Left(render.Age(scr.Seen().At.Sub(t.Since)), 7)+" ")
			l.Add(widget.Plain, widget.MiddleText(render.OrDash(t.Version), max(w-l.Width()-1, 4)))
			out = append(out, l)
		}
	}
	return out[:min(len(out), h)]
}
