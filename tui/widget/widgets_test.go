package widget

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

func rowsOf(lines []Line) string {
	var b strings.Builder
	for i := range lines {
		roles := ""
		for _, s := range lines[i].Spans {
			if strings.TrimSpace(s.Text) != "" {
				roles += "ptmgwba"[s.Role&7 : s.Role&7+1]
			}
		}
		fmt.Fprintf(&b, "%-4s %s|\n", roles, lines[i].PlainText())
	}
	return b.String()
}

var sheet = []Paragraph{
	{Head: "Keys", Look: Title},
	{Head: "a", Look: Accent, Text: "moves to the left, and says so in more words than one line has", Tone: Plain, Choice: "left"},
	{Head: "ctrl+home", Look: Accent, Text: "goes to the first", Tone: Muted, Choice: "first"},
	{Look: Title},
	{Text: "without a head, but with a path /etc/envoy/envoy.yaml that is rather long, as paths are: /var/lib/a-directory/another-directory/x", Tone: Warned},
	{Head: "Code", Look: Title},
	{Head: "yaml", Text: "a:\n  b: 1\n", AsIs: true},
}

// A sheet in rooms of several sizes: how it is wrapped, what moves in it, and what
// is found.
func TestSheet(t *testing.T) {
	var b strings.Builder
	var s Sheet
	for _, w := range []int{20, 40, 60, 120} {
		fmt.Fprintf(&b, "== %d columns, %s\n%s", w, s.Where(sheet), rowsOf(s.Draw(sheet, w, 30)))
	}
	s = Sheet{}
	s.Draw(sheet, 44, 5)
	for _, a := range []key.Action{key.Up, key.Down, key.Down, key.Down, key.Up, key.Up, key.Down, key.Down, key.Down, key.Down, key.PageDown, key.Last, key.Down, key.HalfUp, key.PageUp, key.HalfDown, key.First, key.Open} {
		moved := s.Do(a, sheet)
		fmt.Fprintf(&b, "== %s: %t, line %s, top %d, %q\n", a, moved, s.Where(sheet), s.Win.Top, s.At(sheet).Head)
	}
	last := []Paragraph{sheet[0], sheet[1]}
	s = Sheet{}
	s.Draw(last, 44, 5)
	s.Do(key.Down, last)
	s.Do(key.Down, last)
	fmt.Fprintf(&b, "== the last thing to choose stays: %s\n", s.Where(last))
	for _, words := range []string{"first", "head", "CODE", "nothing like it", "rather -head", ""} {
		s.Find(words)
		fmt.Fprintf(&b, "== /%s: %s\n%s%s", words, s.Where(sheet), rowsOf(s.Draw(sheet, 44, 30)), s.PlainText(sheet))
		if words == "nothing like it" && s.At(sheet) != nil {
			t.Error("nothing is selected")
		}
	}
	s.Draw(sheet, 44, 3)
	s.Win.Top = 2
	for _, y := range []int{-1, 0, 2, 8, 9} {
		fmt.Fprintf(&b, "== click %d: %t, %s\n", y, s.Click(sheet, y), s.Where(sheet))
	}
	golden.Is(t, "testdata/sheet.txt", b.String())
}

// Texts of YAML and JSON: what is a name, what a value, what belongs to what, and
// what is copied of each line.
func TestTextLines(t *testing.T) {
	var b strings.Builder
	for _, of := range []struct {
		lines func(string, int) ([]TextLine, int)
		text  string
	}{
		{YamlLines, "name: \"a b\"\nlist:\n- x: 1\n  y: |\n    a\n\n    b: 2\n- - p\n  - q\n\"odd: key\": \"esc \\\" \"\n\"broken\nplain text\nempty:\n  nested:\n    \"deep\": ~\nlast: |-\n  z\n"},
		{JsonLines, "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": \"x,y\"\n  },\n  \"d\": [\n    2,\n    \"e\"\n  ],\n  \"f\\\"\": []\n}"},
	} {
		lines, more := of.lines(of.text, 100)
		p := &TextPane{}
		p.Restart(lines)
		fmt.Fprintf(&b, "== %d lines, %d more\n", len(lines), more)
		for i := range lines {
			p.Win.At = i
			text, what := p.UnderCursor()
			fmt.Fprintf(&b, "%d %-10s|%-24s|%q %s\n", lines[i].Level, lines[i].Name, lines[i].PlainText(), text, what)
		}
		if p.PlainText() != strings.TrimSuffix(of.text, "\n")+"\n" {
			t.Errorf("the text is another:\n%s", p.PlainText())
		}
		for _, most := range []int{len(lines), len(lines) - 1, 0} {
			some, more := of.lines(of.text, most)
			fmt.Fprintf(&b, "at most %d: %d, and %d more\n", most, len(some), more)
		}
	}
	golden.Is(t, "testdata/textlines.txt", b.String())
	if text, what := (&TextPane{}).UnderCursor(); text != "" || what != "" {
		t.Errorf("%q, %q of no line", text, what)
	}
	if lines, more := YamlLines("", 5); len(lines) != 0 || more != 0 {
		t.Error(lines, more)
	}
	for in, want := range map[string]string{"  a\n    b\n\n": "a\n  b\n\n", "a\n  b\n": "a\n  b\n", "": "", "  \n    x\n": "\nx\n"} {
		if got := dedent(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Lines are cut and filled to the column, beside each other too, and painted.
func TestLines(t *testing.T) {
	var b strings.Builder
	l := Spans(In(Title, "ab\x1b"), In(Muted, "世界"), In(ToRule(Bad), "a-rule"), In(ToRule(Good), "no rule"))
	l.Join(Text(Accent, "end"))
	for _, links := range []bool{false, true} {
		theme := NewTheme("auto", false)
		theme.Links = links
		for columns := range 26 {
			for _, chosen := range []bool{false, true} {
				l.Selected = chosen
				fmt.Fprintf(&b, "%d %q\n", columns, l.Paint(&theme, columns))
			}
		}
	}
	fmt.Fprintf(&b, "%d wide, %q\n", l.Width(), l.PlainText())
	theme := NewTheme("mono", true)
	left, right := []Line{Text(Plain, " left"), Text(Bad, " more than there is room for")}, []Line{Text(Good, " right"), Text(Muted, " x"), Text(Plain, " y")}
	left[1].Choose(true)
	right[2].Choose(true)
	for _, beside := range [][2][]Line{{left, right}, {right, left}} {
		for _, l := range Beside(&theme, beside[0], 10, beside[1]) {
			fmt.Fprintf(&b, "%q\n", l.Paint(&theme, 24))
		}
	}
	fmt.Fprintf(&b, "%q %q %q %q %q\n", Left("abcdef", 4), Right("abcdef", 4), Right("ab", 4), Middle("abcdef", 4), MiddleText("ab", 4))
	for columns := 14; columns <= 18; columns++ {
		rule := theme.Rule(" name ", Title, "more", columns)
		fmt.Fprintf(&b, "%d %q\n", columns, rule.PlainText())
	}
	b.WriteString(rowsOf(Labelled("seen", Good, "a text of several words\tand a tab", 24)))
	b.WriteString(rowsOf(Labelled("none", Good, " ", 24)))
	for _, s := range []string{"", "a", "abcd efgh", "a bcdefghijk", "ab/cdefghij", "abcdefghijk lm"} {
		fmt.Fprintf(&b, "%q\n%q\n", BreakWords(s, 8), BreakWords(s, 1))
		fmt.Fprintf(&b, "%q\n", Wrapped(s, 8))
	}
	fmt.Fprintf(&b, "%q %q\n", Wrapped("世界 a", 1), Wrapped("ab/cdefghijkl a", 9))
	golden.Is(t, "testdata/lines.txt", b.String())
}

// A theme that was left to itself suits the background; others only where they have
// a light form.
func TestThemes(t *testing.T) {
	for _, tc := range []struct {
		name  string
		light bool
		want  string
	}{
		{"", false, "auto"},
		{"", true, "light"},
		{"auto", false, "auto"},
		{"auto", true, "light"},
		{"dark", true, "dark"},
		{"light", false, "light"},
		{"colorblind", true, lightColorblind},
		{"colorblind", false, "colorblind"},
		{"mono", true, "mono"},
	} {
		theme := NewTheme(tc.name, true)
		if theme.Suit(tc.light); theme.SGR != NewTheme(tc.want, false).SGR || theme.Name != tc.name || theme.Glyph.Bar != "|" {
			t.Errorf("%q, light %t: %+v", tc.name, tc.light, theme)
		}
	}
	for _, name := range Themes() {
		if name != "auto" && NewTheme(name, false).SGR == NewTheme("", false).SGR {
			t.Errorf("%s is not known", name)
		}
	}
}

// A window keeps what is selected, and itself, in the list.
func TestWindow(t *testing.T) {
	for _, tc := range []struct {
		w           Window
		total, rows int
		want        Window
	}{
		{Window{}, 0, 0, Window{Rows: 1}},
		{Window{At: -1, Top: -1}, 5, 3, Window{Rows: 3}},
		{Window{At: 4}, 5, 3, Window{At: 4, Top: 2, Rows: 3}},
		{Window{At: 5}, 5, 3, Window{At: 4, Top: 2, Rows: 3}},
		{Window{At: 2}, 5, 3, Window{At: 2, Rows: 3}},
		{Window{At: 3}, 5, 3, Window{At: 3, Top: 1, Rows: 3}},
		{Window{At: 1, Top: 2}, 5, 3, Window{At: 1, Top: 1, Rows: 3}},
		{Window{At: 4, Top: 4}, 5, 3, Window{At: 4, Top: 2, Rows: 3}},
	} {
		if tc.w.Fit(tc.total, tc.rows); tc.w != tc.want {
			t.Errorf("%d in %d: %+v, want %+v", tc.total, tc.rows, tc.w, tc.want)
		}
	}
	w := Window{Rows: 4}
	for _, step := range []struct {
		a       key.Action
		at, top int
	}{
		{key.Up, 0, 0}, {key.Down, 1, 0}, {key.HalfDown, 3, 2}, {key.PageDown, 7, 6}, {key.HalfUp, 5, 4}, {key.PageUp, 1, 0}, {key.Last, 9, 6}, {key.Down, 9, 6}, {key.First, 0, 0},
	} {
		if !w.Move(step.a, 10) || w.At != step.at || w.Top != step.top {
			t.Errorf("%s: %+v, want %d from %d", step.a, w, step.at, step.top)
		}
	}
	if w.Move(key.Open, 10) {
		t.Error("open moves")
	}
	for _, tc := range []struct {
		text, words string
		want        bool
	}{{"A big Cluster", "cluster big", true}, {"a", "a b", false}, {"a b", "a -b", false}, {"a", "a -b", true}, {"a", "-", true}, {"", "", true}} {
		if got := HasWords(tc.text, tc.words); got != tc.want {
			t.Errorf("%q in %q: %t", tc.words, tc.text, got)
		}
	}
	if got := (&Window{At: 999}).Place(2000); got != "1,000 of 2,000" {
		t.Error(got)
	}
}

// A text is drawn in its columns, wrapped or not, from its left or from further on.
func TestTextPaneDraws(t *testing.T) {
	theme := NewTheme("mono", true)
	var b strings.Builder
	p := &TextPane{}
	p.Restart([]TextLine{
		{Line: Spans(In(Accent, "name"), In(Plain, ": a value that is longer than the room there is 世界")), Change: 1},
		{Line: Text(Plain, "  within"), Level: 2, Change: 1},
		{Line: Text(Plain, "  within too"), Level: 2, Change: 2},
		{Line: Text(Plain, "below")},
		{Line: Text(Plain, "more below"), Change: 2},
		{Line: Text(Plain, "more below"), Change: 2, Of: 1},
	})
	upper := func(s string) string { return strings.ReplaceAll(s, "value", "VALUE") }
	draw := func(what string, w, h int) {
		fmt.Fprintf(&b, "== %s: %s\n%s", what, p.Where(), rowsOf(p.Draw(&theme, upper, w, h)))
	}
	draw("all", 30, 10)
	for _, a := range []key.Action{key.Right, key.Right, key.Right, key.Right, key.Right, key.Right, key.Right, key.Left, key.Down, key.Wrap, key.Down, key.Down, key.Down, key.Right, key.Wrap, key.Open} {
		fmt.Fprintf(&b, "%s: %t\n", a, p.Do(a))
		draw(string(a), 30, 3)
	}
	draw("wider", 58, 4)
	draw("as wide as it is", 56, 4)
	p.Search("within")
	draw("within", 30, 10)
	for _, forward := range []bool{true, true, false, false} {
		fmt.Fprintf(&b, "%t\n", p.Next(p.Found, forward))
		draw("next", 30, 3)
	}
	p.Toggle()
	draw("folded", 30, 10)
	p.Search("no such")
	draw("no such", 30, 10)
	fmt.Fprintf(&b, "%t %v\n", p.Next(p.Found, true), p.Changes())
	for _, y := range []int{-1, 0, 3, 4} {
		p.Click(y)
		fmt.Fprintf(&b, "click %d: %d\n", y, p.Current())
	}
	p.Win.At = 0
	for from := range 8 {
		for columns := range 6 {
			fmt.Fprintf(&b, "%q ", (&Line{Spans: PartOf([]Span{In(Plain, "a世b"), In(Bad, "c界d")}, from, columns)}).PlainText())
		}
		b.WriteByte('\n')
	}
	golden.Is(t, "testdata/textpane.txt", b.String())
}
