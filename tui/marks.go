package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// mark marks an entry, or takes its mark away.
func (m *Model) mark(seq session.Seq) tea.Cmd {
	if m.log.Index.Marked(seq) {
		return m.keep(session.Note{Code: session.NoteUnmark, About: seq}, "the mark of %d is gone")
	}
	return m.keep(session.Note{Code: session.NoteMark, About: seq}, "marked %d; ' goes to the next mark, M shows only marks")
}

// writeNote writes beside the entry that is selected. Nothing takes away what
// stood there.
func (m *Model) writeNote(text string) tea.Cmd {
	of, is := m.top().(view.Subject)
	if !is {
		return nil
	}
	n := session.Note{Code: session.NoteRemark, Text: text, About: of.Selected(m).Seq}
	switch {
	case n.About == 0:
		m.Say("there is no entry to write beside")
	case text != "":
		return m.keep(n, "wrote beside %d")
	case m.log.Index.Remark(n.About) != "":
		return m.keep(n, "the note beside %d is gone")
	}
	return nil
}

// keep keeps a mark or a remark, and says so.
func (m *Model) keep(n session.Note, says string) tea.Cmd {
	if !m.marks.Keep(n) {
		m.Say("there are too many marks and notes already; take some away first")
		return nil
	}
	m.Say(says+m.marks.Aside(), n.About)
	marks := m.marks
	return func() tea.Msg {
		if err := marks.Save(); err != nil {
			return view.Said{Role: widget.Bad, Text: err.Error()}
		}
		return nil
	}
}
