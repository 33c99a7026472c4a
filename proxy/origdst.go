package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/session"
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
		p.warn("a client of --upstream original-dst was not redirected, and was reset", zap.String("listen", on), zap.Error(why), zap.Int("more", more), zap.String("hint", redirectFirst))
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
