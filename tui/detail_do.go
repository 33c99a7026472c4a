package tui

import (
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
)

func seqText(seq session.Seq) string { return strconv.FormatUint(uint64(seq), 10) }

func (v *detail) do(m *Model, a action) tea.Cmd {
	if slices.Contains(moves(), a) || a == actLeft || a == actRight || a == actWrap {
		v.pane.do(a)
		return nil
	}
	switch a {
	case actForm:
		v.form = (v.form + 1) % forms
		return nil
	case actFilter:
		return m.open(textSearch, v.query())
	case actNextMatch, actPrevMatch:
		v.onward(m, a == actNextMatch)
	case actToggle:
		if !v.pane.toggle() {
			m.say("there is nothing to fold here: YAML and JSON fold")
		}
	case actCopy:
		return v.copy(m)
	case actCopyAs:
		return m.copyAs(v.seq)
	case actPager:
		return v.pager(m)
	case actOpen:
		v.follow(m)
	case actDiff, actDiffMark:
		return m.openDiff(v.selected(m), a == actDiffMark)
	case actLadder:
		return m.openLadder(v.selected(m))
	case actResources:
		return m.openResources(v.selected(m).client)
	case actMark:
		m.mark(v.seq)
	case actNote:
		return m.open(notePrompt, "")
	default:
		v.walk(m, a)
	}
	return nil
}

// onward goes to the next match, or, where nothing is searched for, to the next
// difference.
func (v *detail) onward(m *Model, forward bool) {
	of, none := v.pane.found, "no line matches; / searches"
	if v.pane.text == "" {
		of, none = v.pane.changes(), "nothing is searched for; / searches"
		if v.form == formDiff {
			none = "there is no difference to go to"
		}
	}
	if !v.pane.next(of, forward) {
		m.say("%s", none)
	}
}

// follow goes to the entry that the selected line is about.
func (v *detail) follow(m *Model) {
	at := v.pane.current()
	if at < 0 || v.pane.lines[at].seq == 0 || v.pane.lines[at].seq == v.seq {
		m.say("this line is about no other entry")
		return
	}
	v.goTo(m, v.pane.lines[at].seq)
}

// walk goes to another entry.
func (v *detail) walk(m *Model, a action) {
	if a == actViolation {
		v.violation(m)
		return
	}
	r, ok := m.index.BySeq(v.seq)
	if !ok {
		m.say("%d has no line in the timeline to go on from", v.seq)
		return
	}
	switch a {
	case actPair:
		v.pair(m, &r)
	case actPrevStream:
		v.arrive(m, m.index.OnStream(&r, false), seqText(v.seq)+" is the first of its stream")
	case actNextStream:
		v.arrive(m, m.index.OnStream(&r, true), seqText(v.seq)+" is the last of its stream")
	case actOlder, actNewer:
		w := m.index.Words(&r)
		if w.Type == "" || r.Kind != session.KindMessage {
			m.say("%d is about no type, so that it has no versions", v.seq)
			return
		}
		word := "before"
		if a == actNewer {
			word = "after"
		}
		v.arrive(m, m.index.Version(v.seq, a == actNewer), "no "+w.Type+" response "+word+" "+seqText(v.seq)+" on this stream")
	}
}

// violation goes to the next finding of weight, those that are known left out.
func (v *detail) violation(m *Model) {
	next, wrapped := m.findingAfter(v.seq)
	switch {
	case next == nil:
		m.say("no rule has found anything of weight; 4 shows the notes")
	case next.LastSeq == v.seq:
		m.say("this is the only entry that a rule found something of weight with")
	default:
		v.goTo(m, next.LastSeq)
		if wrapped {
			m.say("from the beginning again: %s", next.Rule.ID)
		}
	}
}

func (v *detail) arrive(m *Model, seq session.Seq, otherwise string) {
	if seq == 0 {
		m.say("%s", otherwise)
		return
	}
	v.goTo(m, seq)
}

func (v *detail) pair(m *Model, r *index.Row) {
	switch other := r.Partner(); {
	case other != 0:
		v.goTo(m, other)
	case r.What.Response():
		m.say("no answer to %d was seen", r.Seq)
	case r.What.Request():
		m.say("%d answers no response: it asks", r.Seq)
	default:
		m.say("%d is no message that is answered", r.Seq)
	}
}

// copy copies what is under the cursor.
func (v *detail) copy(m *Model) tea.Cmd {
	if !v.ready() {
		m.say("it is still being read")
		return nil
	}
	text, what := v.pane.underCursor()
	if text == "" {
		m.say("this line is empty; Y copies the message in a form of your choice")
		return nil
	}
	return m.copy(m.aliasText(text), what)
}
