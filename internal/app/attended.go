package app

import (
	"context"
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
	gone, hungUp := context.WithCancel(context.Background())
	defer hungUp()
	seen, blind := context.WithCancel(ctx)
	defer blind()
	defer onSignals(func() bool {
		hungUp()
		blind()
		return true
	}, syscall.SIGHUP)()
	outcome, err := draw(seen)
	at := s.Log.Stats().Last
	var leaving sync.WaitGroup
	defer leaving.Wait()
	switch {
	case gone.Err() != nil:
		s.Logger.Warn("the terminal is gone; the proxy goes on until the last client has left")
	case err != nil:
		s.Logger.Error("the screen ended; forwarding and recording go on", zap.Error(err))
	case outcome == tui.Detached:
		s.Say("detached: the proxy goes on, and records %s; ctrl+c stops it", s.Log.Place())
	default:
		stop()
		return
	}
	leaving.Go(func() { s.leaveWithLast(ctx, gone, stop) })
	s.oversee(at, nil, nil, nil, nil)
}

// leaveWithLast stops the proxy when nobody can stop it and nobody uses it: once
// its terminal is gone, with the last client.
func (s *Assembly) leaveWithLast(ctx context.Context, gone context.Context, stop func()) {
	select {
	case <-ctx.Done():
		return
	case <-gone.Done():
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
