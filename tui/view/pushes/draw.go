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
	v.titled = w >= view.ShortWidth
	switch {
	case !v.titled:
		return v.table(scr, w, h)
	case w >= view.SplitWidth:
		listed := w * 9 / 16
		right := v.explained(scr, w-listed-1, h)
		for i := range right {
			right[i].Spans = append([]widget.Span{{Role: widget.Plain, Text: " "}}, right[i].Spans...)
		}
		list := v.table(scr, listed, h)
		for len(list) < h {
			list = append(list, widget.Blank())
		}
		return widget.Beside(scr.Theme(), list, listed, right)
	case h < 12 || len(v.rows) == 0:
		return v.table(scr, w, h)
	}
	listed := min(max(h*2/5, 5), len(v.rows)+1)
	out := v.table(scr, w, listed)
	name, look := "", widget.Title
	if head := v.head(); head != nil {
		name, look = fmt.Sprintf("push %d", head.N), role(push.Worst(head))
	}
	out = append(out, scr.Theme().Rule(" "+name+" ", look, "", w))
	return append(out, v.explained(scr, w, h-listed-1)...)
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
	if f.Most = 8; h < 16 {
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
