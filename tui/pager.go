package tui

import (
	"fmt"
	"os"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// pagerText is what is to be shown in the pager, pagerReady a file with it.
type (
	pagerText struct {
		text string
		ext  string // of the file: pagers that know colours go by it
		err  error
	}
	pagerReady struct {
		path string
		err  error
	}
	// pagerDone is what came of it.
	pagerDone struct{ err error }
)

// toPager writes a text for the pager.
func toPager(scr Screen, v view, t pagerText) tea.Cmd {
	if t.err != nil {
		scr.Complain(t.err)
		return nil
	}
	text := scr.Aliases().Text(t.text)
	return answer(v, func() any {
		path, err := privateFile("xdsproxy-*."+t.ext, text)
		return pagerReady{path, err}
	})
}

// run opens the pager. The file goes away when it is over.
func (r pagerReady) run(to view) tea.Cmd {
	if r.err != nil {
		return func() tea.Msg { return said{widget.Bad, r.err.Error()} }
	}
	return tea.ExecProcess(pagerCommand(os.Getenv, r.path), func(err error) tea.Msg {
		_ = os.Remove(r.path)
		return reply{to, pagerDone{err}}
	})
}

func (d pagerDone) tell(scr Screen) {
	if d.err != nil {
		scr.Complain(fmt.Errorf("the pager failed: %w; $XDSPROXY_PAGER names another one", d.err))
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

// privateFile writes a text where nobody else reads it.
func privateFile(pattern, text string) (path string, err error) {
	f, err := os.CreateTemp("", pattern) // mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}
