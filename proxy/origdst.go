package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/session"
)

// OriginalDst is how the upstream of a Pair with OriginalDst is written.
const OriginalDst = "original-dst"

var (
	errNoOriginalDst = errors.New("only Linux tells where a redirected connection was going")
	errNotRedirected = errors.New("it connected to this address itself, no rule of the firewall redirected it")
	errComesBack     = errors.New("the proxy's own connection was redirected back to it")
)

const (
	redirectFirst = "redirect clients with iptables -t nat ... -j REDIRECT --to-ports PORT, or let --upstream name the management server"
	exemptProxy   = "exempt the proxy's own connections from the rule that redirects: -m owner ! --uid-owner USER, and run it as that user"
)

// Target is where the connections of the pair go, as people write it: an
// address, or OriginalDst as long as it is not known.
func (p Pair) Target() string {
	if p.OriginalDst && p.Upstream == (Addr{}) {
		return OriginalDst
	}
	return p.Upstream.String()
}

// check says whether the pair can work on this system.
func (p Pair) check() error {
	switch {
	case !p.OriginalDst:
	case !canOriginalDst:
		return errNoOriginalDst
	case p.Listen.Network != "tcp":
		return errors.New("connections on a unix socket cannot have been redirected")
	}
	return nil
}

// resolve finds the upstream of an accepted connection. The pair is changed to
// have that one alone.
func (p *Pair) resolve(nc net.Conn) error {
	if !p.OriginalDst {
		return nil
	}
	to, err := originalDst(nc)
	if err != nil {
		return err
	}
	// A connection that nobody redirected was going where it is.
	if here, is := nc.LocalAddr().(*net.TCPAddr); is && bare(to) == bare(here.AddrPort()) {
		return errNotRedirected
	}
	p.Upstream = Addr{"tcp", to.String()}
	return nil
}

// bare is an address as both families write it, without a zone.
func bare(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// unresolved records that a client has no upstream, because nobody knows where
// it was going.
func (p *Proxy) unresolved(c *conn, connect session.Entry, err error) {
	on, why := connect.Peer.Listen, cause(err)
	p.bursts.tell(trouble{session.NoteNotRedirected, on, why.Error()}, func(more int, since time.Duration) {
		p.warn("a client of --upstream original-dst was not redirected, and was reset", zap.String("listen", on), zap.Error(why), others(more), zap.String("hint", redirectFirst))
		if more > 0 {
			p.note(session.NoteNotRedirected, fmt.Sprintf("cannot tell where %d more clients of %s were going within %s: %v", more, on, since, why), redirectFirst)
			return
		}
		text := fmt.Sprintf("cannot tell where the client %s of %s was going: %v", connect.Peer.Client, on, why)
		c.Append(connect)
		c.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
			Code: session.NoteNotRedirected, Text: text, Hint: redirectFirst,
		}})
		c.disconnect(session.Proxy, text)
	})
}

// goOn prepares a dialler for the upstream that a redirected client was going
// to, and notes the port that it will dial from until forget is called: so that
// isOwn can tell, the port is bound before anything can be redirected.
func (p *Proxy) goOn(d *net.Dialer, to string) (forget func()) {
	var noted []route
	forget = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, r := range noted {
			delete(p.dials, r)
		}
	}
	d.Control = func(network, _ string, raw syscall.RawConn) error {
		port, err := bindAny(network, raw)
		if err != nil {
			return err
		}
		r := fromPort(port, to)
		noted = append(noted, r)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.dials[r] = struct{}{}
		return nil
	}
	return forget
}

// fromPort is the route of a leg of which only the port is known yet.
func fromPort(port int, to string) route { return route{":" + strconv.Itoa(port), to} }

// isOwn says whether a client that was going to an address is an upstream leg of
// ours. A client on another machine may have the same port.
func (p *Proxy) isOwn(client net.Conn, to string) bool {
	from, is := client.RemoteAddr().(*net.TCPAddr)
	if !is {
		return false
	}
	p.mu.Lock()
	_, ours := p.dials[fromPort(from.Port, to)]
	p.mu.Unlock()
	if !ours {
		return false
	}
	local, err := net.InterfaceAddrs()
	return err != nil || from.IP.IsLoopback() || slices.ContainsFunc(local, func(a net.Addr) bool {
		n, is := a.(*net.IPNet)
		return is && n.IP.Equal(from.IP)
	})
}
