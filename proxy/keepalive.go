package proxy

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// silence is Limits.KeepAlive where it is 0.
	silence = 30 * time.Second
	// unanswered is how often a silent peer's system is asked before the peer
	// is given up.
	unanswered = 3
)

// keepAlive is how both legs ask a silent peer's system whether it is there.
//
// The system asks only while nothing waits to be acknowledged. A peer that
// vanishes with data on its way to it is noticed by vanished instead, after as
// long. TCP_USER_TIMEOUT would be less work, but Linux lets it end a connection
// whose peer is there and answers, only with a window of zero: a slow reader.
func (p *Proxy) keepAlive() net.KeepAliveConfig {
	d := p.cfg.Limits.KeepAlive
	return net.KeepAliveConfig{Enable: d > 0, Idle: d, Interval: d, Count: unanswered}
}

// setKeepAlive tells the system about a connection that was accepted.
func (p *Proxy) setKeepAlive(nc net.Conn) {
	if t, ok := nc.(*net.TCPConn); ok {
		t.SetKeepAliveConfig(p.keepAlive())
	}
}

// dialer dials an upstream.
func (p *Proxy) dialer() *net.Dialer {
	return &net.Dialer{Timeout: p.cfg.DialTimeout, KeepAlive: -1, KeepAliveConfig: p.keepAlive()}
}

// patience is how long a peer may leave unacknowledged what was sent to it.
func (p *Proxy) patience() time.Duration { return (1 + unanswered) * p.cfg.Limits.KeepAlive }

// endVanished ends the connections whose peer has acknowledged nothing of what
// was sent to it, neither data nor questions, for as long as patience says. Of one that
// has reset its connection that is true, too.
func (p *Proxy) endVanished(now time.Time) {
	p.mu.Lock()
	open := slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	for _, c := range open {
		for _, side := range []session.Side{session.Client, session.Server} {
			if c.pulse(side).vanished(now, p.patience()) {
				c.end(side, fmt.Sprintf("the %s is gone: it has acknowledged nothing for %s", side, p.patience()))
				c.abort()
			}
		}
	}
}
