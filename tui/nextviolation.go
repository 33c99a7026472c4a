package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

// nextViolation goes to the next entry that proves a finding of some weight,
// after the one that is selected; from a view that is about no entry, to the
// gravest.
func (m *Model) nextViolation() tea.Cmd {
	var after session.Seq
	if s, is := m.top().(subject); is && len(m.over) > 0 {
		after = s.selected(m).seq
	} else if m.tab == 1 && len(m.over) == 0 {
		after = m.timeline.selected(m).seq
	}
	next, wrapped := m.findingAfter(after)
	if after == 0 {
		next, wrapped = m.gravest(), false
	}
	if next == nil {
		m.say("no rule has found anything of weight; 4 shows the notes")
		return nil
	}
	m.show(1)
	cmd := m.timeline.goTo(m, next.LastSeq)
	said := fmt.Sprintf("%s: %s", next.Rule.ID, m.aliases.Text(next.Message))
	if wrapped {
		said = "from the beginning again: " + said
	}
	m.tell(message{role: severityRole(next.Severity), text: said})
	return cmd
}

// weighs says whether a finding is one to jump to.
func (m *Model) weighs(i int, silences []index.Silence) bool {
	f := &m.seen.findings[i]
	return f.Severity > check.Info && !m.violations.known[f.Cause] && !index.Silenced(f, silences)
}

// findingAfter is the finding that was proved next after an entry, or else the
// first of all.
func (m *Model) findingAfter(seq session.Seq) (next *check.Finding, wrapped bool) {
	var first *check.Finding
	silences := m.log.Index.Silences()
	for i := range m.seen.findings {
		f := &m.seen.findings[i]
		if !m.weighs(i, silences) {
			continue
		}
		if first == nil || f.LastSeq < first.LastSeq {
			first = f
		}
		if f.LastSeq > seq && (next == nil || f.LastSeq < next.LastSeq || f.LastSeq == next.LastSeq && f.Severity > next.Severity) {
			next = f
		}
	}
	if next == nil {
		return first, first != nil
	}
	return next, false
}

// gravest is the finding to begin with.
func (m *Model) gravest() *check.Finding {
	var worst *check.Finding
	silences := m.log.Index.Silences()
	for i := range m.seen.findings {
		f := &m.seen.findings[i]
		if m.weighs(i, silences) && (worst == nil || f.Severity > worst.Severity || f.Severity == worst.Severity && f.LastSeq < worst.LastSeq) {
			worst = f
		}
	}
	return worst
}

// silence marks the finding that is selected as known: by a note in the log if
// it is ours to write, else on this screen.
func (m *Model) silence(string) (tea.Cmd, error) {
	v := m.violations
	f := v.finding()
	if f == nil || m.top() != view(v) {
		return nil, fmt.Errorf("silence is for a finding that is selected in Violations; 4 shows them")
	}
	if v.list.known[v.list.rows[v.win.At]] {
		m.say("%s is known already", f.Rule.ID)
		return nil, nil
	}
	v.known[f.Cause] = true
	if v.at = (picked{}); v.win.At+1 < len(v.list.rows) { // on to the next one
		v.win.At++
		v.keep()
	}
	if m.log.Source.Annotate == nil {
		m.say("%s is known now, on this screen alone: this recording takes no notes", f.Rule.ID)
		return v.tick(m), nil
	}
	m.say("%s is known now; the recording says so, too", f.Rule.ID)
	note := session.Note{Code: session.NoteSilenced, Text: f.Rule.ID, About: f.LastSeq}
	return tea.Batch(v.tick(m), func() tea.Msg {
		m.log.Source.Annotate(note)
		return nil
	}), nil
}
