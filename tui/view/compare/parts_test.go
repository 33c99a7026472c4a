package compare

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view/viewtest"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// What no line has may be in differences that are not on the screen, if there are any.
func TestSearchInAPart(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	for _, tc := range []struct {
		first, after int
		part         bool
	}{{0, 3, false}, {1, 3, true}, {0, 2, true}, {1, 2, true}} {
		v := &View{items: make([]index.Compared, 3), first: tc.first, after: tc.after}
		v.Pane.Set([]widget.TextLine{{Line: widget.Text(widget.Plain, "a line")}})
		if _, err := v.Ask(scr, "a"); err != nil {
			t.Errorf("from %d to %d: %v", tc.first, tc.after, err)
		}
		if _, err := v.Ask(scr, "no such words"); err == nil || strings.Contains(err.Error(), "in this part of the differences") != tc.part {
			t.Errorf("from %d to %d: %v", tc.first, tc.after, err)
		}
	}
}

// A click means the line that is there, below those that say what is compared.
func TestClickOnALine(t *testing.T) {
	scr := viewtest.Told(t, root, "aggregated")
	v := &View{items: make([]index.Compared, 1)}
	for y, want := range map[int]int{0: 2, 1: 2, 2: 0, 3: 1, 4: 2, 5: 2} {
		v.Pane.Set([]widget.TextLine{{Line: widget.Text(widget.Plain, "a")}, {Line: widget.Text(widget.Plain, "b")}, {Line: widget.Text(widget.Plain, "c")}})
		v.Pane.Fit(9)
		v.Pane.Show(2)
		if v.Click(scr, 0, y, false); v.Pane.Current() != want {
			t.Errorf("a click on row %d selects line %d, not %d", y, v.Pane.Current(), want)
		}
	}
}
