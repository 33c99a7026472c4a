package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/session"
)

// notOpened records why there is no connection, and lets the client go.
func (p *Proxy) notOpened(c *conn, o *opening, connect session.Entry, err error) {
	if o.up != nil {
		reset(o.up)
	}
	var failure *TLSFailure
	var broken *brokenClient
	// A handshake that failed by itself is told of, also when all stops.
	stopped := o.ctx.Err() != nil && (errors.Is(err, context.Canceled) || !errors.As(err, &failure))
	switch {
	case stopped:
		reset(o.nc)
		c.Append(connect)
		c.disconnect(session.Proxy, errStopped.Error())
	case errors.Is(err, errGone):
		o.nc.Close()
		c.Append(connect)
		c.disconnect(session.Client, errGone.Error())
	case errors.As(err, &broken):
		reset(o.nc)
		c.Append(connect)
		c.disconnect(session.Client, brokenText(session.Client, broken))
	case errors.As(err, &failure):
		p.tlsFailed(c, connect, failure)
		if o.sec.listen == nil {
			reset(o.nc)
			return
		}
		// What the client has to be told is on its way, in an alert.
		part(o.nc)
	default:
		reset(o.nc)
		p.dialFailed(c, connect, err)
	}
}

// part closes so that the peer can read what was written, where a reset would
// throw it away.
func part(nc net.Conn) {
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(partTime))
	if h, ok := nc.(halfCloser); !ok || h.CloseWrite() != nil {
		return
	}
	io.Copy(io.Discard, nc)
}

// tlsFailed records why a connection came to nothing. As with dialFailed, only
// the first of many that fail in one way has entries of its own.
func (p *Proxy) tlsFailed(c *conn, connect session.Entry, f *TLSFailure) {
	where := connect.Peer.Upstream
	if f.Side == session.Client {
		where = connect.Peer.Listen
	}
	p.bursts.tell(trouble{session.NoteTLSFailed, where, string(f.Kind)}, func(more int, since time.Duration) {
		p.warn(f.Text, others(more), zap.String("hint", f.Hint))
		if more > 0 {
			p.note(session.NoteTLSFailed, fmt.Sprintf("%d more clients met the same within %s, the last: %s", more, since, f.Text), f.Hint)
			return
		}
		c.Append(connect)
		c.note(f)
		c.disconnect(f.By, f.Text)
	})
}

// note records why a leg cannot speak TLS.
func (c *conn) note(f *TLSFailure) {
	c.Append(session.Entry{Side: f.Side, Kind: session.KindNote, Note: &session.Note{
		Code: session.NoteTLSFailed, Text: f.Text, Hint: f.Hint,
	}})
}

// broke records that one side's connection broke off.
func (c *conn) broke(side session.Side, err error) {
	facts, secure := c.explain[side]
	if _, alerted := alertOf(err); !secure || !alerted {
		c.end(side, brokenText(side, err))
		return
	}
	f := ExplainClient
	if side == session.Server {
		f = ExplainUpstream
	}
	failure := f(err, facts)
	if c.end(side, failure.Text) {
		c.note(failure)
		c.warn(failure.Text, zap.String("hint", failure.Hint))
	}
}

func brokenText(side session.Side, err error) string {
	return fmt.Sprintf("the %s's connection broke: %v", side, cause(err))
}

func closedText(side session.Side, err error) string {
	text := fmt.Sprintf("the %s closed the connection", side)
	if errors.Is(err, errTruncated) {
		text += " without close_notify"
	}
	return text
}

// verdict is why a write to one side failed: what that side has said about it,
// if it speaks TLS and did.
func (c *conn) verdict(side session.Side, err error) error {
	l := c.client
	if side == session.Server {
		l = c.server
	}
	if t, ok := l.(*tlsLeg); ok {
		if said := t.verdict(); said != nil {
			return said
		}
	}
	return err
}
