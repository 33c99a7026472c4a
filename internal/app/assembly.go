// Package app is a proxy at work: the relay, its log, and those who tell others of
// what passes, assembled and closed in one order. It decodes and judges nothing
// itself, and draws no screen.
package app

import (
	"context"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/files"
	"github.com/xdsproxy/xdsproxy/internal/held"
	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/proxy"
	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui"
)

// Host is who starts a proxy: how it speaks with people, its settings, and its
// own log.
type Host struct {
	*console.Console
	Settings *settings.Settings
	Logger   *zap.Logger
}

// Sync brings to standard error what the log still has.
func (h *Host) Sync() { _ = h.Logger.Sync() }

// Assembly is a proxy at work: the relay, the log that it fills, and those who
// tell others of it. Who has one discards it, or closes it once Serve is over.
type Assembly struct {
	*Host
	Log    *Recording
	Proxy  *proxy.Proxy
	Routes []tui.Route
	views  *viewers
	ops    *operations
	dumps  *dumps
	held   *asking
	status *StatusServer
	files  *files.Watcher

	closeKeys func()
	late      <-chan time.Time // set by Close: when the rules are not waited for any more
}

// Design is what an assembly is made of.
type Design struct {
	Path  string        // of the recording; "" for a new one in the state directory
	Relay proxy.Config  // but for the log and what belongs to it
	Begin *session.Note // that the recording begins with, if there is one
	// Bound is called as soon as it is known where clients connect.
	Bound func([]net.Addr) error
	// Held are clients that can be asked what they hold, beside those that the
	// settings name.
	Held []held.Place
	// Alone says that nobody operates it: it is there for a moment.
	Alone bool
	// Archived says that the recording is uploaded where the settings say so.
	Archived bool
}

// Assemble starts the parts of a proxy, each after those that it needs. Nothing
// is left of them if one cannot be started.
func (h *Host) Assemble(d Design) (*Assembly, error) {
	closeKeys, err := settings.OpenKeyLogs(d.Relay.Pairs)
	if err != nil {
		return nil, err
	}
	to, err := h.archiveOptions(d.Archived)
	if err != nil {
		closeKeys()
		return nil, err
	}
	log, err := h.record(d.Path, to)
	if err != nil {
		closeKeys()
		return nil, err
	}
	s := &Assembly{Host: h, Log: log, closeKeys: closeKeys}
	if err := s.start(d); err != nil {
		s.Discard()
		return nil, err
	}
	return s, nil
}

func (s *Assembly) start(d Design) (err error) {
	if d.Begin != nil {
		s.Log.Append(session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: d.Begin})
	}
	if s.dumps, err = s.offerDumps(s.Log); err != nil {
		return err
	}
	d.Relay.Log, d.Relay.Buffers, d.Relay.Logger = s.Log.Log, &s.Log.Buffers, s.Logger
	if s.Proxy, err = proxy.Listen(d.Relay); err != nil {
		return Unbound(err)
	}
	if !proxy.CanTellVanished && d.Relay.Limits.KeepAlive > 0 {
		s.Logger.Debug("only Linux tells in time of a peer that vanishes with data on its way to it; here the system gives it up, after some 15 minutes")
	}
	s.Routes = routesOf(s.Proxy, d.Relay.Pairs)
	if d.Bound != nil {
		if err := d.Bound(s.Proxy.Addrs()); err != nil {
			return err
		}
	}
	if s.views, err = s.offerViews(s.Log, s.Routes); err != nil || d.Alone {
		return err
	}
	if s.held, err = s.askHeld(d.Held); err != nil {
		return err
	}
	if err = s.watchFiles(); err != nil {
		return err
	}
	if err = s.offerStatus(); err != nil {
		return err
	}
	s.ops, err = s.offerOperations(s.Log, s.Proxy, s.dumps, s.held)
	return err
}

// Announce says that the proxy is ready until ctx is done: to probes, to those who
// ask for the newest recording, and to people. listening says where.
func (s *Assembly) Announce(ctx context.Context, listening func()) (forget func() bool) {
	forget = s.ops.serving(ctx)
	if err := s.Log.Announce(); err != nil {
		s.Warn("%v", err)
	}
	listening()
	s.AnnounceFiles()
	s.announceViews(s.views)
	s.ops.announce(s.Console)
	s.status.Announce(s.Console)
	s.announceArchive()
	return forget
}

// Discard takes away what was started and of which nothing has come.
func (s *Assembly) Discard() {
	s.views.close(0)
	s.ops.close()
	s.status.close()
	s.dumps.close(context.Background(), 0)
	s.files.Close()
	s.held.close()
	if s.Proxy != nil {
		s.Proxy.Close()
	}
	s.Log.Discard()
	s.closeKeys()
}

// Close ends the recording once nothing passes any more, and lets viewers read it
// to its end, unless somebody is impatient.
func (s *Assembly) Close(impatient context.Context) error {
	s.files.Close()
	s.Log.files = s.files.Stats().Files
	s.held.close()
	err := s.Log.Close()
	grace := viewGrace
	if impatient.Err() != nil {
		grace = 0
	}
	s.late = time.After(judgeGrace)
	s.views.close(grace)
	s.ops.close()
	s.status.close()
	s.closeKeys()
	if err != nil {
		return console.Failed("%w", err)
	}
	return nil
}
