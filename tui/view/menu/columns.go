package menu

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// columnMenu lets one choose the columns of the view that it was opened from, which
// shows above it what comes of that.
type columnMenu struct {
	view.Plain
	under view.Tabular
	win   widget.Window
	top   int // row where the list begins
}

// NewColumns asks how the columns of a view are to be.
func NewColumns(under view.Tabular) view.View { return &columnMenu{under: under} }

func (v *columnMenu) Title() string { return "Columns" }

func (v *columnMenu) Keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Toggle, Hint: "show", Help: "hide the column, or show it"},
		{Act: key.Open, Help: "hide the column, or show it"},
		{Act: key.Narrower, Hint: "narrower", Help: "make the column narrower"},
		{Act: key.Wider, Hint: "wider", Help: "make the column wider"},
		{Act: key.Sort, Hint: "sort", Help: "sort by the column"},
		{Act: key.Unfilter, Hint: "reset", Help: "all columns as they are by themselves"},
		{Act: key.Columns, Help: "back to the list"},
		{Act: key.Close, Hint: "back"},
	})
}

func (v *columnMenu) Do(scr view.Screen, a key.Action) tea.Cmd {
	all := v.under.Columns(scr)
	if v.win.Move(a, len(all)) {
		return nil
	}
	of := scr.Choice(v.under.Title())
	switch a {
	case key.Close, key.Columns:
		scr.Pop(v)
		return nil
	case key.Unfilter:
		of.Widths, of.Hidden = nil, nil
		return nil
	}
	if len(all) == 0 {
		return nil
	}
	at := &all[min(v.win.At, len(all)-1)]
	switch a {
	case key.Toggle, key.Open:
		if at.Fixed {
			scr.Say("the column %s is always shown", at.Title)
			return nil
		}
		if of.Toggle(at.Title); v.under.Columns(scr)[v.win.At].Width == 0 && at.Width == 0 && !hidden(of, at) {
			scr.Say("there is no room for the column %s here", at.Title)
		}
	case key.Narrower, key.Wider:
		return view.Resize(scr, v.under, at.Title, a)
	case key.Sort:
		cmd, is := v.under.SortBy(scr, at.Title)
		if !is {
			scr.Say("%s is not sorted by %s", v.under.Title(), at.Title)
		}
		return cmd
	}
	return nil
}

func hidden(of *chosen.List, c *chosen.Column) bool { return of.Width(c.Title, 1, 1) == 0 }

func (v *columnMenu) Tick(scr view.Screen) tea.Cmd { return v.under.Tick(scr) }

func (v *columnMenu) Draw(scr view.Screen, w, h int) []widget.Line {
	all, of := v.under.Columns(scr), scr.Choice(v.under.Title())
	rows := min(len(all), max(h/2-2, 1))
	v.win.Fit(len(all), rows)
	list := []widget.Line{widget.Text(widget.Muted, widget.Repeat(scr.Theme().Glyph.Line, w)), widget.Text(widget.Title, " Columns of "+v.under.Title())}
	list = append(list, v.win.Draw(len(all), rows, func(i int) widget.Line {
		c := &all[i]
		sign, width := "[x] ", strconv.Itoa(c.Width)
		switch {
		case hidden(of, c):
			sign, width = "[ ] ", ""
		case c.Width == 0:
			width = "no room"
		}
		l := widget.Text(widget.Plain, "   "+sign+widget.Left(c.Title, 12))
		l.Add(widget.Muted, " "+width)
		return l
	})...)
	above := max(h-len(list), 0)
	v.top = above + 2
	out := v.under.Draw(scr, w, above)
	for len(out) < above {
		out = append(out, widget.Blank())
	}
	return append(out[:above], list...)
}

func (v *columnMenu) Click(scr view.Screen, _, y int, twice bool) tea.Cmd {
	if i := v.win.Top + y - v.top; y >= v.top && i < len(v.under.Columns(scr)) {
		v.win.At = i
		if twice {
			return v.Do(scr, key.Toggle)
		}
	}
	return nil
}
