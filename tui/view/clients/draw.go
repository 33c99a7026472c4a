package clients

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// typeColumn is a column of the matrix.
type typeColumn struct {
	typ   string
	width int
}

// columns are the types that have a column and are to be shown.
func (v *View) columns(scr view.Screen) (out []typeColumn) {
	of := scr.Choice(v.Title())
	for _, t := range v.types(scr) {
		if t.width = of.Width(t.typ, t.width, 3*view.StateWidth); t.width > 0 {
			out = append(out, t)
		}
	}
	return out
}

// types are those that every mesh has, and what else some client asked for.
func (v *View) types(scr view.Screen) (out []typeColumn) {
	widths := make(map[string]int)
	for _, t := range xds.Core() {
		widths[t] = view.StateWidth
	}
	for i := range scr.Seen().Standing {
		c := &scr.Seen().Standing[i]
		for j := range c.Types {
			cell, _ := stateCell(scr, c, &c.Types[j])
			widths[c.Types[j].Type] = max(widths[c.Types[j].Type], view.StateWidth, render.Width(cell)+1)
		}
	}
	for _, t := range append(xds.Order(), slices.Sorted(maps.Keys(widths))...) {
		if widths[t] > 0 {
			out = append(out, typeColumn{t, widths[t]})
			delete(widths, t)
		}
	}
	return out
}

const (
	nameWidth = 22 // of a client; at least shortName where states are long
	shortName = 14
)

// stateCell is where a client stands with a type, with how often in a row it has
// rejected; in brackets as it stood when its stream ended.
func stateCell(scr view.Screen, c *engine.ClientStatus, t *engine.TypeStatus) (string, widget.Role) {
	word := t.State.String()
	if t.Lost {
		word += "?"
	}
	if t.State == engine.Nacked && t.Nacks > 1 {
		word += fmt.Sprintf(" %s%d", scr.Theme().Glyph.Times, t.Nacks)
	}
	if isPast(scr, c, t) {
		return "(" + word + ")", widget.Muted
	}
	return word, view.StateRole(t.State)
}

// isPast says that a type is as it was last known. What a recording ends with is
// not past.
func isPast(scr view.Screen, c *engine.ClientStatus, t *engine.TypeStatus) bool {
	return !t.Gone.IsZero() && (c.Gone.IsZero() || !scr.Log().Feed.Done())
}

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if v.titled = w >= view.ShortWidth; !v.titled {
		return v.drawShort(scr, w, h)
	}
	v.win.Rows = max(h-1, 1)
	rows := v.settle(scr)
	of := scr.Choice(v.Title())
	name, kind, last := nameWidth, 7, 5
	if w >= 100 {
		kind = 16
	}
	if w < 70 {
		name, kind, last = max(12, w/3), 0, 0
	}
	kind, last = of.Width("KIND", kind, w/3), of.Width("LAST", last, w/3)
	name = of.Width("CLIENT", name, w-20)
	fixed := 2 + 1 + last + 1
	if kind > 0 {
		fixed += kind + 1
	}
	effects := 0
	if scr.Seen().Effects != nil && w >= 70 {
		effects = of.Width(effectTitle, effectWidth, w/3)
		fixed += effects
	}
	types, used, spare := v.columns(scr), 0, 0
	for i, t := range types {
		spare += t.width - view.StateWidth // a name gives way to counts
		least := min(name, shortName)
		if of.Chosen("CLIENT") { // then types give way
			least = name
		}
		if fixed+max(name-spare-effects, least)+used+t.width > w {
			types = types[:i]
			break
		}
		used += t.width
	}
	if room := w - fixed - used; !of.Chosen("CLIENT") || room < name {
		name = min(room, name+40)
	}
	v.shown = []chosen.Column{{Title: "CLIENT", Width: name, Fixed: true}, {Title: "KIND", Width: kind}}
	for _, t := range types {
		v.shown = append(v.shown, chosen.Column{Title: t.typ, Width: t.width})
	}
	for _, t := range v.types(scr) {
		if !slices.ContainsFunc(types, func(is typeColumn) bool { return is.typ == t.typ }) {
			v.shown = append(v.shown, chosen.Column{Title: t.typ})
		}
	}
	if scr.Seen().Effects != nil {
		v.shown = append(v.shown, chosen.Column{Title: effectTitle, Width: effects})
	}
	v.shown = append(v.shown, chosen.Column{Title: "LAST", Width: last})
	head := "  " + widget.Left("CLIENT (node id)", name) + " "
	if kind > 0 {
		head += widget.Left("KIND", kind) + " "
	}
	for _, t := range types {
		head += widget.Left(t.typ, t.width-1) + " "
	}
	if effects > 0 {
		head += widget.Left(effectTitle, effects-1) + " "
	}
	head += widget.Right("LAST", last)
	out := []widget.Line{widget.Text(widget.Muted, head)}
	if len(rows) == 0 {
		return append(out, v.Empty(scr)...)
	}
	now := scr.Seen().At
	return append(out, v.win.Draw(len(rows), h-1, func(i int) widget.Line {
		r := &rows[i]
		l := widget.Text(widget.Plain, "  ")
		if r.typ != nil {
			v.typeLine(scr, &l, r)
		} else {
			l.Add(clientRole(r.of), view.ClientName(scr, r.of.Client, name)+" ")
			if kind > 0 {
				l.Add(widget.Muted, widget.Middle(render.OrDash(r.of.Agent), kind)+" ")
			}
			v.states(scr, &l, r.of, types)
			if effects > 0 {
				cell, look := effectCell(scr, r.of.Client)
				l.Add(look, widget.Left(cell, effects-1)+" ")
			}
			l.Add(widget.Muted, widget.Right(render.Age(now.Sub(r.of.Last)), last))
		}
		return l
	})...)
}

func clientRole(c *engine.ClientStatus) widget.Role {
	if !c.Gone.IsZero() {
		return widget.Muted
	}
	return widget.Plain
}

// states are the cells of a client.
func (v *View) states(scr view.Screen, l *widget.Line, c *engine.ClientStatus, types []typeColumn) {
	for _, t := range types {
		i := slices.IndexFunc(c.Types, func(s engine.TypeStatus) bool { return s.Type == t.typ })
		if i < 0 {
			l.Add(widget.Muted, widget.Left("-", t.width-1)+" ")
			continue
		}
		cell, look := stateCell(scr, c, &c.Types[i])
		l.Add(look, widget.Left(cell, t.width-1)+" ")
	}
}

// typeLine is one type of an unfolded client.
func (v *View) typeLine(scr view.Screen, l *widget.Line, r *clientRow) {
	t := r.typ
	branch := scr.Theme().Glyph.Branch
	if r.end {
		branch = scr.Theme().Glyph.Last
	}
	look, since := widget.Plain, render.Age(scr.Seen().At.Sub(t.Since))
	cell, state := stateCell(scr, r.of, t)
	if isPast(scr, r.of, t) {
		look, since = widget.Muted, "gone "+render.Age(scr.Seen().At.Sub(t.Gone))
	}
	wide := view.StateWidth
	for i := range r.of.Types {
		other, _ := stateCell(scr, r.of, &r.of.Types[i])
		wide = max(wide, render.Width(other)+1)
	}
	l.Add(widget.Muted, branch)
	l.Add(look, widget.Left(t.Type, 5))
	l.Add(state, widget.Left(cell, wide))
	l.Add(look, widget.Left(since, max(5, len(since)))+" ")
	var have []string
	if t.Version != "" {
		have = append(have, "accepted "+t.Version)
	}
	if t.Sent != t.Version {
		have = append(have, "sent "+render.OrDash(t.Sent))
	}
	if len(have) > 0 {
		l.Add(look, strings.Join(have, ", ")+"  ")
	}
	wants := "all"
	if t.Wanted >= 0 {
		wants = render.Number(int64(t.Wanted))
	}
	l.Add(widget.Muted, fmt.Sprintf("wants %s, got %s%s  #%d", wants, render.Number(int64(t.Have)), effectOf(scr, r.of.Client, t.Type), t.Seq))
	if t.Nack != "" && t.NackSeq != t.Seq {
		l.Add(widget.Muted, fmt.Sprintf("  last nack #%d", t.NackSeq))
	}
}

func (v *View) Empty(scr view.Screen) []widget.Line {
	switch {
	case v.words != "":
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   No client has these words."), widget.Text(widget.Muted, "   esc takes the filter away")}
	case scr.Log().Live:
		return view.Welcome(scr.Log())
	case !scr.Log().Feed.Done():
		return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "   reading")}
	}
	return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   No client has asked for anything in this recording."), widget.Text(widget.Muted, "   2 shows what there is")}
}
