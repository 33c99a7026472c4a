package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/view/detail"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// pane is a view in a part of the body.
type pane struct {
	view view.View
	name string
	more string      // beside the name
	look widget.Role // of more

	x, y, w, h int // in the body, without the title above
}

const (
	// panesWidth is from how many columns on the timeline has other views
	// beside it, and detailHeight from how many rows on the selected message
	// below it.
	panesWidth, detailHeight = 120, 35
	// leftWidth is that of the panes on the left; a bar follows.
	leftWidth = 39
)

// spread says whether the body shows several views.
func (m *Model) spread() bool { return m.wide() && m.zoom == nil }

// wide says whether there is room for several views, and nothing above them.
func (m *Model) wide() bool { return m.w >= panesWidth && m.tab == 1 && len(m.over) == 0 }

// isZoomed says whether one pane has all of the body.
func (m *Model) isZoomed() bool { return m.zoom != nil && m.wide() }

// toggleZoom gives the pane that has the keys all of the body, or takes it away.
func (m *Model) toggleZoom() {
	switch {
	case m.isZoomed():
		m.zoom = nil
	case m.wide():
		m.zoom = nil // one of a screen that was wider
		m.zoom = m.focused()
	default:
		m.Say("there is one pane here, and it has all the room; the timeline has more of them from %d columns on", panesWidth)
	}
}

// hasDetail says whether there is a message to show below the timeline, and room
// for it.
func (m *Model) hasDetail() bool { return m.h >= detailHeight && m.timeline.At != 0 }

// layout is the panes of a body of so many rows, none if one view has all of
// it. The timeline comes first, and the others in the order of tab.
func (m *Model) layout(rows int) []pane {
	if !m.spread() {
		return nil
	}
	x, w := leftWidth+1, m.w-leftWidth-1
	list := pane{view: m.timeline, name: "TIMELINE", x: x, y: 1, w: w, h: rows - 1}
	panes := []pane{list}
	if m.hasDetail() {
		panes[0].h = max(rows*9/20, 8) - 1
		at := panes[0].h + 1
		panes = append(panes, pane{view: m.detail(), name: "DETAIL", x: x, y: at + 1, w: w, h: rows - at - 1})
	}
	standing := min(len(m.clients.Rows(m)), max(rows/4, 3))
	if len(m.seen.Standing) == 0 {
		standing = 2
	}
	found := min(max(len(m.violations.List.Rows), 2), max(rows/4, 3))
	have := rows - 3 - standing - found
	y := 1
	for _, p := range []pane{
		{view: m.clients, name: "CLIENTS", more: fmt.Sprintf("%s  %s", render.Number(int64(len(m.seen.Standing))), m.clients.Order(m)), h: standing},
		{view: m.resources, name: "RESOURCES", h: have},
		{view: m.violations, name: "VIOLATIONS", more: render.Number(int64(m.seen.Violations())), h: found},
	} {
		p.x, p.y, p.w = 0, y, leftWidth
		y += p.h + 1
		panes = append(panes, p)
	}
	if f := m.resources.Forest; f != nil {
		p := &panes[len(panes)-2]
		p.more = render.Number(int64(f.Total))
		if n := f.States[engine.Rejected]; n > 0 {
			p.more, p.look = fmt.Sprintf("NACKED %s", render.Number(int64(n))), widget.Bad
		} else if n := f.States[engine.Missing]; n > 0 {
			p.more, p.look = fmt.Sprintf("MISSING %s", render.Number(int64(n))), widget.Bad
		}
	}
	panes[len(panes)-1].look = m.seen.Gravity()
	for i := range panes {
		if panes[i].look == widget.Plain {
			panes[i].look = widget.Muted
		}
	}
	return panes
}

// bodyRows is how many rows the body has.
func (m *Model) bodyRows() int { return max(m.bodyBottom()-m.bodyTop(), 1) }

// focused is the view that has the keys where the body shows several.
func (m *Model) focused() view.View {
	if m.focus == nil || !m.spread() {
		return m.timeline
	}
	if m.below != nil && m.focus == view.View(m.below) && !m.hasDetail() {
		return m.timeline
	}
	return m.focus
}

// moveFocus goes to the pane after or before.
func (m *Model) moveFocus(back bool) {
	if m.isZoomed() {
		m.focus, m.zoom = m.zoom, nil
		defer func() { m.zoom = m.focus }()
	}
	all := m.layout(m.bodyRows())
	if len(all) == 0 {
		m.Say("there is one pane here; from %d columns on, the timeline has others beside it", panesWidth)
		return
	}
	i := slices.IndexFunc(all, func(p pane) bool { return p.view == m.focused() })
	step := 1
	if back {
		step = len(all) - 1
	}
	m.focus = all[(i+step)%len(all)].view
}

// detail is the view below the timeline.
func (m *Model) detail() *detail.View {
	if m.below == nil {
		m.below = detail.New(m, m.timeline.At).(*detail.View)
	}
	return m.below
}

// tickAll lets every view that can be seen ask for what it needs.
func (m *Model) tickAll() tea.Cmd {
	all := m.layout(m.bodyRows())
	if len(all) == 0 {
		return m.top().Tick(m)
	}
	m.timeline.Settle(m)
	m.panesFollow()
	if at := m.timeline.At; m.below != nil && at != 0 && at != m.shown { // it may have gone on by itself
		m.below.Show(at)
		m.shown = at
	}
	var cmds []tea.Cmd
	for _, p := range all {
		cmds = append(cmds, p.view.Tick(m))
	}
	return tea.Batch(cmds...)
}

// Columns is how wide the timeline is.
func (m *Model) Columns() int {
	if m.spread() {
		return m.w - leftWidth - 1
	}
	return m.w
}

// panes draws the body.
func (m *Model) panes(rows int) []widget.Line {
	all := m.layout(rows)
	if len(all) == 0 {
		return m.top().Draw(m, m.w, rows)
	}
	var left, right []widget.Line
	for _, p := range all {
		column := &right
		if p.x == 0 {
			column = &left
		}
		*column = append(*column, m.paneTitle(&p))
		body := p.view.Draw(m, p.w, p.h)
		focused := p.view == m.focused()
		for i := range p.h {
			if i >= len(body) {
				*column = append(*column, widget.Blank())
				continue
			}
			if body[i].Selected && !focused {
				// Of the selections, the one that keys move stands out.
				body[i].Selected = false
			}
			*column = append(*column, body[i])
		}
	}
	out := widget.Beside(&m.theme, left[:min(len(left), rows)], leftWidth, right[:min(len(right), rows)])
	for i := range out {
		m.join(&out[i], i == 0, slices.ContainsFunc(all, func(p pane) bool { return p.x == 0 && p.y == i+1 }),
			slices.ContainsFunc(all, func(p pane) bool { return p.x > 0 && p.y == i+1 }))
	}
	return out
}

// join draws the place where the line of a title meets the bar.
func (m *Model) join(l *widget.Line, top, left, right bool) {
	g := &m.theme.Glyph
	sign := g.Bar
	switch {
	case top:
		sign = g.Tee
	case left && right:
		sign = g.Cross
	case right:
		sign = string([]rune(g.Branch)[:1])
	case left:
		sign = g.Join
	}
	// The left part is as wide as it is in every line: the bar is behind it.
	used := 0
	for i := range l.Spans {
		if used == leftWidth && l.Spans[i].Text == g.Bar {
			l.Spans[i].Text = sign
			return
		}
		used += render.Width(l.Spans[i].Text)
	}
}

func (m *Model) paneTitle(p *pane) widget.Line {
	name, look := " "+p.name+" ", widget.Muted
	if p.view == m.focused() {
		name, look = "["+p.name+"]", widget.Title
	}
	g := m.theme.Glyph.Line
	l := widget.Spans(widget.In(widget.Muted, g), widget.In(look, name))
	if t, is := p.view.(titled); is {
		l.Add(widget.Plain, " ")
		l.Join(t.heading(m, p.w-l.Width()-2))
		l.Add(widget.Plain, " ")
	} else if p.more != "" {
		l.Add(p.look, " "+p.more+" ")
	}
	l.Add(widget.Muted, widget.Repeat(g, p.w-l.Width()))
	return widget.Line{Spans: widget.Cut(l, p.w)}
}

// titled is a view that says more about itself in the title of its pane.
type titled interface {
	heading(m *Model, columns int) widget.Line
}

// paneAt is the view at a place of the body, and the place in it. Only views
// beside others have a title above.
func (m *Model) paneAt(x, y int) (v view.View, px, py int) {
	all := m.layout(m.bodyRows())
	if len(all) == 0 {
		return m.top(), x, y
	}
	for _, p := range all {
		if x >= p.x && x < p.x+p.w && y >= p.y-1 && y < p.y+p.h {
			return p.view, x - p.x, y - p.y
		}
	}
	return nil, 0, 0
}

// pressBody takes a click at a place of the body: it moves the focus, and
// selects; twice opens.
func (m *Model) pressBody(x, y int, twice bool) tea.Cmd {
	v, px, py := m.paneAt(x, y)
	if v == nil {
		return nil
	}
	if m.spread() {
		m.focus = v
	}
	if py < 0 { // the title
		return nil
	}
	return v.Click(m, px, py, twice)
}
