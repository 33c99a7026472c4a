package detail

import (
	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

func (v *View) Do(scr view.Screen, a key.Action) tea.Cmd {
	if v.Pane.Do(a) {
		return nil
	}
	switch a {
	case key.Form:
		v.Form = (v.Form + 1) % Forms
		return nil
	case key.Filter:
		return scr.Prompt(view.TextSearch, v.Query())
	case key.NextMatch, key.PrevMatch:
		v.onward(scr, a == key.NextMatch)
	case key.Toggle:
		if !v.Pane.Toggle() {
			scr.Say("there is nothing to fold here: YAML and JSON fold")
		}
	case key.Copy:
		return v.Copy(scr)
	case key.CopyAs:
		return scr.Act(key.CopyAs, view.Selection{Seq: v.Seq})
	case key.Pager:
		return v.Pager(scr)
	case key.Open:
		v.follow(scr)
	case key.Diff, key.DiffMark:
		return scr.Act(a, v.Selected(scr))
	case key.Ladder:
		return scr.Act(key.Ladder, v.Selected(scr))
	case key.Resources:
		return scr.Act(key.Resources, view.Selection{Client: v.Selected(scr).Client})
	case key.Only, key.Not:
		return scr.Narrow(view.EntryFilter, v.terms(scr), a == key.Not)
	case key.Mark:
		return scr.Act(key.Mark, view.Selection{Seq: v.Seq})
	case key.Note:
		return scr.Prompt(view.NotePrompt, "")
	default:
		v.walk(scr, a)
	}
	return nil
}

// onward goes to the next match, or, where nothing is searched for, to the next
// difference.
func (v *View) onward(scr view.Screen, forward bool) {
	of, none := v.Pane.Found, "no line matches; / searches"
	if v.Pane.Text == "" {
		of, none = v.Pane.Changes(), "nothing is searched for; / searches"
		if v.Form == FormDiff {
			none = "there is no difference to go to"
		}
	}
	if !v.Pane.Next(of, forward) {
		scr.Say("%s", none)
	}
}

// follow goes to the entry that the selected line is about.
func (v *View) follow(scr view.Screen) {
	to := v.lineEntry()
	if to == 0 || to == v.Seq {
		scr.Say("this line is about no other entry")
		return
	}
	v.goTo(scr, to)
}

// lineEntry is the entry that the selected line is about, 0 if there is none.
func (v *View) lineEntry() session.Seq {
	if at := v.Pane.Current(); at >= 0 {
		return session.Seq(v.Pane.Lines[at].Ref)
	}
	return 0
}

// walk goes to another entry.
func (v *View) walk(scr view.Screen, a key.Action) {
	if a == key.Violation {
		v.violation(scr)
		return
	}
	r, ok := scr.Log().Index.BySeq(v.Seq)
	if !ok {
		scr.Say("%d has no line in the timeline to go on from", v.Seq)
		return
	}
	switch a {
	case key.Pair:
		if other := view.Pair(scr, &r); other != 0 {
			v.goTo(scr, other)
		}
	case key.PrevStream:
		v.arrive(scr, scr.Log().Index.OnStream(&r, false), view.SeqText(v.Seq)+" is the first of its stream")
	case key.NextStream:
		v.arrive(scr, scr.Log().Index.OnStream(&r, true), view.SeqText(v.Seq)+" is the last of its stream")
	case key.Older, key.Newer:
		w := scr.Log().Index.Words(&r)
		if w.Type == "" || r.Kind != session.KindMessage {
			scr.Say("%d is about no type, so that it has no versions", v.Seq)
			return
		}
		word := "before"
		if a == key.Newer {
			word = "after"
		}
		v.arrive(scr, scr.Log().Index.Version(v.Seq, a == key.Newer), "no "+w.Type+" response "+word+" "+view.SeqText(v.Seq)+" on this stream")
	}
}

// violation goes to the next finding of weight, those that are known left out.
func (v *View) violation(scr view.Screen) {
	next, wrapped := scr.Seen().After(v.Seq, scr.Log().Index.Silences())
	switch {
	case next == nil:
		scr.Say("no rule has found anything of weight; 4 shows the notes")
	case next.LastSeq == v.Seq:
		scr.Say("this is the only entry that a rule found something of weight with")
	default:
		v.goTo(scr, next.LastSeq)
		if wrapped {
			scr.Say("from the beginning again: %s", next.Rule.ID)
		}
	}
}

func (v *View) arrive(scr view.Screen, seq session.Seq, otherwise string) {
	if seq == 0 {
		scr.Say("%s", otherwise)
		return
	}
	v.goTo(scr, seq)
}

// Copy copies what is under the cursor.
func (v *View) Copy(scr view.Screen) tea.Cmd {
	if !v.ready() {
		scr.Say("it is still being read")
		return nil
	}
	text, what := v.Pane.UnderCursor()
	if text == "" {
		scr.Say("this line is empty; Y copies the message in a form of your choice")
		return nil
	}
	return scr.Copy(scr.Aliases().Text(text), what)
}
