package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
)

func (v *ladder) title() string { return "Ladder" }

func (v *ladder) keys() []key.Offer {
	return key.WithMoves([]key.Offer{
		{Act: key.Open, Hint: "open", Help: "the message in full"},
		{Act: key.Ladder, Hint: "back"},
		{Act: key.Filter, Hint: "search", Help: "search the text"},
		{Act: key.NextMatch},
		{Act: key.PrevMatch},
		{Act: key.Pair, Hint: "pair"},
		{Act: key.Diff, Hint: "diff"},
		{Act: key.Copy, Hint: "copy", Help: "copy the ladder"},
		{Act: key.Pager, Hint: "pager"},
		{Act: key.Mark, Hint: "mark"},
		{Act: key.Violation, Hint: "violation", Help: "the next finding on this ladder"},
		{Act: key.CopyAs},
		{Act: key.Note},
		{Act: key.Left, Help: "scroll to the left"},
		{Act: key.Right, Help: "scroll to the right"},
	})
}

func (v *ladder) do(m *Model, a key.Action) tea.Cmd {
	if a == key.Ladder {
		m.pop(v)
		return nil
	}
	if v.drawn == nil {
		m.say("it is still being read")
		return nil
	}
	if slices.Contains(key.Moves(), a) || a == key.Left || a == key.Right {
		v.pane.Do(a)
		return v.moved(m, a)
	}
	switch a {
	case key.Filter:
		return m.open(textSearch, v.query())
	case key.NextMatch, key.PrevMatch:
		if !v.pane.Next(v.pane.Found, a == key.NextMatch) {
			m.say("no line matches; / searches")
		}
	case key.Pager:
		return toPager(m, v, pagerText{text: v.pane.PlainText(), form: formSummary})
	case key.Copy:
		return m.copy(m.aliases.Text(v.pane.PlainText()), "the ladder")
	case key.Violation:
		v.nextFinding(m)
	default:
		return v.onEntry(m, a)
	}
	return nil
}

// onEntry does what is about the selected entry.
func (v *ladder) onEntry(m *Model, a key.Action) tea.Cmd {
	seq := v.current()
	if seq == 0 {
		m.say("no entry is selected")
		return nil
	}
	switch a {
	case key.Open:
		m.push(newDetail(m, seq))
	case key.Diff:
		return m.openDiff(v.selected(m), false)
	case key.Mark:
		m.mark(seq)
	case key.Note:
		return m.open(notePrompt, "")
	case key.CopyAs:
		return m.copyAs(seq)
	case key.Pair:
		r, ok := m.log.Index.BySeq(seq)
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
	if at := v.pane.Current(); at >= 0 {
		return session.Seq(v.pane.Lines[at].Ref)
	}
	return 0
}

// goTo selects an entry of the ladder.
func (v *ladder) goTo(m *Model, seq session.Seq) {
	for i := range v.pane.Lines {
		if v.pane.Lines[i].Ref == uint64(seq) {
			v.pane.Show(i)
			v.at = seq
			return
		}
	}
	m.say("%d is not on this part of the ladder", seq)
}

func (v *ladder) nextFinding(m *Model) {
	for i := v.pane.Current() + 1; i < len(v.pane.Lines); i++ {
		if seq := session.Seq(v.pane.Lines[i].Ref); v.pane.Lines[i].Level == 2 && seq != v.current() {
			v.goTo(m, seq)
			return
		}
	}
	m.say("no rule found anything further down this ladder")
}

// moved remembers where the selection is, and reads on at an end.
func (v *ladder) moved(m *Model, a key.Action) tea.Cmd {
	if seq := v.current(); seq != 0 {
		v.at = seq
		m.timeline.follows(m, seq)
	}
	at := v.pane.Win.At
	switch {
	case v.earlier && a == key.First:
		v.at = 1
		return v.load(m)
	case (v.later || m.log.Source.Live) && a == key.Last:
		v.at = lastSeq
		return v.load(m)
	case v.earlier && at <= 2, (v.later || m.log.Source.Live) && at >= v.pane.Total()-2:
		return v.load(m)
	}
	return nil
}
