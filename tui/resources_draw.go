package tui

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
)

// resourceColumns are how wide the columns are; 0 for those that there is no
// room for.
type resourceColumns struct {
	name, state, version, seq, age int
	step                           int // of a level of the tree
}

func resourceColumnsFor(w int) resourceColumns {
	c := resourceColumns{state: 9, step: 3}
	switch {
	case w < shortWidth:
		c.step = 2
	case w < 100:
		c.version, c.seq, c.age = 12, 7, 5
	default:
		c.version, c.seq, c.age = 24, 8, 6
	}
	c.name = w - 2 - 1 - c.state
	for _, n := range []int{c.version, c.seq, c.age} {
		if n > 0 {
			c.name -= n + 1
		}
	}
	return c
}

func (v *resources) draw(m *Model, w, h int) []line {
	c := resourceColumnsFor(w)
	client := v.of(m)
	if client == "" {
		return m.clients.empty(m)
	}
	out := []line{v.clientLine(m, client, w)}
	if w >= shortWidth {
		out = append(out, text(muted, "  "+left("RESOURCE", c.name)+" "+left("STATE", c.state)+" "+left("VERSION", c.version)+
			" "+right("SEQ", c.seq)+" "+right("AGE", c.age)))
	}
	v.titles = len(out)
	v.win.rows = max(h-len(out), 1)
	v.settle()
	rows := v.rows()
	if v.forest == nil || v.forest.query.client != client {
		return append(out, blank(), text(muted, "   reading"))
	}
	if len(rows) == 0 {
		return append(out, v.empty()...)
	}
	for i := max(v.win.top, 1); i < min(max(v.win.top, 1)+h-v.titles, len(rows)+1); i++ {
		l := v.rowLine(m, &rows[i-1], &c)
		if l.selected = i == v.win.at; l.selected {
			l.spans[0].text = "> "
		}
		out = append(out, l)
	}
	return out
}

func (v *resources) empty() []line {
	if v.words != "" {
		return []line{blank(), text(plain, "   No resource has these words."), text(muted, "   esc takes the filter away")}
	}
	return []line{blank(), text(plain, "   It asked for nothing, and nothing was sent to it.")}
}

// clientLine is who it is, and where it stands.
func (v *resources) clientLine(m *Model, client string, w int) line {
	l := text(plain, "  ")
	if l.selected = v.win.at == 0; l.selected {
		l.spans[0].text = "> "
	}
	name := min(render.Width(render.Safe(m.alias(client))), max(w/3, 12))
	l.add(title, middle(m.alias(client), name)+"  ")
	for i := range m.seen.standing {
		c := &m.seen.standing[i]
		if c.Client != client {
			continue
		}
		if c.Agent != "" && w >= shortWidth {
			l.add(muted, strings.TrimSpace(c.Agent+" "+c.Version)+"  ")
		}
		if !c.Gone.IsZero() && !m.feed.Done() {
			l.add(muted, "gone "+age(m.seen.at.Sub(c.Gone))+"  ")
		}
	}
	if v.forest == nil || v.forest.query.client != client {
		return l
	}
	bad0 := false
	for _, state := range []check.ResourceState{check.Rejected, check.Missing, check.Uncertain, check.Requested} {
		if n := v.forest.states[state]; n > 0 {
			l.add(resourceRole(state), fmt.Sprintf("%s %s  ", state, render.Number(int64(n))))
			bad0 = true
		}
	}
	if n := v.forest.states[check.Acked]; n > 0 && (!bad0 || w >= shortWidth) {
		l.add(good, fmt.Sprintf("%s %s", check.Acked, render.Number(int64(n))))
	}
	return l
}

func resourceRole(s check.ResourceState) role {
	switch s {
	case check.Acked:
		return good
	case check.Rejected, check.Missing:
		return bad
	}
	return warned
}

// rowLine is one resource, or a title.
func (v *resources) rowLine(m *Model, r *treeRow, c *resourceColumns) line {
	l := text(plain, "  ")
	if r.node == nil {
		sign := "- "
		if r.folded {
			sign = "+ "
		}
		l.add(muted, sign)
		l.add(title, r.title)
		return l
	}
	n := r.node
	lead := v.lead(m, r, c.step)
	if most := max(c.name-16, 0); render.Width(lead) > most { // very deep
		lead = ""
	}
	if r.folded {
		lead += "+ "
	}
	l.add(muted, lead)
	typ := n.Type
	if len(typ) > 5 {
		typ = render.Middle(typ, 8)
	}
	l.add(accent, left(typ, max(typeWidth, len(typ)))+" ")
	room := c.name - render.Width(lead) - max(typeWidth, render.Width(typ)) - 1
	name := plain
	if n.State == check.Missing {
		name = muted
	}
	again := ""
	if n.Again && room > 20 {
		again = " (above)"
	}
	shown := render.Middle(render.Safe(m.alias(n.Name)), room-len(again))
	l.add(name, shown)
	l.add(muted, again)
	l.pad(2 + c.name)
	l.add(resourceRole(n.State), " "+left(string(n.State), c.state))
	if c.version > 0 {
		l.add(plain, " "+middle(orDash(n.Version), c.version))
	}
	if c.seq > 0 {
		seq, when := "-", "-"
		if n.Seq != 0 {
			seq, when = fmt.Sprint(uint64(n.Seq)), age(m.seen.at.Sub(n.At))
		}
		l.add(muted, " "+right(seq, c.seq)+" "+right(when, c.age))
	}
	return l
}

// lead draws the branches before a node.
func (v *resources) lead(m *Model, r *treeRow, step int) string {
	g := &m.theme.glyph
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
			b.WriteString(spaces(step))
		} else {
			b.WriteString(short(g.trunk))
		}
	}
	if r.ends&(1<<r.depth) != 0 {
		b.WriteString(short(g.last))
	} else {
		b.WriteString(short(g.branch))
	}
	return b.String()
}
