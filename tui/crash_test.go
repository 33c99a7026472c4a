package tui

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
	"github.com/xdsproxy/xdsproxy/tui/widget"
)

// broken is a view that panics, at the place that it is asked to.
type broken struct {
	view.Plain
	at string
}

const payload = "what a peer sent"

func (v *broken) fail(at string) {
	if v.at == at {
		panic(payload)
	}
}

func (v *broken) Title() string     { return "Broken" }
func (v *broken) Keys() []key.Offer { return []key.Offer{{Act: key.Open}} }

func (v *broken) Draw(view.Screen, int, int) []widget.Line {
	v.fail("draw")
	return nil
}

func (v *broken) Tick(view.Screen) tea.Cmd {
	v.fail("tick")
	if v.at == "command" {
		return tea.Batch(nil, tea.Batch(view.Answer(v, func() any { panic(payload) }), nil))
	}
	return nil
}

// A panic anywhere in the screen ends it as leaving does: the terminal is given
// back, the error says where, and nothing of what was on the screen is in it.
func TestPanicEndsTheScreen(t *testing.T) {
	for _, at := range []string{"draw", "tick", "command"} {
		t.Run(at, func(t *testing.T) {
			m := newModel(t.Context(), fileSource(sessionPath("envoy-sotw-nack")), Options{})
			defer m.log.Fetch.Close()
			m.Push(&broken{at: at})
			out := new(heard.Buffer)
			in, typed := io.Pipe() // nobody types
			defer typed.Close()
			err := m.present(t.Context(), tea.WithInput(in), tea.WithOutput(out), tea.WithWindowSize(80, 24))
			crash, is := errors.AsType[*Crash](err)
			if !is {
				t.Fatalf("the error is %v", err)
			}
			if !strings.Contains(string(crash.Stack), "(*broken).") {
				t.Errorf("the stack does not say where:\n%s", crash.Stack)
			}
			if all := crash.Error() + string(crash.Stack) + out.String(); strings.Contains(all, payload) {
				t.Errorf("it tells what was sent:\n%s", all)
			}
			if crash.Cause != "string" {
				t.Errorf("the cause is %q", crash.Cause)
			}
			enter, leave := strings.LastIndex(out.String(), "\x1b[?1049h"), strings.LastIndex(out.String(), "\x1b[?1049l")
			if leave < enter {
				t.Errorf("the terminal is not given back: %q", out.String())
			}
		})
	}
}

// What the runtime says of itself is told.
func TestCrashTellsTheRuntime(t *testing.T) {
	var g guard
	func() {
		defer func() { g.caught(recover()) }()
		var none []int
		_ = none[len(g.last.WindowTitle)]
	}()
	if crash := g.failed(); crash == nil || !strings.Contains(crash.Error(), "index out of range") {
		t.Errorf("%v", crash)
	}
}

// Leaving is no crash, and neither is a context that ends.
func TestRunEnds(t *testing.T) {
	m := newModel(t.Context(), fileSource(sessionPath("envoy-sotw-nack")), Options{})
	defer m.log.Fetch.Close()
	in, typed := io.Pipe()
	go func() { _, _ = typed.Write([]byte("q")) }()
	if err := m.present(t.Context(), tea.WithInput(in), tea.WithOutput(io.Discard), tea.WithWindowSize(80, 24)); err != nil {
		t.Error(err)
	}
	typed.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m = newModel(ctx, fileSource(sessionPath("envoy-sotw-nack")), Options{})
	defer m.log.Fetch.Close()
	if err := m.present(ctx, tea.WithInput(nil), tea.WithOutput(io.Discard)); !errors.Is(err, context.Canceled) && err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		t.Error(err)
	}
}
