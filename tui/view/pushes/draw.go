package pushes

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/pushes"
	"github.com/xdsproxy/xdsproxy/internal/render/push"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

func (v *View) Draw(scr view.Screen, w, h int) []widget.Line {
	if v.titled = w >= view.ShortWidth; !v.titled {
		return v.table(scr, w, h)
	}
	return view.Split(scr, w, h, len(v.rows),
		func(w, h int) []widget.Line { return v.table(scr, w, h) },
		func(w, h int) []widget.Line { return v.explained(scr, w, h) },
		func() (string, widget.Role) {
			if head := v.head(); head != nil {
				return fmt.Sprintf("push %d", head.N), role(push.Worst(head))
			}
			return "", widget.Title
		})
}

// table is the list, with titles where there is room for columns.
func (v *View) table(scr view.Screen, w, h int) []widget.Line {
	c := push.ColumnsFor(w - 4)
	var out []widget.Line
	if v.titled {
		out = append(out, widget.Text(widget.Muted, widget.Spaces(4)+strings.Join(c.Titles(), " ")))
		h--
	}
	v.listed, v.win.Rows = max(h, 1), max(h, 1)
	v.settle()
	if len(v.rows) == 0 {
		v.listed = 0
		return append(out, v.empty(scr)...)
	}
	return append(out, v.win.Draw(len(v.rows), h, func(i int) widget.Line {
		return row(&v.heads[v.rows[i]], &c)
	})...)
}

func row(h *pushes.Head, c *push.Columns) widget.Line {
	r := push.NewRow(h)
	l := widget.Spans(widget.In(widget.Plain, " "), widget.In(widget.Plain, " "), widget.In(role(r.Sign.Look), r.Sign.Text), widget.In(widget.Plain, " "))
	for _, cell := range c.Cells(&r) {
		l.Add(role(cell.Look), cell.Text+" ")
	}
	for i, n := range r.Notes {
		if i > 0 {
			l.Add(widget.Plain, ", ")
		}
		l.Add(role(n.Look), n.Text)
	}
	return l
}

// role is the colour of a look.
func role(l push.Look) widget.Role {
	switch l {
	case push.Muted:
		return widget.Muted
	case push.Good:
		return widget.Good
	case push.Accent:
		return widget.Accent
	case push.Warned:
		return widget.Warned
	case push.Bad:
		return widget.Bad
	}
	return widget.Plain
}

// explained is what there is to say of the push that is selected; what has no
// room is in the pager.
func (v *View) explained(scr view.Screen, w, h int) []widget.Line {
	if v.head() == nil || h < 1 {
		return nil
	}
	p := v.now()
	if p == nil {
		return []widget.Line{widget.Text(widget.Muted, " reading")}
	}
	f := form(scr)
	if f.Most, f.Columns = 8, max(w-30, 24); h < 16 {
		f.Most = 3
	}
	var out []widget.Line
	if w < view.SplitWidth*2/3 { // beside the list: nothing else says which one
		out = append(out, widget.Text(widget.Title, fmt.Sprintf(" push %d", p.N)), widget.Blank())
	}
	for _, said := range push.Detail(p, f) {
		out = append(out, widget.Labelled(said.Label, role(said.Look), said.Text, w)...)
	}
	if len(out) > h {
		out = append(out[:h-1], widget.Spans(widget.In(widget.Muted, " "+widget.Left("more", 8)), widget.In(widget.Accent, "o"), widget.In(widget.Muted, " shows all of it")))
	}
	return out
}

func (v *View) empty(scr view.Screen) []widget.Line {
	done := scr.Log().Feed.Done()
	switch {
	case v.words != "":
		return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   No push has these words."), widget.Text(widget.Muted, "   esc takes the filter away")}
	case scr.Log().Live && !done:
		return view.Welcome(scr.Log())
	case !v.read || !done:
		return []widget.Line{widget.Blank(), widget.Text(widget.Muted, "   reading")}
	}
	return []widget.Line{widget.Blank(), widget.Text(widget.Plain, "   No server has sent anything in this recording."), widget.Text(widget.Muted, "   2 shows what there is")}
}
