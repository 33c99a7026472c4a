package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// Marks and remarks are notes in the log, where it is ours to write; they come
// back with its entries, and with a recording that is opened later. Where it is
// not, the screen keeps them alone.

// mark marks an entry, or takes its mark away.
func (m *Model) mark(seq session.Seq) {
	code := session.NoteMark
	if m.log.Index.Marked(seq) {
		code = session.NoteUnmark
	}
	if !m.annotate(session.Note{Code: code, About: seq}) {
		return
	}
	if code == session.NoteMark {
		m.sayKept("marked %d; ' goes to the next mark, M shows only marks", seq)
	} else {
		m.sayKept("the mark of %d is gone", seq)
	}
}

// writeNote writes beside the entry that is selected. Nothing takes away what
// stood there.
func (m *Model) writeNote(text string) tea.Cmd {
	of, is := m.top().(view.Subject)
	if !is {
		return nil
	}
	s := of.Selected(m)
	if s.Seq == 0 {
		m.Say("there is no entry to write beside")
		return nil
	}
	if text == "" && m.log.Index.Remark(s.Seq) == "" {
		return nil
	}
	if !m.annotate(session.Note{Code: session.NoteRemark, Text: text, About: s.Seq}) {
		return nil
	}
	if text == "" {
		m.sayKept("the note beside %d is gone", s.Seq)
	} else {
		m.sayKept("wrote beside %d", s.Seq)
	}
	return nil
}

// annotate keeps a mark or a remark: here at once, and in the log if that can
// be written.
func (m *Model) annotate(n session.Note) bool {
	if !m.log.Index.Annotate(&n) {
		m.Say("there are too many marks and notes already; take some away first")
		return false
	}
	if m.log.Annotate != nil {
		m.log.Annotate(n)
	}
	return true
}

// sayKept also says, once, that marks go with the screen.
func (m *Model) sayKept(format string, args ...any) {
	if m.log.Annotate == nil && !m.toldMarks {
		m.toldMarks = true
		format += " (only until you leave: this log is not ours to write)"
	}
	m.Say(format, args...)
}
