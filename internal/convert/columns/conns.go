package columns

import (
	"cmp"
	"maps"
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// maxConns bounds the open connections that are followed, and lateConns those
	// that were closed a short while ago.
	maxConns  = 1 << 17
	lateConns = 4096
)

// conns are the connections that are open.
type conns struct {
	open   map[session.ConnID]*connectionRow
	late   recent.Map[session.ConnID, bool]
	untold uint64
}

func newConns() conns { return conns{open: make(map[session.ConnID]*connectionRow)} }

// step takes an entry, and returns the connection that it closes.
func (s *conns) step(e *session.Entry, c *check.Change) *connectionRow {
	if e.Conn == 0 {
		return nil
	}
	r := s.open[e.Conn]
	if r == nil {
		if _, late := s.late.Get(e.Conn); late {
			return nil
		}
		if len(s.open) >= maxConns {
			if e.Kind == session.KindConnect {
				s.untold++
			}
			return nil
		}
		r = &connectionRow{Conn: int64(e.Conn)}
		s.open[e.Conn] = r
	}
	if c.Client != "" && (text(c.Client) != r.Client || c.Node != nil) {
		r.who = whoOf(&c.Change)
	}
	switch e.Kind {
	case session.KindConnect:
		r.Seq, r.Opened = int64(e.Seq), micros(e.Time)
		r.peer(e.Peer)
	case session.KindOpen:
		r.Streams++
	case session.KindMessage:
		if e.Message == nil {
			break
		}
		r.Messages++
		switch e.Side {
		case session.Client:
			r.ClientBytes += e.Message.WireSize
		case session.Server:
			r.ServerBytes += e.Message.WireSize
		}
	case session.KindDisconnect:
		r.EndSeq, r.Closed = int64(e.Seq), micros(e.Time)
		if r.ClosedBy = ""; e.Side != session.SideUnknown {
			r.ClosedBy = e.Side.String()
		}
		if e.Status != nil {
			r.Reason = text(e.Status.Message)
		}
		delete(s.open, e.Conn)
		s.late.Put(e.Conn, true, 1, lateConns)
		return r
	}
	return nil
}

func (r *connectionRow) peer(p *session.Peer) {
	if p == nil {
		return
	}
	r.ClientAddress, r.ListenAddress, r.LocalAddress, r.UpstreamAddress = text(p.Client), text(p.Listen), text(p.Local), text(p.Upstream)
	if t := p.ClientTLS; t != nil {
		r.ClientTLSVersion, r.ClientTLSALPN, r.ClientTLSServerName = text(t.Version), text(t.ALPN), text(t.ServerName)
		r.ClientTLSIdentities, r.ClientTLSIssuer, r.ClientTLSNotAfter = texts(t.Identities), text(t.Issuer), micros(t.NotAfter)
		r.ClientTLSVerified = ptr(t.Verified)
	}
	if t := p.ServerTLS; t != nil {
		r.ServerTLSVersion, r.ServerTLSALPN, r.ServerTLSServerName = text(t.Version), text(t.ALPN), text(t.ServerName)
		r.ServerTLSIdentities, r.ServerTLSIssuer, r.ServerTLSNotAfter = texts(t.Identities), text(t.Issuer), micros(t.NotAfter)
		r.ServerTLSVerified = ptr(t.Verified)
	}
}

// connection is the row of a connection.
func (x *export) connection(r *connectionRow) connectionRow {
	out := *r
	out.Proxy, out.Recording = text(x.of.Proxy), text(x.of.Name)
	return out
}

// stillOpen are the rows of those that are open, by their numbers.
func (x *export) stillOpen() ([]connectionRow, error) {
	if err := x.closedElsewhere(); err != nil {
		return nil, err
	}
	var out []connectionRow
	for _, id := range slices.SortedFunc(maps.Keys(x.conns.open), cmp.Compare) {
		r := x.connection(x.conns.open[id])
		r.AsOf = ptr(microsOf(x.at))
		out = append(out, r)
	}
	return out, nil
}
