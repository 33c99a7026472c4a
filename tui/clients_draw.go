package tui

import (
	"fmt"
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// typesShown are the types that have a column: those that every mesh has, and
// what else some client asked for, as far as there is room.
func (v *clients) typesShown(m *Model, room int) []string {
	used := map[string]bool{}
	for i := range m.seen.standing {
		for j := range m.seen.standing[i].Types {
			used[m.seen.standing[i].Types[j].Type] = true
		}
	}
	var out []string
	for _, t := range xds.Order() {
		if used[t] || slices.Contains(xds.Core(), t) {
			out = append(out, t)
			delete(used, t)
		}
	}
	out = append(out, slices.Sorted(maps.Keys(used))...)
	return out[:max(0, min(len(out), room/stateWidth))]
}

const stateWidth = 8 // "NOTSENT" and a space

func (v *clients) draw(m *Model, w, h int) []line {
	if v.titled = w >= shortWidth; !v.titled {
		return v.drawShort(m, w, h)
	}
	v.win.rows = max(h-1, 1)
	rows := v.settle(m)
	name, kind, last := 22, 7, 5
	if w >= 100 {
		kind = 16
	}
	if w < 70 {
		name, kind, last = max(12, w/3), 0, 0
	}
	fixed := 2 + name + 1 + last + 1
	if kind > 0 {
		fixed += kind + 1
	}
	types := v.typesShown(m, w-fixed)
	name += min(max(0, w-fixed-len(types)*stateWidth), 40)
	head := "  " + left("CLIENT (node id)", name) + " "
	if kind > 0 {
		head += left("KIND", kind) + " "
	}
	for _, t := range types {
		head += left(t, stateWidth)
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

// states are the cells of a client, or why it is gone.
func (v *clients) states(m *Model, l *line, c *engine.ClientStatus, types []string) {
	if !c.Gone.IsZero() && !m.feed.Done() {
		said := "gone " + age(m.seen.at.Sub(c.Gone)) + "  " + m.aliasText(c.Why)
		l.add(muted, left(said, len(types)*stateWidth))
		return
	}
	for _, t := range types {
		i := slices.IndexFunc(c.Types, func(s engine.TypeStatus) bool { return s.Type == t })
		if i < 0 {
			l.add(muted, left("-", stateWidth))
			continue
		}
		word := c.Types[i].State.String()
		if c.Types[i].Lost {
			word += "?"
		}
		l.add(stateRole(c.Types[i].State), left(word, stateWidth))
	}
}

// typeLine is one type of an unfolded client.
func (v *clients) typeLine(m *Model, l *line, r *clientRow) {
	t := r.typ
	branch := m.theme.glyph.branch
	if r.end {
		branch = m.theme.glyph.last
	}
	l.add(muted, branch)
	l.add(plain, left(t.Type, 5))
	l.add(stateRole(t.State), left(t.State.String(), stateWidth))
	l.add(plain, left(age(m.seen.at.Sub(t.Since)), 5)+" ")
	have := orDash(t.Version)
	if t.Sent != t.Version {
		have += ", sent " + orDash(t.Sent)
	}
	l.add(plain, have+"  ")
	wants := "all"
	if t.Wanted >= 0 {
		wants = render.Number(int64(t.Wanted))
	}
	l.add(muted, fmt.Sprintf("wants %s, has %s  #%d", wants, render.Number(int64(t.Have)), t.Seq))
	if t.Nack != "" {
		l.add(muted, fmt.Sprintf("  last nack %d", t.NackSeq))
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
	for i := range m.seen.findings {
		if m.seen.findings[i].Severity > check.Info {
			n++
		}
	}
	return n
}
