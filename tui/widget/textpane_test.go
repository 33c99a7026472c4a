package widget

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/tui/key"
)

// pane is a text of so many columns; a line's level is how far it is indented.
func pane(width, rows int, lines ...string) *TextPane {
	p := &TextPane{Width: width}
	p.Win.Rows = rows
	var all []TextLine
	for _, l := range lines {
		text := strings.TrimLeft(l, " ")
		all = append(all, TextLine{Line: Text(Plain, l), Level: len(l) - len(text)})
	}
	p.Set(all)
	return p
}

// shown are the lines that rows are of, and what of them stands in a row.
func shown(p *TextPane) string {
	var out []string
	for i := range p.Total() {
		r := p.row(i)
		text := fmt.Sprint(r.line)
		if r.from > 0 || r.to > 0 {
			text += fmt.Sprintf("[%d:%d]", r.from, r.to)
		}
		if r.hidden > 0 {
			text += fmt.Sprintf("+%d", r.hidden)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

var tree = []string{"a", " b", "  c", "  d", " e", "f", " g"}

func TestFold(t *testing.T) {
	p := pane(40, 20, tree...)
	for _, c := range []struct {
		at       int
		folds    bool
		want     string
		selected int
	}{
		{1, true, "0 1+2 4 5 6", 1}, {0, true, "0+4 5 6", 0}, {2, true, "0+4 5+1", 5}, {5, true, "0+4 5 6", 5}, {0, true, "0 1+2 4 5 6", 0}, {4, true, "0+4 5 6", 0},
	} {
		p.Win.At = p.rowOf(c.at)
		if got := p.Toggle(); got != c.folds || shown(p) != c.want || p.Current() != c.selected {
			t.Errorf("at %d: %t, %s, line %d is selected", c.at, got, shown(p), p.Current())
		}
	}
	if p.Show(3); shown(p) != "0 1 2 3 4 5 6" || p.Current() != 3 || !p.Center {
		t.Errorf("%s, line %d", shown(p), p.Current())
	}
	if p.Show(7); p.Current() != 3 {
		t.Errorf("line %d", p.Current())
	}
	if p = pane(40, 20, "x", "y"); p.Toggle() || pane(40, 20).Toggle() {
		t.Error("what has nothing within is folded")
	}
}

func TestSearch(t *testing.T) {
	p := pane(40, 20, tree...)
	p.Win.At = 1
	if p.Toggle(); shown(p) != "0 1+2 4 5 6" {
		t.Fatal(shown(p))
	}
	if p.Search("D"); p.Current() != 3 || p.Where() != "line 4 of 7, match 1 of 1" || shown(p) != "0 1 2 3 4 5 6" {
		t.Errorf("%s, %s", p.Where(), shown(p))
	}
	if p.Search("nothing"); p.Current() != 3 || len(p.Found) != 0 || p.Where() != "line 4 of 7, 0 matches" {
		t.Error(p.Where())
	}
	p = pane(40, 2, "one two", "two", "three two", "two one")
	p.Win.At = 1
	if p.Search("two ONE"); fmt.Sprint(p.Found) != "[0 3]" || p.Current() != 3 || p.Where() != "line 4 of 4, match 2 of 2" {
		t.Errorf("%v, %s", p.Found, p.Where())
	}
	for _, c := range []struct {
		forward bool
		want    int
	}{{true, 0}, {true, 3}, {false, 0}, {false, 3}} {
		if !p.Next(p.Found, c.forward) || p.Current() != c.want {
			t.Errorf("line %d, not %d", p.Current(), c.want)
		}
	}
	p.Win.At = 1
	if p.Where() != "line 2 of 4, 2 matches" {
		t.Error(p.Where())
	}
	if p.Next(p.Found, true); p.Current() != 3 {
		t.Errorf("line %d", p.Current())
	}
	p.Win.At = 1
	if p.Next(p.Found, false); p.Current() != 0 || p.Next(nil, true) {
		t.Errorf("line %d", p.Current())
	}
	if p.Search(" "); len(p.Found) != 0 || pane(1, 1).Where() != "" {
		t.Errorf("%v", p.Found)
	}
}

func TestWrapAndScroll(t *testing.T) {
	p := pane(10, 3, "aaaa bbbb cccc dddd", "x", strings.Repeat("y", 30))
	if p.Do(key.Right); p.Left != 8 {
		t.Errorf("%d columns", p.Left)
	}
	for range 9 {
		p.Do(key.Right)
	}
	if p.Left != 22 {
		t.Errorf("%d columns", p.Left)
	}
	if p.Do(key.Left); p.Left != 14 {
		t.Errorf("%d columns", p.Left)
	}
	p.Win.At = 1
	if p.Do(key.Wrap); p.Left != 0 || p.Current() != 1 || !strings.HasPrefix(shown(p), "0[0:10] 0[10:15] 0[15:0] 1 2[0:10] 2[10:18] 2[18:26] 2[26:0]") {
		t.Errorf("%s, line %d", shown(p), p.Current())
	}
	if p.Do(key.Right); p.Left != 0 {
		t.Error("a wrapped text is scrolled")
	}
	if p.Do(key.Wrap); shown(p) != "0 1 2" || p.Current() != 1 {
		t.Errorf("%s, line %d", shown(p), p.Current())
	}
	if p.Do(key.Open) || !p.Do(key.Down) || p.Current() != 2 {
		t.Errorf("line %d", p.Current())
	}
	p.Win.At = 0
	p.Win.Fit(3, 3)
	for _, c := range [][2]int{{2, 2}, {3, 2}, {-1, 2}, {5, 2}, {1, 1}} {
		if p.Click(c[0]); p.Current() != c[1] {
			t.Errorf("a click on row %d selects line %d", c[0], p.Current())
		}
	}
	if p.Click(0); p.Current() != 0 {
		t.Errorf("line %d", p.Current())
	}
}

// A difference begins where its number does, in each comparison.
func TestChanges(t *testing.T) {
	p := pane(40, 9, "0", "1", "1", "0", "2", "1", "1")
	for i, c := range []int{0, 1, 1, 0, 2, 1, 1} {
		p.Lines[i].Change = c
	}
	p.Lines[6].Of = 1
	if got := fmt.Sprint(p.Changes()); got != "[1 4 5 6]" {
		t.Error(got)
	}
}
