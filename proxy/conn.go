package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/wire"
)

// conn is one connection of a client and the one that was dialled for it.
type conn struct {
	id   session.ConnID
	log  Log
	pool *buffers
	tap  *wire.Tap

	client, server leg

	lastSeq  atomic.Uint64 // the newest entry of this connection
	draining atomic.Bool
	deadline time.Time // of the drain; valid once draining

	mu    sync.Mutex
	ended *ending // the first cause
}

// ending is why a connection is over.
type ending struct {
	by     session.Side
	reason string
}

// serve runs one connection from accept to close.
func (p *Proxy) serve(ctx context.Context, nc net.Conn, listen net.Addr, pair Pair) {
	c := &conn{id: session.ConnID(p.conns.Add(1)), log: p.cfg.Log, pool: &p.pool}
	peer := &session.Peer{
		Client: addrString(nc.RemoteAddr()), Listen: addrString(listen), Upstream: pair.Upstream.String(),
	}
	accepted := time.Now()
	dialer := net.Dialer{Timeout: p.cfg.DialTimeout}
	up, err := dialer.DialContext(ctx, pair.Upstream.Network, pair.Upstream.Address)
	if err == nil {
		peer.Local = addrString(up.LocalAddr())
	}
	c.Append(session.Entry{Time: accepted, Side: session.Client, Kind: session.KindConnect, Peer: peer})
	if err != nil {
		reset(nc)
		c.dialFailed(p.cfg.Logger, pair.Upstream, err)
		return
	}
	if err := c.connect(nc.(halfCloser), up.(halfCloser)); err != nil {
		reset(nc)
		reset(up)
		c.disconnect(session.Proxy, err.Error())
		return
	}
	c.tap = wire.NewTap(wire.Config{
		Conn: c.id, Sink: c, Memory: p.memory,
		NewStream: func() session.StreamID { return session.StreamID(p.streams.Add(1)) },
	})
	p.add(c)
	defer p.remove(c)
	c.run()
}

func (c *conn) connect(client, server halfCloser) (err error) {
	if c.client, err = newSocket(client, c.pool); err != nil {
		return err
	}
	c.server, err = newSocket(server, c.pool)
	return err
}

// dialFailed records why there is no upstream connection.
func (c *conn) dialFailed(logger *zap.Logger, upstream Addr, err error) {
	why := cause(err)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		why = errors.New("no answer in time")
	}
	text := fmt.Sprintf("cannot reach upstream %s: %v", upstream, why)
	logger.Warn("cannot reach upstream; the client was reset", zap.Stringer("upstream", upstream), zap.Error(why))
	c.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
		Code: session.NoteDialFailed, Text: text, Hint: "check that the management server runs and that --upstream names it",
	}})
	c.disconnect(session.Proxy, text)
}

// run pumps both directions and returns when neither has anything left to do.
func (c *conn) run() {
	var other sync.WaitGroup
	other.Go(func() { c.pump(session.Server, c.server, c.client) })
	c.pump(session.Client, c.client, c.server)
	other.Wait()
	c.client.Close()
	c.server.Close()
	end := c.ended
	c.tap.End(end.by, time.Now(), end.reason)
	c.disconnect(end.by, end.reason)
}

// pump moves what one side sends until that is over.
func (c *conn) pump(from session.Side, src, dst leg) {
	aligned := true // between two messages: nothing would be cut here
	for {
		buf, n, err := src.read()
		if n > 0 {
			boundary := c.tap.Feed(from, time.Now(), buf[:n])
			aligned = boundary == n
			last := c.draining.Load() && boundary >= 0
			if !last {
				boundary = n
			}
			written, werr := dst.Write(buf[:boundary])
			c.pool.put(buf)
			if werr != nil {
				c.writeFailed(from, boundary-written, werr)
				return
			}
			if last {
				c.end(session.Proxy, "the proxy was stopped")
				dst.CloseWrite()
				return
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			c.end(from, fmt.Sprintf("the %s closed the connection", from))
			dst.CloseWrite()
			return
		case isTimeout(err) && c.draining.Load():
			if aligned || !time.Now().Before(c.deadline) {
				c.end(session.Proxy, "the proxy was stopped")
				dst.CloseWrite()
				return
			}
			src.SetReadDeadline(c.deadline)
		default:
			c.end(from, fmt.Sprintf("the %s's connection broke: %v", from, cause(err)))
			c.abort()
			return
		}
	}
}

// writeFailed ends the pair after what one side sent could not be written on.
func (c *conn) writeFailed(from session.Side, undelivered int, err error) {
	to := from.Opposite()
	by, reason := to, fmt.Sprintf("the %s's connection broke: %v", to, cause(err))
	if c.draining.Load() && isTimeout(err) {
		by, reason = session.Proxy, "the proxy was stopped"
	}
	c.end(by, reason)
	if undelivered > 0 {
		c.Append(session.Entry{Side: to, Kind: session.KindNote, Note: &session.Note{
			Code: session.NoteUndelivered,
			Text: fmt.Sprintf("%d bytes of the %s, up to entry %d, could not be written to the %s: %v", undelivered, from, c.lastSeq.Load(), to, cause(err)),
		}})
	}
	c.abort()
}

// end notes why the connection is over, if nothing else has before.
func (c *conn) end(by session.Side, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = &ending{by, reason}
	}
}

// abort resets both legs; the pumps return.
func (c *conn) abort() {
	c.end(session.Proxy, "the proxy was stopped")
	c.client.reset()
	c.server.reset()
}

// drain makes each direction end at its next message boundary, or at the
// deadline.
func (c *conn) drain(deadline time.Time) {
	c.deadline = deadline
	c.draining.Store(true)
	for _, l := range []leg{c.client, c.server} {
		l.SetWriteDeadline(deadline)
		l.SetReadDeadline(time.Unix(1, 0)) // wakes a pump that waits
	}
}

// Append adds an entry of this connection to the log.
func (c *conn) Append(e session.Entry) session.Seq {
	e.Conn = c.id
	seq := c.log.Append(e)
	c.lastSeq.Store(uint64(seq))
	return seq
}

func (c *conn) disconnect(by session.Side, reason string) {
	c.Append(session.Entry{Side: by, Kind: session.KindDisconnect, Status: &session.Status{Code: -1, Message: reason}})
}

// isTimeout reports whether a deadline of ours has passed.
func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// addrString writes an address as ParseAddr reads it. The far end of a unix
// socket has no name.
func addrString(a net.Addr) string {
	if a.Network() != "unix" {
		return a.String()
	}
	return "unix:" + a.String()
}
