package viewtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// Session is a recorded session of those that rules are tested with, read whole.
// root is where the module begins.
func Session(tb testing.TB, root, name string) *Screen {
	tb.Helper()
	return New(tb, File(filepath.Join(root, "check", "testdata", "sessions", name+".xdsp"))).Read(tb)
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
	fmt.Fprintf(&b, "[%s]\n", v.Where(s))
	for i := range lines {
		b.WriteString(lines[i].PlainText() + "\n")
	}
	about := v.About(s)
	fmt.Fprintf(&b, "[%s]\n", about.PlainText())
	for _, said := range s.Said {
		fmt.Fprintf(&b, "said: %s\n", said)
	}
	s.Said = nil
	return b.String()
}

// Play does one action after the other in a view, and is what each leads to.
func (s *Screen) Play(v view.View, w, h int, actions ...key.Action) string {
	var b strings.Builder
	fmt.Fprintf(&b, "== %s, %dx%d\n%s", v.Title(), w, h, s.Frame(v, w, h))
	for _, a := range actions {
		over := len(s.Over)
		s.Run(v.Do(s, a))
		fmt.Fprintf(&b, "== %s\n%s", a, s.Frame(v, w, h))
		if len(s.Over) > over {
			fmt.Fprintf(&b, "opened: %s\n", s.Top().Title())
		}
		if subject, is := v.(view.Subject); is {
			fmt.Fprintf(&b, "selected: %+v\n", subject.Selected(s))
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
