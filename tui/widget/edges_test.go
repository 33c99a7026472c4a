package widget

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

// A line ends where parts meet only if more than a third of the room is used by then.
func TestBreaksAtAThird(t *testing.T) {
	long := strings.Repeat("x", 30)
	for text, want := range map[string]int{"aa/" + long: 9, "aaa/" + long: 4} {
		if got := breaks(text, 9, 9); len(got) == 0 || got[0] != want {
			t.Errorf("%s is broken at %v, not at %d", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"aaa " + long:  "aaa xxxxxxxx",
		"aaaa " + long: "aaaa",
		"aaa/" + long:  "aaa/xxxxxxxx",
		"aaaa/" + long: "aaaa/",
	} {
		if got := BreakWords(text, 12); got[0] != want {
			t.Errorf("%s begins with the line %q, not %q", text, got[0], want)
		}
	}
	for word, want := range map[string]int{"aaa/" + long: 12, "aaaa/" + long: 5} {
		if got := partOf(word, 12); got != want {
			t.Errorf("%d bytes of %s stand in a line, not %d", got, word, want)
		}
	}
}

// The words before the texts of a sheet have as much room as the longest needs, but no
// more than a third.
func TestHeadsOfASheet(t *testing.T) {
	for head, want := range map[string]string{
		"ab":                    "  ab  text",
		strings.Repeat("h", 20): "  " + strings.Repeat("h", 20) + "  text",
		strings.Repeat("h", 21): "  " + strings.Repeat("h", 19) + "…  text",
	} {
		s := Sheet{W: 60}
		lines := s.Lines([]Paragraph{{Head: head, Text: "text"}})
		if got := lines[0].PlainText(); len(lines) != 1 || got != want {
			t.Errorf("%q is drawn as %q", head, got)
		}
	}
}

// Where no line has the words that are looked for, keys and clicks do nothing.
func TestSheetWithoutLines(t *testing.T) {
	all := []Paragraph{{Head: "a", Text: "one", Choice: "1"}, {Head: "b", Text: "two", Choice: "2"}}
	s := Sheet{}
	s.Draw(all, 60, 5)
	for y, want := range map[int]bool{-1: false, 0: true, 1: true, 2: false} {
		if got := s.Click(all, y); got != want || s.At(all) == nil {
			t.Errorf("there is a line %d: %t", y, got)
		}
	}
	s.Find("no such words")
	if !s.Do(key.Down, all) || !s.Do(key.Up, all) || s.Click(all, 0) || s.At(all) != nil {
		t.Errorf("line %d is selected", s.Win.At)
	}
}

// From any line of what can be chosen, up leads to its first one.
func TestUpToTheFirstLine(t *testing.T) {
	all := []Paragraph{{Head: "a", Text: strings.Repeat("words ", 20), Choice: "1"}, {Head: "b", Text: "two", Choice: "2"}}
	s := Sheet{}
	s.Draw(all, 40, 20)
	if s.Click(all, 2); s.Do(key.Up, all) && s.Win.At != 0 {
		t.Errorf("line %d is selected", s.Win.At)
	}
}

// A line without a text can be selected, too.
func TestChooseBlank(t *testing.T) {
	l := Blank()
	if l.Choose(true); !l.Selected || len(l.Spans) != 0 {
		t.Errorf("%+v", l)
	}
}

// A key ends at the first colon before a space, or before the end; one in quotes
// behind them.
func TestCutKey(t *testing.T) {
	for s, want := range map[string]string{
		"a: b":        `"a" "b"`,
		"a:":          `"a" ""`,
		"a:b":         "",
		": b":         `"" "b"`,
		`"a: b": c`:   `"\"a: b\"" "c"`,
		`"a\": b": c`: `"\"a\\\": b\"" "c"`,
		`"a"`:         "",
		`"a" b`:       "",
		`"a`:          "",
	} {
		got := ""
		if key, value, ok := CutKey(s); ok {
			got = fmt.Sprintf("%q %q", key, value)
		}
		if got != want {
			t.Errorf("%s is cut into %s, not %s", s, got, want)
		}
	}
}

// A name with nothing in it is copied as a line.
func TestCopyOfAnEmptyName(t *testing.T) {
	p := TextPane{Lines: []TextLine{{Line: Text(Plain, " empty:"), Name: "empty"}, {Line: Text(Plain, " list:"), Name: "list"}, {Line: Text(Plain, "   x"), Level: 1}}}
	for i, want := range []string{"empty:, the line", "list:\n  x\n, list with all that is in it", "x, the line"} {
		p.Win.At = i
		if text, what := p.UnderCursor(); text+", "+what != want {
			t.Errorf("of line %d is copied %q, %s", i, text, what)
		}
	}
}

// Each row of a wrapped line can be selected, and stays so while the width is the same.
func TestSelectionWithinALine(t *testing.T) {
	theme := NewTheme("mono", true)
	p := pane(0, 5, strings.Repeat("x", 25), "y")
	p.Do(key.Wrap)
	same := func(s string) string { return s }
	p.Draw(&theme, same, 12, 5)
	p.Do(key.Down)
	for range 2 {
		if lines := p.Draw(&theme, same, 12, 5); p.Win.At != 1 || !lines[1].Selected {
			t.Errorf("row %d is selected", p.Win.At)
		}
	}
	if p.Draw(&theme, same, 14, 5); p.Win.At != 0 {
		t.Errorf("row %d is selected in another width", p.Win.At)
	}
}

// That a line goes on is said at the edge, whatever is cut there.
func TestSignAtTheEdge(t *testing.T) {
	theme := NewTheme("mono", true)
	p := pane(0, 5, "abcdefghij")
	if lines := p.Draw(&theme, func(s string) string { return s }, 12, 5); lines[0].PlainText() != "> abcdefghij" {
		t.Errorf("what fits is drawn as %q", lines[0].PlainText())
	}
	for _, text := range []string{"abcdefghijk", "abcdefghijklmn", "abcdefgh世界", "abcdefg世界x"} {
		p := pane(0, 5, text)
		lines := p.Draw(&theme, func(s string) string { return s }, 12, 5)
		if got := lines[0].PlainText(); render.Width(got) != 12 || !strings.HasSuffix(got, theme.Glyph.Right) {
			t.Errorf("%s is drawn as %q", text, got)
		}
	}
}

// Of a wide character that begins before the part a space is left, of one that ends
// behind it nothing.
func TestPartOfWide(t *testing.T) {
	for _, tc := range []struct {
		from, columns int
		want          []Span
	}{
		{0, 1, []Span{In(Bad, "a")}},
		{0, 2, []Span{In(Bad, "a")}},
		{0, 3, []Span{In(Bad, "a世")}},
		{1, 1, nil},
		{1, 2, []Span{In(Bad, "世")}},
		{2, 1, []Span{In(Bad, " ")}},
		{2, 2, []Span{In(Bad, " b")}},
		{3, 1, []Span{In(Bad, "b")}},
		{4, 1, []Span{In(Good, "c")}},
		{5, 1, nil},
	} {
		if got := PartOf([]Span{In(Bad, "a世b"), In(Good, "c")}, tc.from, tc.columns); !slices.Equal(got, tc.want) {
			t.Errorf("%d columns from %d: %q", tc.columns, tc.from, got)
		}
	}
}

// A line that is shown is opened if it is folded away, and nothing else is.
func TestShowOpens(t *testing.T) {
	for n, want := range map[int]string{0: "0 1+2 4 5 6", 1: "0 1+2 4 5 6", 2: "0 1 2 3 4 5 6", 3: "0 1 2 3 4 5 6", 4: "0 1+2 4 5 6"} {
		p := pane(40, 20, tree...)
		p.Win.At = 1
		p.Toggle()
		if p.Show(n); shown(p) != want || p.Current() != n {
			t.Errorf("line %d is shown, the rows are %s, line %d is selected", n, shown(p), p.Current())
		}
	}
}

// From a line that was found the ones beside it follow, around both ends.
func TestNextOfMany(t *testing.T) {
	p := pane(40, 20, "x", "x", "y", "x", "x")
	for _, tc := range []struct {
		at      int
		forward bool
		want    int
	}{{0, true, 1}, {1, true, 3}, {2, true, 3}, {4, true, 0}, {4, false, 3}, {3, false, 1}, {2, false, 1}, {0, false, 4}} {
		p.Win.At = tc.at
		if p.Next([]int{0, 1, 3, 4}, tc.forward); p.Current() != tc.want {
			t.Errorf("from %d, forward %t: %d, not %d", tc.at, tc.forward, p.Current(), tc.want)
		}
	}
}

// What was jumped to has a third of the rows above it, unless it is in sight. A click
// below the last row selects nothing.
func TestJumps(t *testing.T) {
	for at, top := range map[int]int{5: 0, 6: 4, 0: 0, 12: 10} {
		p := pane(40, 6, strings.Split(strings.Repeat("x", 20), "")...)
		p.Fit(6)
		p.Show(at)
		if p.Fit(6); p.Win.Top != top || p.Win.At != at {
			t.Errorf("line %d: the first one is %d, not %d", at, p.Win.Top, top)
		}
	}
	p := pane(40, 6, "x", "y", "z")
	if p.Click(3); p.Current() != 0 {
		t.Errorf("line %d is selected", p.Current())
	}
}
