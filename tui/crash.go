package tui

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// Crash is a failure of the screen itself. It holds nothing of what peers sent:
// of a panic that is none of the runtime's, the type alone is told.
type Crash struct {
	Cause string
	Stack []byte
}

func (c *Crash) Error() string { return "the screen failed: " + c.Cause }

// guard stands between the program and the model. A panic ends the screen as
// leaving does, so that the terminal is restored; the library would print the
// cause, which may be what a peer sent.
type guard struct {
	model *Model
	quit  func() // ends the program; it does not wait
	last  tea.View

	mu    sync.Mutex
	crash *Crash
}

// caught takes what was recovered, and says whether that is anything.
func (g *guard) caught(cause any) bool {
	if cause == nil {
		return false
	}
	c := &Crash{Cause: fmt.Sprintf("%T", cause), Stack: debug.Stack()}
	if wrong, is := cause.(runtime.Error); is {
		c.Cause = wrong.Error()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.crash == nil {
		g.crash = c
	}
	return true
}

func (g *guard) failed() *Crash {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.crash
}

// Init is called by the program.
func (g *guard) Init() tea.Cmd { return g.watch(g.model.Init()) }

// Update is called by the program.
func (g *guard) Update(msg tea.Msg) (same tea.Model, cmd tea.Cmd) {
	defer func() {
		if g.caught(recover()) {
			same, cmd = g, tea.Quit
		}
	}()
	if g.failed() != nil {
		return g, tea.Quit
	}
	_, cmd = g.model.Update(msg)
	return g, g.watch(cmd)
}

// View is called by the program.
func (g *guard) View() (v tea.View) {
	defer func() {
		if g.caught(recover()) {
			v = g.last
			g.quit()
		}
	}()
	if g.failed() != nil {
		return g.last
	}
	g.last = g.model.View()
	return g.last
}

// watch catches what a command, or those that it consists of, does.
func (g *guard) watch(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if g.caught(recover()) {
				msg = tea.QuitMsg{}
			}
		}()
		msg = cmd()
		if batch, is := msg.(tea.BatchMsg); is {
			for i, c := range batch {
				batch[i] = g.watch(c)
			}
		}
		return msg
	}
}
