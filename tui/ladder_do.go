package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

func (v *ladder) title() string { return "Ladder" }

func (v *ladder) keys() []offer {
	offers := []offer{
		{actOpen, "open", "the message in full"},
		{actLadder, "back", ""},
		{actFilter, "search", "search the text"},
		{actNextMatch, "", ""},
		{actPrevMatch, "", ""},
		{actPair, "pair", ""},
		{actDiff, "diff", ""},
		{actCopy, "copy", "copy the ladder"},
		{actPager, "pager", ""},
		{actMark, "mark", ""},
		{actViolation, "violation", "the next finding on this ladder"},
		{actCopyAs, "", ""},
		{actNote, "", ""},
		{actLeft, "", "scroll to the left"},
		{actRight, "", "scroll to the right"},
	}
	for _, a := range moves() {
		offers = append(offers, offer{act: a})
	}
	return offers
}

func (v *ladder) do(m *Model, a action) tea.Cmd {
	if a == actLadder {
		m.pop(v)
		return nil
	}
	if v.drawn == nil {
		m.say("it is still being read")
		return nil
	}
	if slices.Contains(moves(), a) || a == actLeft || a == actRight {
		v.pane.do(a)
		return v.moved(m, a)
	}
	switch a {
	case actFilter:
		return m.open(textSearch, v.query())
	case actNextMatch, actPrevMatch:
		if !v.pane.next(v.pane.found, a == actNextMatch) {
			m.say("no line matches; / searches")
		}
	case actPager:
		return toPager(m, v, pagerText{text: v.pane.plainText(), form: formSummary})
	case actCopy:
		return m.copy(m.aliasText(v.pane.plainText()), "the ladder")
	case actViolation:
		v.nextFinding(m)
	default:
		return v.onEntry(m, a)
	}
	return nil
}

// onEntry does what is about the selected entry.
func (v *ladder) onEntry(m *Model, a action) tea.Cmd {
	seq := v.current()
	if seq == 0 {
		m.say("no entry is selected")
		return nil
	}
	switch a {
	case actOpen:
		m.push(newDetail(m, seq))
	case actDiff:
		return m.openDiff(v.selected(m), false)
	case actMark:
		m.mark(seq)
	case actNote:
		return m.open(notePrompt, "")
	case actCopyAs:
		return m.copyAs(seq)
	case actPair:
		r, ok := m.index.BySeq(seq)
		if !ok || r.Partner() == 0 {
			m.say("%d has no pair", seq)
			return nil
		}
		v.goTo(m, r.Partner())
	}
	return nil
}

// current is the entry of the selected line, 0 if there is none.
func (v *ladder) current() session.Seq {
	if at := v.pane.current(); at >= 0 {
		return v.pane.lines[at].seq
	}
	return 0
}

// goTo selects an entry of the ladder.
func (v *ladder) goTo(m *Model, seq session.Seq) {
	for i := range v.pane.lines {
		if v.pane.lines[i].seq == seq {
			v.pane.show(i)
			v.at = seq
			return
		}
	}
	m.say("%d is not on this part of the ladder", seq)
}

func (v *ladder) nextFinding(m *Model) {
	for i := v.pane.current() + 1; i < len(v.pane.lines); i++ {
		if v.pane.lines[i].level == 2 && v.pane.lines[i].seq != v.current() {
			v.goTo(m, v.pane.lines[i].seq)
			return
		}
	}
	m.say("no rule found anything further down this ladder")
}

// moved remembers where the selection is, and reads on at an end.
func (v *ladder) moved(m *Model, a action) tea.Cmd {
	if seq := v.current(); seq != 0 {
		v.at = seq
		m.timeline.follows(m, seq)
	}
	at := v.pane.win.at
	switch {
	case v.earlier && a == actFirst:
		v.at = 1
		return v.load(m)
	case (v.later || m.src.Live) && a == actLast:
		v.at = lastSeq
		return v.load(m)
	case v.earlier && at <= 2, (v.later || m.src.Live) && at >= v.pane.total()-2:
		return v.load(m)
	}
	return nil
}
