package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/heap"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/proxy"
)

func newRun(a *app) *cobra.Command {
	var path string
	cmd := a.command(&cobra.Command{
		Use:   "run --upstream ADDR [--listen ADDR] [-w FILE] [--headless]",
		Short: "Forward between clients and a control plane, and record it",
		Long: `Listens where clients connect, opens one connection to the control plane for
each of theirs, and forwards every byte both ways, unchanged and at once. What
passes is decoded and recorded; traffic never waits for the recording.

An address is host:port, [::1]:port, unix:/path or unix:@abstract. Both legs are
plaintext, unless --tls-cert or --tls-ca-dir switches TLS on towards clients, or
--upstream-tls towards the control plane. Files with certificates, keys and
headers are read again when they change. Several listeners that differ stand in
a configuration file: xdsproxy help configuration.

What lives is followed as long as it lives. What is over (streams that ended,
clients that left, versions that were replaced) is remembered in --memory-past,
which bounds the memory of a proxy that runs for months. When it is full, the
least recent is forgotten: rules that would need it are silent, never wrong.
xdsproxy info and /metrics say how often that happened; check on the recording
with a larger --memory-past judges it again.

On a terminal the screen of xdsproxy open shows what passes; it never holds it
up. If the terminal goes away, the proxy goes on until the last client has left.
--headless leaves the screen out.

SIGINT or SIGTERM stops it: messages on their way may finish for as long as
--drain says, the rules may look at what was recorded last for 2s more, and the
exit code is 0. What the rules had no time for is said. A second signal stops at
once. SIGHUP makes it say whether its configuration file has changed.`,
		Example: `# In front of Istio's plaintext port
xdsproxy run --upstream istiod.istio-system:15010

# Two control planes, each behind an address of its own
xdsproxy run --upstream a:18000 --upstream b:18000 \
             --listen 127.0.0.1:18001 --listen 127.0.0.1:18002

# With TLS to Istio, and for the clients with an authority of one's own
xdsproxy run --upstream istiod.istio-system:15012 \
             --upstream-ca root-cert.pem --tls-ca-dir ./debugging-ca

# In a script: the first line on standard error says that it is ready
xdsproxy run --headless --upstream unix:/run/cp.sock -w session.xdsp`,
	}, func(cmd *cobra.Command, args []string) error {
		if err := noArguments(cmd, args); err != nil {
			return err
		}
		return a.run(cmd.Context(), path)
	})
	a.useRunSettings(cmd)
	writeFlag(cmd, &path)
	return cmd
}

func writeFlag(cmd *cobra.Command, p *string) {
	f := cmd.Flags().VarPF(settings.NewText(p, "FILE"), "write", "w", "record to this file, which must not exist yet; else to a new one in the state directory")
	f.Annotations = map[string][]string{settings.GroupKey: {settings.GroupRecord}}
}

func (a *app) run(ctx context.Context, path string) error {
	pairs, err := a.config.Pairs(a.console())
	if err != nil {
		return err
	}
	watched := a.canDraw() && !bool(a.config.Headless)
	logger := a.logger(watched)
	defer func() { _ = logger.Sync() }()
	heap.CollectLess()
	closeLogs, err := settings.OpenKeyLogs(pairs)
	if err != nil {
		return err
	}
	defer closeLogs()
	rec, err := a.record(path, logger)
	if err != nil {
		return err
	}
	p, err := a.listen(pairs, rec, logger)
	if err != nil {
		return err
	}
	routes := routesOf(p, pairs)
	views, err := a.offerViews(rec, routes, logger)
	if err != nil {
		p.Close()
		rec.discard()
		return err
	}
	ops, err := a.offerOperations(rec, p, logger)
	if err != nil {
		views.close(0)
		p.Close()
		rec.discard()
		return err
	}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	defer ops.serving(serving)()
	if !watched {
		defer a.heedHangups(serving, stop, p, logger)()
	}
	if err := rec.announce(); err != nil {
		a.warn("%v", err)
	}
	for i, addr := range p.Addrs() {
		a.tell("listening on %s, upstream %s, recording %s", addressOf(addr), pairs[i].Target(), rec.place())
	}
	a.announceSecurity(pairs)
	a.announceViews(views, logger)
	ops.announce(a)

	again, done := secondSignal(func() { a.say("stopping; again to stop at once") })
	defer done()
	cut := context.AfterFunc(again, p.Close)
	defer cut()
	var looking sync.WaitGroup
	over := make(chan struct{})
	looking.Go(func() {
		defer close(over)
		if watched {
			var counting sync.WaitGroup
			counting.Go(func() { a.count(rec, ops, logger) })
			a.attended(serving, stop, rec, p, routes, logger)
			counting.Wait()
		} else {
			a.oversee(rec, 0, ops, logger)
		}
	})
	err = p.Serve(serving)
	if closing := rec.Close(); err == nil && closing != nil {
		err = failed("%w", closing)
	}
	grace := viewGrace
	if again.Err() != nil {
		grace = 0
	}
	late := time.After(judgeGrace)
	views.close(grace)
	ops.close()
	a.awaitJudged(again, over, late, rec)
	a.account(rec)
	if err == nil && again.Err() != nil {
		err = context.Canceled
	}
	return err
}

// listen binds the listeners of a proxy that records into rec, as the settings
// say. If it cannot, the recording is discarded.
func (a *app) listen(pairs []proxy.Pair, rec *recording, logger *zap.Logger) (*proxy.Proxy, error) {
	p, err := proxy.Listen(proxy.Config{
		Pairs: pairs, Log: rec.Log, Buffers: &rec.buffers, Logger: logger,
		DialTimeout: time.Duration(a.config.DialTimeout), Drain: time.Duration(a.config.Drain),
		TapMemory: int64(a.config.TapMemory),
		Limits: proxy.Limits{
			MaxConnections: int(a.config.MaxConnections), MaxStreams: int(a.config.MaxStreams),
			KeepAlive: time.Duration(a.config.Keepalive),
		},
	})
	if err != nil {
		rec.discard()
		return nil, unbound(err)
	}
	return p, nil
}

func unbound(err error) error {
	f := failed("%w", err).Adding(err)
	var at *proxy.ListenError
	if !errors.As(err, &at) {
		return f
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && at.Addr.Network == "tcp":
		host, _, _ := net.SplitHostPort(at.Addr.Address)
		f.Hint("another program listens there; choose another port with --listen, or let --listen %s find a free one", net.JoinHostPort(host, "0"))
	case errors.Is(err, syscall.EADDRINUSE):
		f.Hint("another program listens there; choose another path with --listen")
	case errors.Is(err, syscall.EACCES):
		f.Hint("choose a port above 1023, or a directory that you may write to, with --listen")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		f.Hint("--listen must name an address of this machine")
	}
	return f
}

// addressOf writes a bound address as --listen reads it.
func addressOf(addr net.Addr) string {
	return proxy.Addr{Network: addr.Network(), Address: addr.String()}.String()
}

// secondSignal returns a context that a second SIGINT or SIGTERM cancels, and
// calls first at the first one. done ends that, without cancelling.
func secondSignal(first func()) (again context.Context, done func()) {
	again, cancel := context.WithCancel(context.Background())
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-signals:
			}
			if n == 1 {
				cancel()
				return
			}
			first()
		}
	})
	return again, func() {
		signal.Stop(signals)
		close(over)
		watcher.Wait()
		cancel()
	}
}
