package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// nextViolation goes to the next entry that proves a finding of some weight,
// after the one that is selected; from a view that is about no entry, to the
// gravest.
func (m *Model) nextViolation() tea.Cmd {
	var after session.Seq
	if s, is := m.top().(view.Subject); is && len(m.over) > 0 {
		after = s.Selected(m).Seq
	} else if m.tab == 1 && len(m.over) == 0 {
		after = m.timeline.Selected(m).Seq
	}
	next, wrapped := m.seen.After(after, m.log.Index.Silences())
	if after == 0 {
		next, wrapped = m.seen.Gravest(m.log.Index.Silences()), false
	}
	if next == nil {
		m.Say("no rule has found anything of weight; 4 shows the notes")
		return nil
	}
	m.show(1)
	cmd := m.timeline.GoTo(m, next.LastSeq)
	said := fmt.Sprintf("%s: %s", next.Rule.ID, m.aliases.Text(next.Message))
	if wrapped {
		said = "from the beginning again: " + said
	}
	m.tell(message{role: view.SeverityRole(next.Severity), text: said})
	return cmd
}

// selectedFinding is the one that the view on top is about, nil if none.
func (m *Model) selectedFinding() *check.Finding {
	if m.top() == view.View(m.violations) {
		return m.violations.Finding()
	}
	if s, is := m.top().(view.Subject); is {
		if seq := s.Selected(m).Seq; seq != 0 {
			return m.seen.Finding(seq)
		}
	}
	return nil
}

// silence marks the finding that is selected as known.
func (m *Model) silence(string) (tea.Cmd, error) {
	if m.top() != view.View(m.violations) || m.violations.Finding() == nil {
		return nil, fmt.Errorf("silence is for a finding that is selected in Violations; 4 shows them")
	}
	return m.violations.Silence(m), nil
}
