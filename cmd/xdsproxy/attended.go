package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui"
)

// attended shows on the screen what passes. When the person has had enough, it
// stops the proxy; when only the screen is left, or goes away, the proxy goes on
// as with --headless, and without a terminal until the last client has gone.
func (a *app) attended(ctx context.Context, stop func(), rec *recording, p *proxy.Proxy, logger *zap.Logger) {
	seen, blind := context.WithCancel(ctx)
	defer blind()
	gone := hangup(blind)
	defer gone.forget()
	outcome, err := a.draw(seen, rec.screen(a.routes(p), p.Clients))
	at := rec.Stats().Last
	var leaving sync.WaitGroup
	defer leaving.Wait()
	switch {
	case gone.happened.Load():
		logger.Warn("the terminal is gone; the proxy goes on until the last client has left")
		leaving.Go(func() { leaveWithLast(ctx, stop, p) })
	case err != nil:
		logger.Warn("the screen ended; forwarding and recording go on", zap.Error(err))
	case outcome == tui.Detached:
		a.say("detached: the proxy goes on, and records %s; ctrl+c stops it", rec.place())
	default:
		stop()
		return
	}
	a.oversee(rec, at, logger)
}

// hungUp tells that the terminal has gone away, which does not end the program.
type hungUp struct {
	happened atomic.Bool
	signals  chan os.Signal
	over     chan struct{}
	waiting  sync.WaitGroup
}

// hangup calls then when the terminal goes away.
func hangup(then func()) *hungUp {
	h := &hungUp{signals: make(chan os.Signal, 1), over: make(chan struct{})}
	signal.Notify(h.signals, syscall.SIGHUP)
	h.waiting.Go(func() {
		select {
		case <-h.over:
		case <-h.signals:
			h.happened.Store(true)
			then()
		}
	})
	return h
}

func (h *hungUp) forget() {
	signal.Stop(h.signals)
	close(h.over)
	h.waiting.Wait()
}

// leaveWithLast stops the proxy when nobody uses it any more.
func leaveWithLast(ctx context.Context, stop func(), p *proxy.Proxy) {
	for p.Clients() > 0 {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
	stop()
}

// routes are the pairs of the proxy, by the addresses that were bound.
func (a *app) routes(p *proxy.Proxy) []tui.Route {
	var out []tui.Route
	for i, addr := range p.Addrs() {
		out = append(out, tui.Route{Listen: addressOf(addr), Upstream: a.config.upstream[i]})
	}
	return out
}
