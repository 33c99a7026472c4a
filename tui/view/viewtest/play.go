package viewtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check/script"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // as the program has them
	"github.com/xdsproxy/xdsproxy/tui/chosen"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Session is a recorded session of those that rules are tested with, read whole.
// root is where the module begins.
func Session(tb testing.TB, root, name string) *Screen {
	tb.Helper()
	return New(tb, File(filepath.Join(root, "check", "testdata", "sessions", name+".xdsp"))).Read(tb)
}

// Told is a conversation that is written down with those that package render tells,
// read whole.
func Told(tb testing.TB, root, name string) *Screen {
	tb.Helper()
	path := filepath.Join(root, "internal", "render", "testdata", "told", name+".xds")
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return Script(tb, string(text))
}

// Script is a conversation that is written down, read whole.
func Script(tb testing.TB, text string) *Screen {
	tb.Helper()
	s, err := script.Parse("test", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return New(tb, Record(tb, slices.Collect(s.Entries())...)).Read(tb)
}

// Run runs a command and those that it leads to, one after the other.
func (s *Screen) Run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case view.Reply:
		s.Run(msg.To.Handle(s, msg.Msg))
	case tea.BatchMsg:
		for _, c := range msg {
			s.Run(c)
		}
	}
}

// Frame is what a view shows in w columns and h rows: its place, its rows, and
// what it says of the selection.
func (s *Screen) Frame(v view.View, w, h int) string {
	s.Run(v.Tick(s))
	var b strings.Builder
	lines := v.Draw(s, w, h)
	if len(lines) > h {
		fmt.Fprintf(&b, "%d rows in a room of %d\n", len(lines), h)
	}
	fmt.Fprintf(&b, "[%s]\n", v.Where(s))
	for i := range lines {
		b.WriteString(Looks(&lines[i]) + lines[i].PlainText() + "\n")
	}
	about := v.About(s)
	fmt.Fprintf(&b, "[%s%s]\n", Looks(&about), about.PlainText())
	for _, said := range s.Said {
		fmt.Fprintf(&b, "said: %s\n", said)
	}
	s.Said = nil
	return b.String()
}

// Looks are the roles of the texts of a line, each by its letter, after > if the
// line is selected. Which colours roles have is up to the theme.
func Looks(l *widget.Line) string {
	const letters = "ptmgwba"
	signs := ""
	for _, s := range l.Spans {
		role := "?" // one that is chosen, or a link
		if int(s.Role) < len(letters) {
			role = letters[s.Role : s.Role+1]
		}
		if strings.TrimSpace(s.Text) != "" && !strings.HasSuffix(signs, role) {
			signs += role
		}
	}
	if l.Selected {
		signs = ">" + signs
	}
	return fmt.Sprintf("%-5s ", signs)
}

// Play does one action after the other in a view, and is what each leads to: the
// rows that are others than before.
func (s *Screen) Play(v view.View, w, h int, actions ...key.Action) string {
	var b strings.Builder
	before := s.Frame(v, w, h)
	fmt.Fprintf(&b, "== %s, %dx%d\n%s", v.Title(), w, h, before)
	b.WriteString("keys:")
	for _, o := range v.Keys() {
		fmt.Fprintf(&b, " %s", o.Act)
		if o.Hint != "" {
			fmt.Fprintf(&b, "(%s)", o.Hint)
		}
	}
	b.WriteString("\n")
	for _, a := range actions {
		over := len(s.Over)
		s.Run(v.Do(s, a))
		after := s.Frame(v, w, h)
		fmt.Fprintf(&b, "== %s\n%s", a, changed(before, after))
		before = after
		if len(s.Over) > over {
			fmt.Fprintf(&b, "opened: %s\n", s.Top().Title())
		}
		if subject, is := v.(view.Subject); is {
			fmt.Fprintf(&b, "selected: %+v\n", subject.Selected(s))
		}
	}
	return b.String()
}

// changed are the lines of a frame that are others than in the one before, and how
// many it has if that is another number.
func changed(before, after string) string {
	var b strings.Builder
	was, is := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	for i, l := range is {
		if l != "" && (i >= len(was) || was[i] != l) {
			fmt.Fprintf(&b, "%2d: %s", i, l)
		}
	}
	if len(is) != len(was) {
		fmt.Fprintf(&b, "%d lines\n", len(is)-1)
	}
	return b.String()
}

// Widths is how a view shows its first rows in rooms from narrow to wide. A room in
// which but spaces are others than in the one before is left out, save for each 24th.
func (s *Screen) Widths(v view.View) string {
	s.Run(v.Tick(s)) // there are no rows before
	var b strings.Builder
	before := ""
	for w := 24; w <= 180; w++ {
		text := ""
		for _, l := range v.Draw(s, w, 5) {
			text += strings.TrimRight(Looks(&l)+l.PlainText(), " ") + "|\n"
		}
		if words := strings.Join(strings.Fields(text), " "); words != before || w%24 == 0 {
			fmt.Fprintf(&b, "== %d columns\n%s", w, text)
			before = words
		}
	}
	return b.String()
}

// Ask sets what rows are filtered by, or what is searched.
func (s *Screen) Ask(v view.View, text string) string {
	cmd, err := v.(view.Filterable).Ask(s, text)
	if err != nil {
		return fmt.Sprintf("== /%s\n%v\n", text, err)
	}
	s.Run(cmd)
	return fmt.Sprintf("== /%s\n%s", text, s.Frame(v, 80, 24))
}

// Tour is what a view shows of everything that it can do: each of its keys, on the
// first rows, in several rooms, and clicks.
func (s *Screen) Tour(v view.View) string {
	var acts []key.Action
	for _, o := range v.Keys() {
		acts = append(acts, o.Act)
	}
	got := s.Play(v, 130, 24, key.Down, key.Down)
	got += s.Play(v, 100, 16, acts...)
	got += s.Play(v, 80, 24, key.First, key.Right, key.PageDown, key.Last, key.Up, key.HalfUp)
	got += s.Play(v, 50, 10, key.First, key.Down, key.Left)
	for _, at := range [][2]int{{0, 0}, {3, 1}, {3, 4}, {70, 2}, {3, 9}, {3, 23}} {
		for _, twice := range []bool{false, true} {
			s.Run(v.Click(s, at[0], at[1], twice))
			got += fmt.Sprintf("== click %v, twice %t\n[%s]\n", at, twice, v.Where(s))
			for _, said := range s.Said {
				got += fmt.Sprintf("said: %s\n", said)
			}
			s.Said = nil
		}
	}
	if t, is := v.(view.Tabular); is {
		got += s.columns(t)
	}
	for _, w := range []int{30, 59, 60, 69, 70, 99, 119, 120, 160} {
		got += s.Frame(v, w, 4)
	}
	if f, is := v.(view.Filterable); is {
		got += s.filters(f)
	}
	s.aliases.On = true
	got += "== with aliases\n" + s.Frame(v, 80, 12) + s.Frame(v, 130, 12)
	s.aliases.On = false
	s.Frame(v, 130, 24)
	for y := range 24 {
		s.Run(v.Click(s, 3, y, true))
		got += fmt.Sprintf("== twice at %d: [%s] %s\n", y, v.Where(s), strings.Join(s.Said, ", "))
		s.Said = nil
	}
	return got
}

// filters asks for words that some rows have, and goes back.
func (s *Screen) filters(f view.Filterable) string {
	v := f.(view.View)
	var b strings.Builder
	for _, words := range []string{"cds", "c1", "no such words", "cds -nack", ""} {
		if p, is := f.(view.Previewed); is {
			said, cmd := p.Preview(s, words)
			if cmd != nil {
				s.Run(cmd)
				said, _ = p.Preview(s, words)
			}
			fmt.Fprintf(&b, "preview of %q: %s\n", words, said)
		}
		cmd, err := f.Ask(s, words)
		s.Run(cmd)
		fmt.Fprintf(&b, "== /%s, %v, is %q\n%s", words, err, f.Query(), s.Frame(v, 80, 5))
	}
	for range 5 {
		s.Run(v.Do(s, key.Unfilter))
		fmt.Fprintf(&b, "== before: %q\n%s", f.Query(), s.Frame(v, 80, 3))
	}
	cmd, _ := f.Ask(s, "")
	s.Run(cmd)
	return b.String()
}

// Live is a screen that shows the same while more may come: nothing that was read is
// known to it but what the checker said.
func (s *Screen) Live(tb testing.TB) *Screen {
	live := New(tb, s.log.Source)
	live.log.Live, live.seen = true, s.seen
	return live
}

// columns sorts by each column, makes one after the other wider, and then takes one
// after the other away.
func (s *Screen) columns(v view.Tabular) string {
	var b strings.Builder
	s.Frame(v, 80, 7) // a narrow one has no columns
	all, of := v.Columns(s), s.Choice(v.Title())
	if len(all) == 0 {
		panic("a table without columns")
	}
	for _, c := range all {
		cmd, sorts := v.SortBy(s, c.Title)
		s.Run(cmd)
		fmt.Fprintf(&b, "== by %s, %t\n%s", c.Title, sorts, s.Frame(v, 80, 7))
	}
	for _, a := range []key.Action{key.Narrower, key.Narrower, key.Wider, key.Wider, key.Wider} {
		fmt.Fprintf(&b, "== %s\n", a)
		s.Run(v.Do(s, a))
		b.WriteString(s.Frame(v, 80, 4))
	}
	for _, c := range all {
		for _, by := range []int{200, -400} {
			of.Resize(c.Title, max(c.Width, 1), by)
			fmt.Fprintf(&b, "== %s by %d\n%s%s", c.Title, by, s.Frame(v, 80, 3), s.Frame(v, 130, 3))
		}
		*of = chosen.List{}
	}
	for _, c := range all {
		of.Toggle(c.Title)
		fmt.Fprintf(&b, "== without %s\n%s%s", c.Title, s.Frame(v, 80, 4), s.Frame(v, 130, 3))
	}
	*of = chosen.List{}
	// Each column gives up its room bit by bit, the last one first: who takes it depends
	// on how much there is.
	for _, c := range slices.Backward(all) {
		for w := c.Width; w > 3 && !c.Fixed; w-- {
			of.Resize(c.Title, w, -1)
			fmt.Fprintf(&b, "== %s of %d\n", c.Title, w-1)
			for _, l := range v.Draw(s, 80, 2) {
				b.WriteString(l.PlainText() + "|\n")
			}
		}
	}
	*of = chosen.List{}
	return b.String()
}
