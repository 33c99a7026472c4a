package view

import (
	"fmt"
	"os"
	"os/exec"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// PagerText is what is to be shown in the pager, pagerReady a file with it.
type (
	PagerText struct {
		Text string
		Ext  string // of the file: pagers that know colours go by it
		Err  error
	}
	PagerReady struct {
		Path string
		err  error
	}
	// PagerDone is what came of it.
	PagerDone struct{ Err error }
)

// ToPager writes a text for the pager.
func ToPager(scr Screen, v View, t PagerText) tea.Cmd {
	if t.Err != nil {
		scr.Complain(t.Err)
		return nil
	}
	text := scr.Aliases().Text(t.Text)
	return Answer(v, func() any {
		path, err := PrivateFile("xdsproxy-*."+t.Ext, text)
		return PagerReady{path, err}
	})
}

// run opens the pager. The file goes away when it is over.
func (r PagerReady) run(to View) tea.Cmd {
	if r.err != nil {
		return func() tea.Msg { return Said{widget.Bad, r.err.Error()} }
	}
	return tea.ExecProcess(PagerCommand(os.Getenv, r.Path), func(err error) tea.Msg {
		_ = os.Remove(r.Path)
		return Reply{to, PagerDone{err}}
	})
}

func (d PagerDone) tell(scr Screen) {
	if d.Err != nil {
		scr.Complain(fmt.Errorf("the pager failed: %w; $XDSPROXY_PAGER names another one", d.Err))
	}
}

// PagerCommand is what shows a file. A pager may have arguments, as in less -S.
func PagerCommand(env func(string) string, path string) *exec.Cmd {
	pager := env("XDSPROXY_PAGER")
	if pager == "" {
		pager = env("PAGER")
	}
	if pager == "" {
		pager = "less -R"
	}
	return exec.Command("sh", "-c", pager+` "$1"`, "sh", path)
}

// PrivateFile writes a text where nobody else reads it.
func PrivateFile(pattern, text string) (path string, err error) {
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
