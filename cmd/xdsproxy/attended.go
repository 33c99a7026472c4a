package main

import (
	"context"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui"
)

// attended shows on the screen what passes. When the person has had enough, it
// stops the proxy; when only the screen is left, or goes away, the proxy goes on
// as with --headless, and without a terminal until the last client has gone.
func (a *app) attended(ctx context.Context, stop func(), rec *recording, p *proxy.Proxy, logger *zap.Logger) {
	gone, done := hangup()
	defer done()
	outcome, err := a.draw(ctx, a.screenOfRecording(rec, a.routes(p), p.Clients))
	if outcome == tui.Stopped {
		stop()
		return
	}
	var leaving sync.WaitGroup
	defer leaving.Wait()
	at := rec.Stats().Last
	if err == nil {
		a.say("detached: the proxy goes on, and records %s; ctrl+c stops it", rec.place())
	} else {
		logger.Error("the screen ended; forwarding and recording go on", zap.Error(err))
		leaving.Go(func() { leaveWithLast(ctx, stop, p, gone) })
	}
	a.oversee(rec, at, logger)
}

// leaveWithLast stops the proxy when nobody can see it and nobody uses it: once
// its terminal is gone, with the last client.
func leaveWithLast(ctx context.Context, stop func(), p *proxy.Proxy, gone <-chan os.Signal) {
	select {
	case <-ctx.Done():
		return
	case <-gone:
	}
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
