package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/replay"
)

// player plays one side: as it was asked for, or with the recording proxy in
// between, which then listens at or dials the address that was given.
type player func(ctx context.Context, plan *replay.Plan, between *relay) (*replay.Report, error)

// relay is the proxy that records a replay.
type relay struct {
	listen func(upstream proxy.Addr) (net.Addr, error)
}

// recorded plays, and records what is said if that was asked for.
func (r *replaying) recorded(ctx context.Context, plan *replay.Plan, play player) (*replay.Report, error) {
	if r.write == "" {
		return play(ctx, plan, nil)
	}
	logger := r.logger(false)
	defer func() { _ = logger.Sync() }()
	rec, err := r.record(r.write, logger)
	if err != nil {
		return nil, err
	}
	var (
		serving sync.WaitGroup
		began   bool
	)
	relaying, stop := context.WithCancel(context.Background())
	defer stop()
	between := &relay{listen: func(upstream proxy.Addr) (net.Addr, error) {
		at := proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}
		if r.listen != "" {
			at, _ = proxy.ParseAddr(r.listen) // it was checked
		}
		p, err := proxy.Listen(proxy.Config{
			Pairs: []proxy.Pair{{Listen: at, Upstream: upstream}}, Log: rec.Log, Logger: logger,
			DialTimeout: time.Duration(r.config.dialTimeout), Drain: time.Second,
		})
		if err != nil {
			return nil, unbound(err)
		}
		began = true
		serving.Go(func() { _ = p.Serve(relaying) }) // it fails only where Listen did
		return p.Addrs()[0], nil
	}}
	report, err := play(ctx, plan, between)
	stop()
	serving.Wait()
	if !began {
		rec.discard()
		return report, err
	}
	if closing := rec.Close(); err == nil && closing != nil {
		err = failed("%w", closing)
	}
	if marked := rec.announce(); marked != nil {
		r.warn("%v", marked)
	}
	r.account(rec)
	return report, err
}

// asServer plays the management server.
func (r *replaying) asServer(ctx context.Context, plan *replay.Plan, between *relay) (*replay.Report, error) {
	at, _ := proxy.ParseAddr(r.listen) // it was checked
	if between != nil {
		at = proxy.Addr{Network: "tcp", Address: "127.0.0.1:0"}
	}
	l, err := at.Listen()
	if err != nil {
		return nil, unbound(&proxy.ListenError{Addr: at, Err: err})
	}
	shown := l.Addr()
	if between != nil {
		if shown, err = between.listen(proxy.Addr{Network: "tcp", Address: l.Addr().String()}); err != nil {
			return nil, withClose(err, l)
		}
	}
	fmt.Fprintf(r.stderr, "listening on %s, playing the server of %s\n", addressOf(shown), r.source)
	return replay.Serve(ctx, l, plan, r.options)
}

func withClose(err error, l net.Listener) error {
	_ = l.Close()
	return err
}

// asClient plays the clients.
func (r *replaying) asClient(ctx context.Context, plan *replay.Plan, between *relay) (*replay.Report, error) {
	to, _ := proxy.ParseAddr(r.target) // it was checked
	if between != nil {
		addr, err := between.listen(to)
		if err != nil {
			return nil, err
		}
		to = proxy.Addr{Network: "tcp", Address: addr.String()}
	}
	fmt.Fprintf(r.stderr, "asking %s, playing the clients of %s\n", r.target, r.source)
	report, err := replay.Play(ctx, func(ctx context.Context) (net.Conn, error) {
		d := net.Dialer{Timeout: time.Duration(r.config.dialTimeout)}
		return d.DialContext(ctx, to.Network, to.Address)
	}, plan, r.options)
	if err != nil && report != nil && report.Streams == 0 && ctx.Err() == nil {
		return nil, failed("nothing was played: %w", err).hint("check that the control plane runs and that --target names it")
	}
	return report, err
}
