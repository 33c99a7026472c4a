package tui

import (
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

func seqText(seq session.Seq) string { return strconv.FormatUint(uint64(seq), 10) }

func (v *detail) do(m *Model, a key.Action) tea.Cmd {
	if slices.Contains(key.Moves(), a) || a == key.Left || a == key.Right || a == key.Wrap {
		v.pane.Do(a)
		return nil
	}
	switch a {
	case key.Form:
		v.form = (v.form + 1) % forms
		return nil
	case key.Filter:
		return m.open(textSearch, v.query())
	case key.NextMatch, key.PrevMatch:
		v.onward(m, a == key.NextMatch)
	case key.Toggle:
		if !v.pane.Toggle() {
			m.say("there is nothing to fold here: YAML and JSON fold")
		}
	case key.Copy:
		return v.copy(m)
	case key.CopyAs:
		return m.copyAs(v.seq)
	case key.Pager:
		return v.pager(m)
	case key.Open:
		v.follow(m)
	case key.Diff, key.DiffMark:
		return m.openDiff(v.selected(m), a == key.DiffMark)
	case key.Ladder:
		return m.openLadder(v.selected(m))
	case key.Resources:
		return m.openResources(v.selected(m).client)
	case key.Mark:
		m.mark(v.seq)
	case key.Note:
		return m.open(notePrompt, "")
	default:
		v.walk(m, a)
	}
	return nil
}

// onward goes to the next match, or, where nothing is searched for, to the next
// difference.
func (v *detail) onward(m *Model, forward bool) {
	of, none := v.pane.Found, "no line matches; / searches"
	if v.pane.Text == "" {
		of, none = v.pane.Changes(), "nothing is searched for; / searches"
		if v.form == formDiff {
			none = "there is no difference to go to"
		}
	}
	if !v.pane.Next(of, forward) {
		m.say("%s", none)
	}
}

// follow goes to the entry that the selected line is about.
func (v *detail) follow(m *Model) {
	to := v.lineEntry()
	if to == 0 || to == v.seq {
		m.say("this line is about no other entry")
		return
	}
	v.goTo(m, to)
}

// lineEntry is the entry that the selected line is about, 0 if there is none.
func (v *detail) lineEntry() session.Seq {
	if at := v.pane.Current(); at >= 0 {
		return session.Seq(v.pane.Lines[at].Ref)
	}
	return 0
}

// walk goes to another entry.
func (v *detail) walk(m *Model, a key.Action) {
	if a == key.Violation {
		v.violation(m)
		return
	}
	r, ok := m.log.Index.BySeq(v.seq)
	if !ok {
		m.say("%d has no line in the timeline to go on from", v.seq)
		return
	}
	switch a {
	case key.Pair:
		v.pair(m, &r)
	case key.PrevStream:
		v.arrive(m, m.log.Index.OnStream(&r, false), seqText(v.seq)+" is the first of its stream")
	case key.NextStream:
		v.arrive(m, m.log.Index.OnStream(&r, true), seqText(v.seq)+" is the last of its stream")
	case key.Older, key.Newer:
		w := m.log.Index.Words(&r)
		if w.Type == "" || r.Kind != session.KindMessage {
			m.say("%d is about no type, so that it has no versions", v.seq)
			return
		}
		word := "before"
		if a == key.Newer {
			word = "after"
		}
		v.arrive(m, m.log.Index.Version(v.seq, a == key.Newer), "no "+w.Type+" response "+word+" "+seqText(v.seq)+" on this stream")
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
	text, what := v.pane.UnderCursor()
	if text == "" {
		m.say("this line is empty; Y copies the message in a form of your choice")
		return nil
	}
	return m.copy(m.aliases.Text(text), what)
}
