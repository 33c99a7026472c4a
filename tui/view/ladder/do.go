package ladder

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

func (v *View) Title() string { return "Ladder" }

func (v *View) Keys() []key.Offer {
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

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	if a == key.Ladder {
		scr.Pop(v)
		return nil
	}
	if v.drawn == nil {
		scr.Say("it is still being read")
		return nil
	}
	if v.Pane.Do(a) {
		return v.moved(scr, a)
	}
	switch a {
	case key.Filter:
		return scr.Prompt(view.TextSearch, v.Query())
	case key.NextMatch, key.PrevMatch:
		if !v.Pane.Next(v.Pane.Found, a == key.NextMatch) {
			scr.Say("no line matches; / searches")
		}
	case key.Pager:
		return view.ToPager(scr, v, view.PagerText{Text: v.Pane.PlainText(), Ext: "txt"})
	case key.Copy:
		return scr.Copy(scr.Aliases().Text(v.Pane.PlainText()), "the ladder")
	case key.Violation:
		v.nextFinding(scr)
	default:
		return v.onEntry(scr, a)
	}
	return nil
}

// onEntry does what is about the selected entry.
func (v *View) onEntry(scr view.Screen, a key.Action) tea.Cmd {
	seq := v.current()
	if seq == 0 {
		scr.Say("no entry is selected")
		return nil
	}
	switch a {
	case key.Open:
		return scr.Act(key.Open, view.Selection{Seq: seq})
	case key.Diff:
		return scr.Act(key.Diff, v.Selected(scr))
	case key.Mark:
		return scr.Act(key.Mark, view.Selection{Seq: seq})
	case key.Note:
		return scr.Prompt(view.NotePrompt, "")
	case key.CopyAs:
		return scr.Act(key.CopyAs, view.Selection{Seq: seq})
	case key.Pair:
		r, ok := scr.Log().Index.BySeq(seq)
		if !ok || r.Partner() == 0 {
			scr.Say("%d has no pair", seq)
			return nil
		}
		v.goTo(scr, r.Partner())
	}
	return nil
}

// current is the entry of the selected line, 0 if there is none.
func (v *View) current() session.Seq {
	if at := v.Pane.Current(); at >= 0 {
		return session.Seq(v.Pane.Lines[at].Ref)
	}
	return 0
}

// goTo selects an entry of the ladder.
func (v *View) goTo(scr view.Screen, seq session.Seq) {
	for i := range v.Pane.Lines {
		if v.Pane.Lines[i].Ref == uint64(seq) {
			v.Pane.Show(i)
			v.at = seq
			return
		}
	}
	scr.Say("%d is not on this part of the ladder", seq)
}

func (v *View) nextFinding(scr view.Screen) {
	for i := v.Pane.Current() + 1; i < len(v.Pane.Lines); i++ {
		if seq := session.Seq(v.Pane.Lines[i].Ref); v.Pane.Lines[i].Level == 2 && seq != v.current() {
			v.goTo(scr, seq)
			return
		}
	}
	scr.Say("no rule found anything further down this ladder")
}

// moved remembers where the selection is, and reads on at an end.
func (v *View) moved(scr view.Screen, a key.Action) tea.Cmd {
	if seq := v.current(); seq != 0 {
		v.at = seq
		scr.Follow(seq)
	}
	at := v.Pane.Win.At
	switch {
	case v.earlier && a == key.First:
		v.at = 1
		return v.load(scr)
	case (v.later || scr.Log().Live) && a == key.Last:
		v.at = lastSeq
		return v.load(scr)
	case v.earlier && at <= 2, (v.later || scr.Log().Live) && at >= v.Pane.Total()-2:
		return v.load(scr)
	}
	return nil
}
