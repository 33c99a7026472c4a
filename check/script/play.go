package script

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// play makes the entries of all lines.
func (p *player) play(lines []*line) error {
	for _, l := range lines {
		p.line = l
		act, cost, err := l.kind.read(p, l) // cost is about how many bytes it makes beyond its own length
		if err != nil {
			return err
		}
		if p.bytes += (cost + int64(len(l.text))) * int64(l.times); p.bytes > maxBytes {
			return l.fail(0, "the messages of the script are more than %d MiB", maxBytes>>20)
		}
		for range l.times {
			if p.now += int64(l.wait); p.now > int64(maxTime) {
				return l.fail(0, "the script lasts longer than %d years", maxTime/maxWait)
			}
			if err := act(); err != nil {
				return err
			}
			if len(p.events) > maxEntries {
				return l.fail(0, "the script has more than %d entries", maxEntries)
			}
		}
	}
	return nil
}

const maxTime = 100 * maxWait

// action makes the entries of a line once.
type action func() error

// add appends an entry at the present time.
func (p *player) add(e session.Entry, body func() []byte) {
	e.Time = start.Add(time.Duration(p.now))
	p.events = append(p.events, event{entry: e, body: body, line: p.line.no})
}

// on is an entry of a stream.
func (s *stream) on(side session.Side, k session.Kind) session.Entry {
	return session.Entry{Conn: s.conn.id, Stream: s.id, H2: s.h2, Side: side, Kind: k}
}

// connect gives a stream its connection.
func (p *player) connect(s *stream) *conn {
	if s.conn != nil {
		return s.conn
	}
	if s.shares != nil {
		s.conn = p.connect(s.shares)
		return s.conn
	}
	p.nconn++
	c := &conn{id: p.nconn, h2: 1, peer: p.peerOf(s, p.nconn)}
	s.conn = c
	p.add(session.Entry{Conn: c.id, Side: session.Client, Kind: session.KindConnect, Peer: c.peer}, nil)
	return c
}

// The addresses are of the network for benchmarks (RFC 2544), which no recording
// comes from.
const (
	listenAddr   = "198.19.0.1:15010"
	upstreamAddr = "198.19.0.2:18000"
	localHost    = "198.19.0.1"
)

// peerOf is where a connection of the stream's client comes from.
func (p *player) peerOf(s *stream, id session.ConnID) *session.Peer {
	port := fmt.Sprint(40_000 + uint64(id)%20_000)
	peer := &session.Peer{Listen: listenAddr, Upstream: upstreamAddr, Local: net.JoinHostPort(localHost, port)}
	if s.from == nil {
		peer.Client = net.JoinHostPort(p.host(s.node), port)
	} else if peer.Client = *s.from; isHost(peer.Client) {
		peer.Client = net.JoinHostPort(peer.Client, port)
	}
	if s.server != "" {
		peer.Upstream = s.server
	}
	return peer
}

// isHost says whether an address lacks nothing but a port.
func isHost(addr string) bool {
	_, _, err := net.SplitHostPort(addr)
	return err != nil && addr != "" && !strings.HasPrefix(addr, "unix:") && !strings.HasPrefix(addr, "@") && !strings.Contains(addr, "/")
}

// host is the address of a node.
func (p *player) host(node string) string {
	if node == "" {
		node = "n1"
	}
	n, ok := p.hosts[node]
	if !ok {
		n = len(p.hosts) + 1
		p.hosts[node] = n
	}
	return fmt.Sprintf("198.18.%d.%d", n>>8&0xff, n&0xff)
}

// openGRPC opens a stream, if it is not open yet.
func (p *player) openGRPC(s *stream) {
	if s.opened {
		return
	}
	s.opened = true
	c := p.connect(s)
	p.nstr++
	s.id, s.h2 = p.nstr, c.h2
	c.h2 += 2
	if s.method.Path == "" {
		s.method, _ = xds.MethodNamed(paths[s.shape])
	}
	e := s.on(session.Client, session.KindOpen)
	e.Method = s.method.Path
	e.Headers = grpcHeaders(s.method.Path, s.userAgent())
	p.add(e, nil)
}

func (s *stream) userAgent() string {
	if s.ua == "" {
		return defaultUserAgent
	}
	return s.ua
}

// headers are those of the server, before its first message.
func (p *player) headers(s *stream) {
	if s.headed {
		return
	}
	s.headed = true
	e := s.on(session.Server, session.KindHeader)
	e.Headers = serverHeaders()
	p.add(e, nil)
}

// alive fails on a stream that has ended, unless the line names it.
func (s *stream) alive(l *line) error {
	if s.ended && l.label == "" {
		e := l.fail(l.at, "%s has ended", s.describe()).hint("-- stream N opens another one")
		if s.label != "" {
			e = e.hint("-- stream N opens another one; @%s before this line says that it crossed the end", s.label)
		}
		return e
	}
	return nil
}

// send is the action of a line with a message of gRPC.
func (p *player) send(l *line, side session.Side, body func() []byte) action {
	s := l.stream
	return func() error {
		if err := s.alive(l); err != nil {
			return err
		}
		p.openGRPC(s)
		if side == session.Server {
			p.headers(s)
		}
		p.add(s.on(side, session.KindMessage), body)
		return nil
	}
}
