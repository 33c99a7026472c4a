package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

const (
	// maxClipboard is what terminals take for the clipboard; some cut what is
	// longer without a word.
	maxClipboard = 100_000
	// sureAbove is from which size on a copy must be asked for twice.
	sureAbove = 1 << 20
)

// Copy puts a text into the clipboard of the terminal. What is too long for
// that goes to a file, and its path to the clipboard.
func (m *Model) Copy(text, what string) tea.Cmd {
	switch {
	case text == "":
		m.Say("there is nothing to copy")
		return nil
	case len(text) <= maxClipboard:
		m.sure = ""
		m.Say("copied %s, %s; whether it takes that is up to the terminal (OSC 52)", what, sizeNote(text))
		return tea.SetClipboard(text)
	case len(text) > sureAbove && m.sure != what:
		m.sure = what
		m.Say("%s is %s: the same key again writes it to a file, and copies its path", what, render.Size(int64(len(text))))
		return nil
	}
	m.sure = ""
	return func() tea.Msg {
		path, err := view.PrivateFile("xdsproxy-copy-*.txt", text)
		if err != nil {
			return view.Said{Role: widget.Bad, Text: fmt.Sprintf("cannot copy %s: %v", what, err)}
		}
		done := view.Said{Role: widget.Accent, Text: fmt.Sprintf("%s is too long for a terminal's clipboard (%s): it is in %s, and that path is copied", what, sizeNote(text), path)}
		return tea.BatchMsg{tea.SetClipboard(path), func() tea.Msg { return done }}
	}
}

// sizeNote says how much was copied.
func sizeNote(text string) string {
	said := render.Size(int64(len(text)))
	if n := strings.Count(strings.TrimRight(text, "\n"), "\n") + 1; n > 1 {
		said += " in " + render.Count(n, "line", "lines")
	}
	return said
}

// screenText is what the view shows, without what fills the screen.
func (m *Model) screenText() string {
	rows := m.h - m.bodyTop() - 3
	lines := m.top().Draw(m, m.w, max(rows, 1))
	m.hideView(lines)
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.PlainText())
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
