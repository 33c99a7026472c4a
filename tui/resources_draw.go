package tui

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"

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
	if w < splitWidth || v.of(m) == "" {
		return v.list(m, w, h)
	}
	listed := w * 5 / 8
	out := v.list(m, listed, h)
	for len(out) < h {
		out = append(out, blank())
	}
	return beside(&m.theme, out, listed, v.aside(m, w-listed-1, h))
}

// list is the client, and its resources.
func (v *resources) list(m *Model, w, h int) []line {
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
	for _, state := range []engine.ResourceState{engine.Rejected, engine.Missing, engine.Uncertain, engine.Requested} {
		if n := v.forest.states[state]; n > 0 {
			l.add(resourceRole(state), fmt.Sprintf("%s %s  ", state, render.Number(int64(n))))
			bad0 = true
		}
	}
	if n := v.forest.states[engine.Acked]; n > 0 && (!bad0 || w >= shortWidth) {
		l.add(good, fmt.Sprintf("%s %s", engine.Acked, render.Number(int64(n))))
	}
	return l
}

func resourceRole(s engine.ResourceState) role {
	switch s {
	case engine.Acked:
		return good
	case engine.NotOverXDS:
		return muted
	case engine.Rejected, engine.Missing:
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
		name, about, more := strings.Cut(r.title, ":")
		l.add(title, name)
		if more && c.version > 0 {
			l.add(muted, ":"+about)
		}
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
	if n.State == engine.Missing {
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
	if n.State == engine.NotOverXDS && c.version > 0 { // there is no version
		l.add(resourceRole(n.State), " "+left(string(n.State), c.state+1+c.version))
	} else {
		l.add(resourceRole(n.State), " "+left(string(n.State), c.state))
	}
	if c.version > 0 && n.State != engine.NotOverXDS {
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

// aside is what there is to say of the resource that is selected.
func (v *resources) aside(m *Model, w, h int) []line {
	r := v.row()
	if r == nil || r.node == nil || v.forest == nil {
		return v.asideClient(m, w, h)
	}
	n := v.forest.nodes[[2]string{r.node.Type, r.node.Name}]
	if n == nil {
		n = r.node
	}
	out := []line{spans(span{accent, " " + n.Type + " "})}
	for i, t := range wrapped(m.alias(n.Name), w-7) {
		if i > 0 {
			out = append(out, text(title, spaces(6)+t))
			continue
		}
		out[0] = spans(span{accent, " " + left(n.Type, 5)}, span{title, t})
	}
	out = append(out, blank())
	out = append(out, labelled("state", resourceRole(n.State), string(n.State), w)...)
	if n.State == engine.Rejected {
		if t := m.typeOf(v.of(m), n.Type); t != nil && t.Nack != "" {
			out = append(out, labelled("why", plain, m.aliasText(t.Nack), w)...)
			out = append(out, labelled("by", accent, fmt.Sprint(uint64(t.NackSeq)), w)...)
		}
	}
	if n.Version != "" {
		out = append(out, labelled("version", plain, n.Version, w)...)
	}
	if n.Seq != 0 {
		out = append(out, labelled("came", plain, fmt.Sprintf("with %d at %s, %s ago", n.Seq, n.At.UTC().Format("15:04:05.000"), age(m.seen.at.Sub(n.At))), w)...)
	} else if n.State != engine.Missing && n.State != engine.NotOverXDS {
		out = append(out, labelled("came", muted, "so long ago that it has to be looked for: enter", w)...)
	}
	above := v.above(n)
	out = append(out, blank())
	if len(above) == 0 {
		why := "nothing refers to it"
		if n.State == engine.Missing {
			why = "the client asks for it by name"
		} else if r.section == used {
			why = "the client asks for it; nothing refers to such a type"
		}
		out = append(out, text(muted, " "+why))
	} else {
		out = append(out, text(muted, " referred to by"))
		out = append(out, v.references(m, above, w, max((h-len(out))/2, 2))...)
	}
	if len(n.Children) > 0 {
		out = append(out, blank(), text(muted, " refers to"))
		out = append(out, v.references(m, n.Children, w, max(h-len(out), 1))...)
	}
	return out[:min(len(out), h)]
}

// references lists some resources, and how many more there are.
func (v *resources) references(m *Model, list []*engine.Node, w, h int) []line {
	var out []line
	for i, n := range list {
		if i == h-1 && len(list) > h {
			return append(out, text(muted, fmt.Sprintf("   and %s more", render.Number(int64(len(list)-i)))))
		}
		l := spans(span{accent, "   " + left(n.Type, 5)})
		l.add(plain, middle(m.alias(n.Name), max(w-8-11, 4))+" ")
		l.add(resourceRole(n.State), left(string(n.State), 9))
		out = append(out, l)
	}
	return out
}

// asideClient says where the client stands with each type.
func (v *resources) asideClient(m *Model, w, h int) []line {
	client := v.of(m)
	out := []line{text(title, " "+middleText(m.alias(client), w-2)), blank()}
	for i := range m.seen.standing {
		c := &m.seen.standing[i]
		if c.Client != client {
			continue
		}
		if len(c.Types) > 0 {
			out = append(out, text(muted, " TYPE  STATE     HAVE    SINCE   VERSION"))
		}
		for j := range c.Types {
			t := &c.Types[j]
			l := spans(span{accent, " " + middle(t.Type, 5) + " "})
			l.add(stateRole(t.State), left(t.State.String(), stateWidth))
			l.add(plain, right(render.Number(int64(t.Have)), 7))
			l.add(muted, "    "+left(age(m.seen.at.Sub(t.Since)), 7)+" ")
			l.add(plain, middleText(orDash(t.Version), max(w-l.width()-1, 4)))
			out = append(out, l)
		}
	}
	return out[:min(len(out), h)]
}
