package app

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/tui"
)

// Attended shows on the screen what passes. When the person has had enough, it
// stops the proxy; when only the screen is left, or goes away, the proxy goes on
// as with --headless, and without a terminal until the last client has gone.
func (s *Assembly) Attended(ctx context.Context, stop func(), draw func(context.Context) (tui.Outcome, error)) {
	seen, blind := context.WithCancel(ctx)
	defer blind()
	gone := hangup(blind)
	defer gone.forget()
	outcome, err := draw(seen)
	at := s.Log.Stats().Last
	var leaving sync.WaitGroup
	defer leaving.Wait()
	switch {
	case gone.happened():
		s.Logger.Warn("the terminal is gone; the proxy goes on until the last client has left")
	case err != nil:
		s.Logger.Error("the screen ended; forwarding and recording go on", zap.Error(err))
	case outcome == tui.Detached:
		s.Say("detached: the proxy goes on, and records %s; ctrl+c stops it", s.Log.Place())
	default:
		stop()
		return
	}
	leaving.Go(func() { s.leaveWithLast(ctx, gone.itself, stop) })
	s.oversee(at, nil)
}

// hungUp tells that the terminal has gone away, which does not end the program.
type hungUp struct {
	itself  chan struct{} // closed when it has
	signals chan os.Signal
	over    chan struct{}
	waiting sync.WaitGroup
}

// hangup calls then when the terminal goes away.
func hangup(then func()) *hungUp {
	h := &hungUp{itself: make(chan struct{}), signals: make(chan os.Signal, 1), over: make(chan struct{})}
	signal.Notify(h.signals, syscall.SIGHUP)
	h.waiting.Go(func() {
		select {
		case <-h.over:
		case <-h.signals:
			close(h.itself)
			then()
		}
	})
	return h
}

func (h *hungUp) happened() bool {
	select {
	case <-h.itself:
		return true
	default:
		return false
	}
}

func (h *hungUp) forget() {
	signal.Stop(h.signals)
	close(h.over)
	h.waiting.Wait()
}

// leaveWithLast stops the proxy when nobody can stop it and nobody uses it: once
// its terminal is gone, with the last client.
func (s *Assembly) leaveWithLast(ctx context.Context, gone <-chan struct{}, stop func()) {
	select {
	case <-ctx.Done():
		return
	case <-gone:
	}
	for s.Proxy.Clients() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
	stop()
}
