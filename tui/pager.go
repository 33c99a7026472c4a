package tui

import (
	"fmt"
	"os"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// pagerText is what is to be shown in the pager, pagerReady a file with it.
type (
	pagerText struct {
		text string
		form form
		err  error
	}
	pagerReady struct {
		path string
		err  error
	}
	// pagerDone is what came of it.
	pagerDone struct{ err error }
)

// pager writes all of the entry, in the form that is shown, to a file, and
// opens that in the pager.
func (v *detail) pager(m *Model) tea.Cmd {
	f, seq := v.form, v.seq
	if f == formSummary || f == formDiff {
		if !v.ready() {
			m.say("it is still being read")
			return nil
		}
		return toPager(m, v, pagerText{text: v.pane.PlainText(), form: f})
	}
	return answer(v, func() any {
		all, err := m.log.Fetch.Fetch(m.log.Context, seq)
		got := all[seq]
		if got == nil {
			return pagerText{err: fmt.Errorf("cannot open %d in the pager: %w", seq, err)}
		}
		text, err := wholeText(got, f)
		return pagerText{text, f, err}
	})
}

// toPager writes a text for the pager.
func toPager(m *Model, v view, t pagerText) tea.Cmd {
	if t.err != nil {
		m.complain(t.err)
		return nil
	}
	text := m.aliases.Text(t.text)
	return answer(v, func() any {
		path, err := privateFile("xdsproxy-*."+t.form.extension(), text)
		return pagerReady{path, err}
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

// run opens the pager. The file goes away when it is over.
func (r pagerReady) run(to view) tea.Cmd {
	if r.err != nil {
		return func() tea.Msg { return saidMsg{role: widget.Bad, text: r.err.Error()} }
	}
	return tea.ExecProcess(pagerCommand(os.Getenv, r.path), func(err error) tea.Msg {
		_ = os.Remove(r.path)
		return reply{to, pagerDone{err}}
	})
}

func (d pagerDone) tell(m *Model) {
	if d.err != nil {
		m.complain(fmt.Errorf("the pager failed: %w; $XDSPROXY_PAGER names another one", d.err))
	}
}

// pagerCommand is what shows a file. A pager may have arguments, as in less -S.
func pagerCommand(env func(string) string, path string) *exec.Cmd {
	pager := env("XDSPROXY_PAGER")
	if pager == "" {
		pager = env("PAGER")
	}
	if pager == "" {
		pager = "less -R"
	}
	return exec.Command("sh", "-c", pager+` "$1"`, "sh", path)
}
