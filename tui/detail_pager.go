package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// pager writes all of the entry, in the form that is shown, to a file, and
// opens that in the pager.
func (v *detail) pager(scr view.Screen) tea.Cmd {
	f, seq := v.form, v.seq
	if f == formSummary || f == formDiff {
		if !v.ready() {
			scr.Say("it is still being read")
			return nil
		}
		return view.ToPager(scr, v, view.PagerText{Text: v.pane.PlainText(), Ext: f.extension()})
	}
	log := scr.Log()
	return view.Answer(v, func() any {
		all, err := log.Fetch.Fetch(log.Context, seq)
		got := all[seq]
		if got == nil {
			return view.PagerText{Err: fmt.Errorf("cannot open %d in the pager: %w", seq, err)}
		}
		text, err := wholeText(got, f)
		return view.PagerText{Text: text, Ext: f.extension(), Err: err}
	})
}

// extension makes pagers that know colours take the right ones.
func (f form) extension() string {
	switch f {
	case formYAML, formJSON, formDiff:
		return f.String()
	}
	return "txt"
}

// wholeText is all of an entry in a form.
func wholeText(got *index.Fetched, f form) (string, error) {
	if f != formWire {
		return formText(got, f)
	}
	lines, _ := wirePage(got, 1<<31)
	return widget.LinesText(lines), nil
}
