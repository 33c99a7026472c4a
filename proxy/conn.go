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

	"github.com/xdsproxy/xdsproxy/internal/wire"
	"github.com/xdsproxy/xdsproxy/proxy/rewrite"
	"github.com/xdsproxy/xdsproxy/session"
)

// conn is one connection of a client and the one that was dialled for it.
type conn struct {
	id   session.ConnID
	log  Log
	warn func(text string, fields ...zap.Field)
	pool *buffers
	tap  *wire.Tap

	rewriter *rewrite.Rewriter // of what the client sends; nil: it stays as it is

	client, server leg
	explain        map[session.Side]Facts // of the legs that speak TLS; nil if none does

	lastSeq  atomic.Uint64 // the newest entry of this connection
	draining atomic.Bool
	deadline time.Time // of the drain; valid once draining
	drained  atomic.Bool
	late     atomic.Int64 // bytes that came after that

	clientBusy, serverBusy atomic.Bool   // see busy
	deaf                   atomic.Bool   // one side takes nothing any more
	clientOver, serverOver chan struct{} // closed when nothing more is passed on of what it sends

	clientPulse, serverPulse pulse

	mu    sync.Mutex
	ended *ending // the first cause
}

// ending is why a connection is over.
type ending struct {
	by     session.Side
	reason string
}

// partTime bounds how long a pair whose drain is done waits for its peers to
// close.
const partTime = time.Second

// past is a deadline that makes a read return at once.
var past = time.Unix(1, 0)

// serve opens a connection that was accepted, and lets it run on a goroutine of
// its own: opening has made the stack of this one large.
func (p *Proxy) serve(ctx context.Context, nc net.Conn, listen net.Addr, pair Pair, sec security) {
	run := p.opened(ctx, nc, listen, pair, sec)
	if run == nil {
		p.leave()
		return
	}
	p.wg.Go(func() {
		defer p.leave()
		run()
	})
}

// opened brings about a connection and returns what runs it until it is closed,
// or nil if there is none.
func (p *Proxy) opened(ctx context.Context, nc net.Conn, listen net.Addr, pair Pair, sec security) (run func()) {
	c := &conn{
		id: session.ConnID(p.conns.Add(1)), log: p.cfg.Log, warn: p.warn, pool: &p.pool,
		clientOver: make(chan struct{}), serverOver: make(chan struct{}),
	}
	accepted := time.Now()
	unresolved := pair.resolve(nc)
	o := &opening{
		p: p, pair: pair, sec: sec, ctx: ctx, nc: nc, forget: func() {},
		peer: &session.Peer{
			Client: addrString(nc.RemoteAddr()), Listen: addrString(listen), Upstream: pair.Target(),
		},
	}
	connect := session.Entry{Time: accepted, Side: session.Client, Kind: session.KindConnect, Peer: o.peer}
	if unresolved != nil {
		reset(nc)
		p.unresolved(c, connect, unresolved)
		return nil
	}
	p.setKeepAlive(nc)
	err := o.open()
	if err != nil {
		p.notOpened(c, o, connect, err)
		o.forget()
		return nil
	}
	c.Append(connect)
	if o.odd != nil {
		c.Append(session.Entry{Side: session.Server, Kind: session.KindNote, Note: o.odd})
	}
	c.client, c.server, c.explain = o.client, o.server, o.explain
	tapped := wire.Config{
		Conn: c.id, Sink: c, Memory: p.memory, Buffers: p.cfg.Buffers, Open: &p.followed,
		NewStream: p.NewStream,
	}
	if pair.Rewrite != nil {
		c.rewriter = p.rewrites[pair.Rewrite].Rewriter()
		tapped.Sent = c.rewriter.Sent
	}
	c.tap = wire.NewTap(tapped)
	c.clientPulse, c.serverPulse = newPulse(nc), newPulse(o.up)
	p.add(c)
	forget := o.forget
	return func() {
		defer forget()
		defer p.remove(c)
		c.run()
	}
}

// run pumps both directions and returns when neither has anything left to do.
func (c *conn) run() {
	var other sync.WaitGroup
	other.Go(func() {
		defer close(c.serverOver)
		c.pump(session.Server, c.server, c.client)
	})
	func() {
		defer close(c.clientOver)
		c.pump(session.Client, c.client, c.server)
	}()
	other.Wait()
	if c.drained.Load() {
		c.partGently()
	}
	c.client.Close()
	c.server.Close()
	end := c.ended
	c.tap.End(end.by, time.Now(), end.reason)
	c.disconnect(end.by, end.reason)
}

// pump moves what one side sends until that is over.
func (c *conn) pump(from session.Side, src, dst leg) {
	busy := c.busy(from)
	for {
		buf, n, err := src.read()
		if n > 0 {
			// From here until the direction is between two messages again a
			// drain does not end the pair.
			busy.Store(true)
			if c.draining.Load() && c.tooLate() {
				c.pool.put(buf)
				c.late.Add(int64(n))
				return
			}
			boundary := c.tap.Feed(from, time.Now(), buf[:n])
			end := n
			if boundary >= 0 && boundary < n && c.draining.Load() && !c.busy(from.Opposite()).Load() {
				end = boundary // what follows begins a message that would have no end
			}
			var written int
			var werr error
			if c.rewriter != nil && from == session.Client {
				written, werr = c.rewriter.Write(dst, buf[:end])
			} else {
				written, werr = dst.Write(buf[:end])
			}
			c.pool.put(buf)
			if werr != nil {
				c.writeFailed(from, src, end-written, werr)
				return
			}
			busy.Store(boundary != end)
			if end < n {
				c.undelivered(from, n-end, errStopped)
			}
			if c.draining.Load() && c.settle() {
				return
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			c.end(from, closedText(from, err))
			busy.Store(false)
			c.heldBack(from)
			dst.CloseWrite()
			if c.draining.Load() {
				c.settle()
			}
			return
		case isTimeout(err) && c.draining.Load():
			if c.settle() {
				return
			}
			if !time.Now().Before(c.deadline) {
				c.end(session.Proxy, errStopped.Error())
				c.abort()
				return
			}
			c.goOn(src)
		default:
			c.broke(from, err)
			c.abort()
			return
		}
	}
}

var errStopped = errors.New("the proxy was stopped")

// busy is whether what one side sends is inside a message, or being passed on.
func (c *conn) busy(side session.Side) *atomic.Bool {
	if side == session.Client {
		return &c.clientBusy
	}
	return &c.serverBusy
}

func (c *conn) pulse(side session.Side) *pulse {
	if side == session.Client {
		return &c.clientPulse
	}
	return &c.serverPulse
}

// settle ends a pair that is draining if nothing would be cut: if both
// directions are between messages. Half of a pair is never ended alone, because
// an HTTP/2 peer takes the end of one direction for the end of both, and
// because a message needs the window updates of the other direction.
func (c *conn) settle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drained.Load() {
		if c.clientBusy.Load() || c.serverBusy.Load() {
			return false
		}
		c.drained.Store(true)
		// Wakes the other pump. The one that reads has said that it is not
		// busy; if bytes have come to it since, it finds that it is too late.
		c.client.SetReadDeadline(past)
		c.server.SetReadDeadline(past)
	}
	if c.ended == nil {
		c.ended = &ending{session.Proxy, errStopped.Error()}
	}
	return true
}

// goOn lets a pump read until the deadline, unless the other one has settled the pair
// since: then it is not to wait.
func (c *conn) goOn(src leg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drained.Load() {
		src.SetReadDeadline(c.deadline)
	}
}

// tooLate is asked by a pump that has read something in a drain, and has said
// so by being busy: whether the pair has settled before.
func (c *conn) tooLate() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drained.Load()
}

// partGently lets both peers take what was written to them. Closing a socket at
// once would be a reset if the peer has sent anything meanwhile, such as a
// window update, and a reset throws away what is on its way.
func (c *conn) partGently() {
	until := time.Now().Add(partTime)
	if until.After(c.deadline) {
		until = c.deadline
	}
	var both sync.WaitGroup
	for _, l := range []leg{c.client, c.server} {
		l.SetReadDeadline(until)
		l.CloseWrite()
		both.Go(func() {
			for {
				buf, n, err := l.read()
				if n > 0 {
					c.pool.put(buf)
					c.late.Add(int64(n))
				}
				if err != nil {
					return
				}
			}
		})
	}
	both.Wait()
	if late := c.late.Load(); late > 0 {
		c.Append(session.Entry{Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
			Code: session.NoteUndelivered,
			Text: fmt.Sprintf("%d bytes came after the proxy had stopped and were neither read nor passed on", late),
		}})
	}
}

// writeFailed ends the pair after what one side sent could not be written on. Where that
// is as the other one has closed, what it said before is still passed on.
func (c *conn) writeFailed(from session.Side, src leg, undelivered int, err error) {
	to, heard := from.Opposite(), false
	switch {
	case c.notFollowed(err):
	case c.draining.Load() && isTimeout(err):
		c.end(session.Proxy, errStopped.Error())
	default:
		c.broke(to, c.verdict(to, err))
		if !c.deaf.Swap(true) { // else neither takes anything, and each would wait for the other
			c.busy(from).Store(false)
			var late int
			late, heard = c.lastWords(to, src)
			undelivered += late
		}
	}
	if undelivered > 0 {
		c.undelivered(from, undelivered, cause(err))
	}
	if !heard {
		c.abort()
	}
}

// lastWords lets the other pump pass on what a side said before it closed, and src take
// it: heard. What src sends meanwhile has nowhere to go. It is read, as there are those
// who read nothing while they cannot send, and counted.
func (c *conn) lastWords(of session.Side, src leg) (late int, heard bool) {
	over := c.serverOver
	if of == session.Client {
		over = c.clientOver
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-over:
			src.SetReadDeadline(time.Now().Add(partTime))
		case <-done:
		}
	}()
	for {
		buf, n, err := src.read()
		if n > 0 {
			c.pool.put(buf)
			late += n
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), isTimeout(err):
			<-over // it is before long where a stop was the reason
			return late, true
		default:
			return late, false
		}
	}
}

// undelivered records that the last bytes of what one side sent stayed here.
func (c *conn) undelivered(from session.Side, n int, why error) {
	c.Append(session.Entry{Side: from.Opposite(), Kind: session.KindNote, Note: &session.Note{
		Code: session.NoteUndelivered,
		Text: fmt.Sprintf("%d bytes of the %s, up to entry %d, were not passed on to the %s: %v", n, from, c.lastSeq.Load(), from.Opposite(), why),
	}})
}

// end notes why the connection is over, if nothing else has before.
func (c *conn) end(by session.Side, reason string) (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = &ending{by, reason}
		return true
	}
	return false
}

// abort resets both legs; the pumps return.
func (c *conn) abort() {
	c.end(session.Proxy, errStopped.Error())
	c.client.reset()
	c.server.reset()
}

// drain makes the pair end as soon as both directions are between messages, at
// the latest at the deadline.
func (c *conn) drain(deadline time.Time) {
	c.deadline = deadline
	c.draining.Store(true)
	for _, l := range []leg{c.client, c.server} {
		l.SetWriteDeadline(deadline)
		l.SetReadDeadline(past) // wakes a pump that waits
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
