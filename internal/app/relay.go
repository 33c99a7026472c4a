package app

import (
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/proxy"
)

// Unbound gives an error of listening its hint.
func Unbound(err error) error {
	f := console.Failed("%w", err).Adding(err)
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

// RelayOf is how a proxy forwards, as the settings say.
func (h *Host) RelayOf(pairs []proxy.Pair) proxy.Config {
	c := &h.Settings.Values
	return proxy.Config{
		Pairs:       pairs,
		DialTimeout: time.Duration(c.DialTimeout), Drain: time.Duration(c.Drain),
		TapMemory: int64(c.TapMemory),
		Limits: proxy.Limits{
			MaxConnections: int(c.MaxConnections), MaxStreams: int(c.MaxStreams),
			KeepAlive: time.Duration(c.Keepalive),
		},
	}
}
