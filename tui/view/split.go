package view

import "github.com/xdsproxy/xdsproxy/tui/widget"

// Split lays out a list of so many rows and what there is to say of the one that
// is selected: beside it or below it, under a title, where there is room for it.
func Split(scr Screen, w, h, rows int, list, about func(w, h int) []widget.Line, title func() (string, widget.Role)) []widget.Line {
	switch {
	case w >= SplitWidth:
		listed := w * 9 / 16
		right := about(w-listed-1, h)
		for i := range right {
			right[i].Spans = append([]widget.Span{{Role: widget.Plain, Text: " "}}, right[i].Spans...)
		}
		left := list(listed, h)
		for len(left) < h {
			left = append(left, widget.Blank())
		}
		return widget.Beside(scr.Theme(), left, listed, right)
	case h < 12 || rows == 0:
		return list(w, h)
	}
	listed := min(max(h*2/5, 5), rows+1)
	out := list(w, listed)
	name, look := title()
	out = append(out, scr.Theme().Rule(" "+name+" ", look, "", w))
	return append(out, about(w, h-listed-1)...)
}
