package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// notOpened records why there is no connection, and lets the client go.
func (c *conn) notOpened(o *opening, err error) {
	if o.up != nil {
		reset(o.up)
	}
	var failure *TLSFailure
	var broken *brokenClient
	switch {
	case errors.Is(err, errStopped):
		reset(o.nc)
		c.disconnect(session.Proxy, errStopped.Error())
	case errors.Is(err, errGone):
		o.nc.Close()
		c.disconnect(session.Client, errGone.Error())
	case errors.As(err, &broken):
		reset(o.nc)
		c.disconnect(session.Client, brokenText(session.Client, broken))
	case errors.As(err, &failure):
		c.tlsFailed(failure)
		c.disconnect(failure.By, failure.Text)
		if o.sec.listen == nil {
			reset(o.nc)
			return
		}
		// What the client has to be told is on its way, in an alert.
		part(o.nc)
	default:
		reset(o.nc)
		c.dialFailed(o.pair.Upstream, err)
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

// dialFailed records why there is no upstream connection.
func (c *conn) dialFailed(upstream Addr, err error) {
	why := cause(err)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		why = errors.New("no answer in time")
	}
	text := fmt.Sprintf("cannot reach upstream %s: %v", upstream, why)
	c.logger.Warn("cannot reach upstream; the client was reset", zap.Stringer("upstream", upstream), zap.Error(why))
	c.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
		Code: session.NoteDialFailed, Text: text, Hint: "check that the management server runs and that --upstream names it",
	}})
	c.disconnect(session.Proxy, text)
}

// tlsFailed records why a leg cannot speak TLS.
func (c *conn) tlsFailed(f *TLSFailure) {
	c.logger.Warn(f.Text, zap.String("hint", f.Hint), zap.Uint64("conn", uint64(c.id)))
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
		c.tlsFailed(failure)
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
