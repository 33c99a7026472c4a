package app

import (
	"bytes"
	"context"
	"sync"
	"syscall"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// HeedHangups keeps SIGHUP from ending a proxy that draws no screen. It means
// one of two things: the terminal from which the proxy was started is gone, and
// then it goes on until the last client has left; or somebody wants it to read
// its files again, and is told which it does. stop stops the proxy; done ends
// the heeding.
func (s *Assembly) HeedHangups(ctx context.Context, stop func()) (done func()) {
	began := console.IsTerminal(s.Stdin) || console.IsTerminal(s.Stderr)
	gone, hungUp := context.WithCancel(context.Background())
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	waiting.Go(func() { s.leaveWithLast(ctx, gone, stop) })
	forget := onSignals(func() bool {
		if began && !console.IsTerminal(s.Stdin) && !console.IsTerminal(s.Stderr) {
			s.Logger.Warn("the terminal is gone; the proxy goes on until the last client has left")
			hungUp()
			return true
		}
		s.reread()
		return false
	}, syscall.SIGHUP)
	return func() {
		forget()
		cancel()
		waiting.Wait()
		hungUp()
	}
}

// reread says what SIGHUP has to do with the files of the proxy. Certificates,
// keys and header files are looked at whenever they are used, so nothing is left
// to read; a configuration file is read at the start only.
func (h *Host) reread() {
	if dirs, _ := h.Settings.Files(); len(dirs) > 0 {
		h.Logger.Info("SIGHUP: files in the directories of --files are read by themselves when they change")
	}
	if h.Settings.Path == "" {
		h.Logger.Info("SIGHUP: nothing to do: certificates and header files are read again by themselves when they change")
		return
	}
	file := zap.String("file", h.Settings.Path)
	text, err := h.ReadFile(h.Settings.Path, settings.MaxConfigFile)
	switch {
	case err != nil:
		h.Logger.Warn("SIGHUP: the configuration file cannot be read any more; what it held stays in force", file, zap.Error(err))
	case bytes.Equal(text, h.Settings.Text):
		h.Logger.Info("SIGHUP: nothing to do: the configuration file is as it was, and certificates and header files are read again by themselves when they change", file)
	default:
		if err := settings.WouldTake(text, h.Settings.Path); err != nil {
			h.Logger.Warn("SIGHUP: the configuration file has changed, and is wrong; what it held stays in force", file, zap.Error(err))
			return
		}
		h.Logger.Warn("SIGHUP: the configuration file has changed; a restart makes it count", file)
	}
}
