package main

import (
	"context"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/tui"
)

// host is who starts a proxy: how it speaks with people, its settings, and its
// own log.
type host struct {
	*console.Console
	settings *settings.Settings
	logger   *zap.Logger
}

// sync brings to standard error what the log still has.
func (h *host) sync() { _ = h.logger.Sync() }

// assembly is a proxy at work: the relay, the log that it fills, and those who
// tell others of it. Who has one discards it, or closes it once Serve is over.
type assembly struct {
	*host
	log    *recording
	proxy  *proxy.Proxy
	routes []tui.Route
	views  *viewers
	ops    *operations

	closeKeys func()
	late      <-chan time.Time // set by close: when the rules are not waited for any more
}

// design is what an assembly is made of.
type design struct {
	path  string        // of the recording; "" for a new one in the state directory
	relay proxy.Config  // but for the log and what belongs to it
	begin *session.Note // that the recording begins with, if there is one
	// bound is called as soon as it is known where clients connect.
	bound func([]net.Addr) error
	// alone says that nobody operates it: it is there for a moment.
	alone bool
}

// assemble starts the parts of a proxy, each after those that it needs. Nothing
// is left of them if one cannot be started.
func (h *host) assemble(d design) (*assembly, error) {
	closeKeys, err := settings.OpenKeyLogs(d.relay.Pairs)
	if err != nil {
		return nil, err
	}
	log, err := h.record(d.path)
	if err != nil {
		closeKeys()
		return nil, err
	}
	s := &assembly{host: h, log: log, closeKeys: closeKeys}
	if err := s.start(d); err != nil {
		s.discard()
		return nil, err
	}
	return s, nil
}

func (s *assembly) start(d design) (err error) {
	if d.begin != nil {
		s.log.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: d.begin})
	}
	d.relay.Log, d.relay.Buffers, d.relay.Logger = s.log.Log, &s.log.buffers, s.logger
	if s.proxy, err = proxy.Listen(d.relay); err != nil {
		return unbound(err)
	}
	s.routes = routesOf(s.proxy, d.relay.Pairs)
	if d.bound != nil {
		if err := d.bound(s.proxy.Addrs()); err != nil {
			return err
		}
	}
	if s.views, err = s.offerViews(s.log, s.routes); err != nil || d.alone {
		return err
	}
	s.ops, err = s.offerOperations(s.log, s.proxy)
	return err
}

// announce says that the proxy is ready until ctx is done: to probes, to those who
// ask for the newest recording, and to people. listening says where.
func (s *assembly) announce(ctx context.Context, listening func()) (forget func() bool) {
	forget = s.ops.serving(ctx)
	if err := s.log.announce(); err != nil {
		s.Warn("%v", err)
	}
	listening()
	s.announceViews(s.views)
	s.ops.announce(s.Console)
	return forget
}

// discard takes away what was started and of which nothing has come.
func (s *assembly) discard() {
	s.views.close(0)
	s.ops.close()
	if s.proxy != nil {
		s.proxy.Close()
	}
	s.log.discard()
	s.closeKeys()
}

// close ends the recording once nothing passes any more, and lets viewers read it
// to its end, unless somebody is impatient.
func (s *assembly) close(impatient context.Context) error {
	err := s.log.Close()
	grace := viewGrace
	if impatient.Err() != nil {
		grace = 0
	}
	s.late = time.After(judgeGrace)
	s.views.close(grace)
	s.ops.close()
	s.closeKeys()
	if err != nil {
		return console.Failed("%w", err)
	}
	return nil
}
