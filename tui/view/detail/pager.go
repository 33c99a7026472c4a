package detail

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// Pager writes all of the entry, in the form that is shown, to a file, and
// opens that in the pager.
func (v *View) Pager(scr view.Screen) tea.Cmd {
	f, seq := v.Form, v.Seq
	if f == FormSummary || f == FormDiff {
		if !v.ready() {
			scr.Say("it is still being read")
			return nil
		}
		return view.ToPager(scr, v, view.PagerText{Text: v.Pane.PlainText(), Ext: f.extension()})
	}
	log, private := scr.Log(), scr.Aliases().On
	return view.Answer(v, func() any {
		all, err := log.Fetch.Fetch(log.Context, seq)
		got := all[seq]
		if got == nil {
			return view.PagerText{Err: fmt.Errorf("cannot open %d in the pager: %w", seq, err)}
		}
		text, err := WholeText(got, f, private)
		return view.PagerText{Text: text, Ext: f.extension(), Err: err}
	})
}

// extension makes pagers that know colours take the right ones.
func (f Form) extension() string {
	switch f {
	case FormYAML, FormJSON, FormDiff:
		return f.String()
	}
	return "txt"
}

// WholeText is all of an entry in a form; in private without bytes.
func WholeText(got *index.Fetched, f Form, private bool) (string, error) {
	if f != FormWire {
		return FormText(got, f)
	}
	lines, _ := wirePage(got, 1<<31, private)
	return widget.LinesText(lines), nil
}
