package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// typeColumn is a column of the matrix.
type typeColumn struct {
	typ   string
	width int
}

// columns are the types that have a column: those that every mesh has, and what
// else some client asked for.
func (v *clients) columns(m *Model) (out []typeColumn) {
	widths := make(map[string]int)
	for _, t := range xds.Core() {
		widths[t] = stateWidth
	}
	for i := range m.seen.standing {
		c := &m.seen.standing[i]
		for j := range c.Types {
			cell, _ := stateCell(m, c, &c.Types[j])
			widths[c.Types[j].Type] = max(widths[c.Types[j].Type], stateWidth, render.Width(cell)+1)
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
	stateWidth = 8  // "NOTSENT" and a space
	nameWidth  = 22 // of a client; at least shortName where states are long
	shortName  = 14
)

// stateCell is where a client stands with a type, with how often in a row it has
// rejected; in brackets as it stood when its stream ended.
func stateCell(m *Model, c *engine.ClientStatus, t *engine.TypeStatus) (string, role) {
	word := t.State.String()
	if t.Lost {
		word += "?"
	}
	if t.State == engine.Nacked && t.Nacks > 1 {
		word += fmt.Sprintf(" %s%d", m.theme.glyph.times, t.Nacks)
	}
	if isPast(m, c, t) {
		return "(" + word + ")", muted
	}
	return word, stateRole(t.State)
}

// isPast says that a type is as it was last known. What a recording ends with is
// not past.
func isPast(m *Model, c *engine.ClientStatus, t *engine.TypeStatus) bool {
	return !t.Gone.IsZero() && (c.Gone.IsZero() || !m.feed.Done())
}

func (v *clients) draw(m *Model, w, h int) []line {
	if v.titled = w >= shortWidth; !v.titled {
		return v.drawShort(m, w, h)
	}
	v.win.rows = max(h-1, 1)
	rows := v.settle(m)
	name, kind, last := nameWidth, 7, 5
	if w >= 100 {
		kind = 16
	}
	if w < 70 {
		name, kind, last = max(12, w/3), 0, 0
	}
	fixed := 2 + 1 + last + 1
	if kind > 0 {
		fixed += kind + 1
	}
	types, used, spare := v.columns(m), 0, 0
	for i, t := range types {
		spare += t.width - stateWidth // a name gives way to counts
		if fixed+max(name-spare, min(name, shortName))+used+t.width > w {
			types = types[:i]
			break
		}
		used += t.width
	}
	name = min(w-fixed-used, name+40)
	head := "  " + left("CLIENT (node id)", name) + " "
	if kind > 0 {
		head += left("KIND", kind) + " "
	}
	for _, t := range types {
		head += left(t.typ, t.width)
	}
	if last > 0 {
		head += right("LAST", last)
	}
	out := []line{text(muted, head)}
	if len(rows) == 0 {
		return append(out, v.empty(m)...)
	}
	now := m.seen.at
	for i := v.win.top; i < min(v.win.top+h-1, len(rows)); i++ {
		r := &rows[i]
		l := text(plain, "  ")
		if r.typ != nil {
			v.typeLine(m, &l, r)
		} else {
			l.add(clientRole(r.of), middle(m.alias(r.of.Client), name)+" ")
			if kind > 0 {
				l.add(muted, middle(orDash(r.of.Agent), kind)+" ")
			}
			v.states(m, &l, r.of, types)
			if last > 0 {
				l.add(muted, right(age(now.Sub(r.of.Last)), last))
			}
		}
		if l.selected = i == v.win.at; l.selected {
			l.spans[0].text = "> "
		}
		out = append(out, l)
	}
	return out
}

func clientRole(c *engine.ClientStatus) role {
	if !c.Gone.IsZero() {
		return muted
	}
	return plain
}

// states are the cells of a client.
func (v *clients) states(m *Model, l *line, c *engine.ClientStatus, types []typeColumn) {
	for _, t := range types {
		i := slices.IndexFunc(c.Types, func(s engine.TypeStatus) bool { return s.Type == t.typ })
		if i < 0 {
			l.add(muted, left("-", t.width))
			continue
		}
		cell, look := stateCell(m, c, &c.Types[i])
		l.add(look, left(cell, t.width))
	}
}

// typeLine is one type of an unfolded client.
func (v *clients) typeLine(m *Model, l *line, r *clientRow) {
	t := r.typ
	branch := m.theme.glyph.branch
	if r.end {
		branch = m.theme.glyph.last
	}
	look, since := plain, age(m.seen.at.Sub(t.Since))
	cell, state := stateCell(m, r.of, t)
	if isPast(m, r.of, t) {
		look, since = muted, "gone "+age(m.seen.at.Sub(t.Gone))
	}
	wide := stateWidth
	for i := range r.of.Types {
		other, _ := stateCell(m, r.of, &r.of.Types[i])
		wide = max(wide, render.Width(other)+1)
	}
	l.add(muted, branch)
	l.add(look, left(t.Type, 5))
	l.add(state, left(cell, wide))
	l.add(look, left(since, max(5, len(since)))+" ")
	var have []string
	if t.Version != "" {
		have = append(have, "accepted "+t.Version)
	}
	if t.Sent != t.Version {
		have = append(have, "sent "+orDash(t.Sent))
	}
	if len(have) > 0 {
		l.add(look, strings.Join(have, ", ")+"  ")
	}
	wants := "all"
	if t.Wanted >= 0 {
		wants = render.Number(int64(t.Wanted))
	}
	l.add(muted, fmt.Sprintf("wants %s, got %s  #%d", wants, render.Number(int64(t.Have)), t.Seq))
	if t.Nack != "" && t.NackSeq != t.Seq {
		l.add(muted, fmt.Sprintf("  last nack #%d", t.NackSeq))
	}
}

func (v *clients) empty(m *Model) []line {
	switch {
	case v.words != "":
		return []line{blank(), text(plain, "   No client has these words."), text(muted, "   esc takes the filter away")}
	case m.src.Live:
		return m.welcome()
	case !m.feed.Done():
		return []line{blank(), text(muted, "   reading")}
	}
	return []line{blank(), text(plain, "   No client has asked for anything in this recording."), text(muted, "   2 shows what there is")}
}

// welcome is what an empty live view says.
func (m *Model) welcome() []line {
	if m.src.Proxy == nil || len(m.src.Proxy.Routes) == 0 {
		return []line{blank(), text(plain, "   Nothing has passed yet.")}
	}
	r := m.src.Proxy.Routes[0]
	return []line{
		blank(), text(plain, "   No client has connected yet."),
		text(plain, "   Listening on "+r.Listen+", upstream "+r.Upstream+"."),
		text(plain, "   Point an Envoy ADS cluster or a gRPC bootstrap at that address."),
		spans(span{muted, "   b: "}, span{plain, "show a ready bootstrap   "}, span{muted, "E: "}, span{plain, "event log"}),
	}
}

func (m *Model) violationCount() int {
	n := 0
	for i := range m.seen.folded {
		if m.seen.folded[i].Severity > check.Info {
			n++
		}
	}
	return n
}
