package app

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/xdsproxy/xdsproxy/internal/xdstest/terminal"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// idle is a proxy that nobody uses.
func idle(t *testing.T, h *Host) *Assembly {
	t.Helper()
	rec, err := h.Record("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rec.Discard)
	p, err := proxy.Listen(proxy.Config{Pairs: []proxy.Pair{{Listen: proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}, Upstream: proxy.Addr{Network: "tcp", Address: "127.0.0.1:1"}}}, Log: rec, Logger: h.Logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseListeners)
	return &Assembly{Host: h, Log: rec, Proxy: p}
}

// A signal that the terminal is gone means that if it is, and else that files are to
// be read again. Only the first ends a proxy, once nobody uses it.
func TestHeedHangups(t *testing.T) {
	for _, c := range []struct {
		name        string
		stdin, said bool // at the terminal
		gone        bool
		want        string
	}{
		{"at no terminal", false, false, false, "info SIGHUP: nothing to do"},
		{"at a terminal", true, true, false, "info SIGHUP: nothing to do"},
		{"typing at one that is gone", true, false, true, "warn the terminal is gone"},
		{"printing on one that is gone", false, true, true, "warn the terminal is gone"},
		{"at one that is gone", true, true, true, "warn the terminal is gone"},
	} {
		h, out := told(t, map[string]string{"no-record": "true"})
		far, near := terminal.Pair(t)
		if c.stdin {
			h.Stdin = near
		}
		if c.said {
			h.Stderr = near
		}
		stopped := make(chan struct{})
		heard := make(chan struct{}, 1)
		h.Logger = h.Logger.WithOptions(zap.Hooks(func(zapcore.Entry) error {
			select {
			case heard <- struct{}{}:
			default:
			}
			return nil
		}))
		ctx, cancel := context.WithCancel(t.Context())
		done := idle(t, h).HeedHangups(ctx, func() { close(stopped) })
		if c.gone {
			_ = far.Close()
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		<-heard
		if c.gone {
			select {
			case <-stopped:
			case <-time.After(30 * time.Second):
				t.Errorf("%s: it is not stopped", c.name)
			}
		}
		done()
		select {
		case <-stopped:
			if !c.gone {
				t.Errorf("%s: it is stopped", c.name)
			}
		default:
		}
		cancel()
		if text := strings.Join(lines(out), "\n"); !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
}

// Who watches the entries at the terminal is not told them by the log, too.
func TestLogAtTerminal(t *testing.T) {
	_, near := terminal.Pair(t)
	for _, c := range []struct {
		watched, terminal bool
		set               map[string]string
		info, debug       bool
	}{
		{true, true, nil, false, false},
		{true, false, nil, true, false},
		{false, true, nil, true, false},
		{true, true, map[string]string{"verbose": "true"}, true, true},
		{false, false, map[string]string{"quiet": "true"}, false, false},
	} {
		h, _ := told(t, c.set)
		if c.terminal {
			h.Stderr = near
		}
		core := NewLogger(h.Console, h.Settings, c.watched).Core()
		if core.Enabled(zap.InfoLevel) != c.info || core.Enabled(zap.DebugLevel) != c.debug || !core.Enabled(zap.ErrorLevel) {
			t.Errorf("%+v: info %v, debug %v", c, core.Enabled(zap.InfoLevel), core.Enabled(zap.DebugLevel))
		}
	}
}
