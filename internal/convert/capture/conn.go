package capture

import (
	"bytes"
	"container/list"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// nobody is neither of the two ends.
const nobody = -1

// conn is a connection of TCP.
type conn struct {
	r      *reader
	ends   ends
	place  *list.Element
	flows  [2]flow
	client int  // which end it is, if that is known
	synced bool // the capture has its beginning
	closed int  // 1 + which end said first that it sends no more; 0: none

	last        time.Time // of what was fed
	heard       [2]bool   // which end has said something
	spoken, tls bool
	// views are the taps: one for each end that may be the client.
	views []*view
	loser *view // that was one until it became known
	over  bool  // what is sent yet is of no interest

	kept bool // it has xDS
	id   session.ConnID
	// early are entries for which others could not wait until it was kept.
	early []queued
	streams
}

// take takes a segment of one end.
func (c *conn) take(from int, s *segment) {
	switch {
	case s.inOrder:
		c.flows[from].begun = true
		c.feed(from, c.r.now, s.data)
		return
	case c.tls:
		if s.rst || s.fin {
			c.finish(from, "closed")
		}
		return
	}
	f, back := &c.flows[from], &c.flows[1-from]
	seq := s.seq
	if s.syn {
		seq++
		if !f.begun {
			f.begin(seq)
			c.synced = !c.spoken
		}
		if c.client == nobody {
			c.client = from
			if s.acks {
				c.client = 1 - from
			}
		}
	}
	if s.acks && !back.begun && c.synced {
		back.begin(s.ack)
	}
	if len(s.data) > 0 && !f.begun {
		f.begin(seq)
	}
	if s.acks && back.begun && before(back.acked, s.ack) > 0 {
		back.acked = s.ack
	}
	switch {
	case len(s.data) == 0:
	case len(f.ahead) == 0 && before(f.next, seq) <= 0 && back.missing() == 0:
		c.feed(from, c.r.now, f.fresh(seq, s.data))
	default:
		p := piece{at: c.r.now, nth: c.r.done.Packets, seq: seq, ack: back.next, data: s.data}
		if s.acks {
			p.ack = s.ack
		}
		waiting := f.bytes
		f.keep(p)
		c.r.waiting += f.bytes - waiting
	}
	if s.fin && f.begun {
		f.ended, f.end = true, seq+uint32(len(s.data))
		if c.closed == 0 {
			c.closed = 1 + from
		}
	}
	c.advance()
	switch {
	case s.rst:
		c.finish(from, "reset")
	case f.over() && back.over():
		c.finish(c.closed-1, "closed")
	}
}

// advance feeds what is in order. While bytes of one end are missing the other waits,
// too, as it may answer them.
func (c *conn) advance() {
	for {
		ready := c.ready()
		if ready != nobody {
			at, p := c.pop(ready)
			c.feed(ready, at, p)
			continue
		}
		lost := nobody
		for from := range c.flows {
			f := &c.flows[from]
			if late := f.look(c.r.now); f.missing() > 0 && (late || f.full() || c.flows[1-from].full() || c.r.waiting > maxWaiting) {
				lost = from
			}
		}
		if lost == nobody {
			break
		}
		c.skip(lost)
	}
	if c.flows[0].missing() > 0 || c.flows[1].missing() > 0 {
		c.r.holes[c] = struct{}{}
	} else {
		delete(c.r.holes, c)
	}
}

// ready is which end sent the piece that comes next, of those that are in order. What
// answers something comes behind it.
func (c *conn) ready() int {
	ready, answers := nobody, false
	for from := range c.flows {
		f, back := &c.flows[from], &c.flows[1-from]
		if !f.ready() || back.missing() > 0 {
			continue
		}
		waits := before(back.next, f.ahead[0].ack) > 0
		if ready == nobody || answers && !waits || answers == waits && f.ahead[0].nth < c.flows[ready].ahead[0].nth {
			ready, answers = from, waits
		}
	}
	return ready
}

// pop takes the next piece of one end.
func (c *conn) pop(from int) (time.Time, []byte) {
	f := &c.flows[from]
	waiting := f.bytes
	at, p := f.pop()
	c.r.waiting += f.bytes - waiting
	return at, p
}

// skip gives up on bytes of one end that never come.
func (c *conn) skip(from int) {
	f := &c.flows[from]
	n := f.missing()
	f.next, f.since = f.next+uint32(n), time.Time{}
	c.synced = c.synced && c.spoken
	for _, v := range c.views {
		side := v.side(from)
		v.tap.Lose(side, c.time(c.r.now), fmt.Sprintf("%d bytes of the %s are not in the capture", n, side))
	}
	c.missing(n)
}

// time is that of what is fed next: it does not run backwards.
func (c *conn) time(at time.Time) time.Time {
	if at.After(c.last) {
		c.last = at
	}
	return c.last
}

// feed hands bytes of one end to the tap.
func (c *conn) feed(from int, at time.Time, p []byte) {
	if len(p) == 0 || c.tls {
		return
	}
	if !c.spoken {
		c.spoken = true
		c.listen(from, p)
	}
	if !c.heard[from] {
		c.heard[from] = true
		c.synced = c.synced || bytes.HasPrefix(p, []byte(preface))
	}
	at = c.time(at)
	for _, v := range slices.Clone(c.views) {
		if v != c.loser {
			v.tap.Feed(v.side(from), at, p)
		}
	}
	c.drop()
}

// drop lets go of a tap that is of no use any more.
func (c *conn) drop() {
	if c.loser != nil {
		c.loser.tap.End(session.Proxy, c.r.now, "") // it gives back what it took of the budget
		c.loser = nil
	}
}

// listen looks at the first bytes of a connection.
func (c *conn) listen(from int, p []byte) {
	if len(p) > 2 && p[0] >= 0x14 && p[0] <= 0x17 && p[1] == 3 && p[2] <= 4 { // a record of TLS
		c.tls = true
		c.r.done.TLS++
		return
	}
	begins := bytes.HasPrefix(p, []byte(preface))
	if c.client == nobody {
		line, _, _ := bytes.Cut(p, []byte("\r\n"))
		switch {
		case settingsBegin(p): // a client sends the preface before (RFC 9113 3.4)
			c.client = 1 - from
		case begins || bytes.HasSuffix(line, []byte(" HTTP/1.1")):
			c.client = from
		case bytes.HasPrefix(p, []byte("HTTP/1.")):
			c.client = 1 - from
		}
	}
	c.synced = c.synced || begins
	if c.client != nobody {
		c.views = []*view{newView(c, c.client)}
		return
	}
	c.views = []*view{newView(c, 0), newView(c, 1)}
}

// settingsBegin says whether p begins with SETTINGS that acknowledge none.
func settingsBegin(p []byte) bool {
	return len(p) >= 9 && p[3] == frameSettings && p[4] == 0 && binary.BigEndian.Uint32(p[5:]) == 0 &&
		p[0] == 0 && binary.BigEndian.Uint16(p[1:])%6 == 0
}

// finish ends the connection: by an end that closed or reset it, or since the
// capture has no more of it.
func (c *conn) finish(by int, how string) {
	if c.over {
		return
	}
	for range 2 * maxPieces {
		c.advance()
		i := slices.IndexFunc(c.flows[:], func(f flow) bool { return f.missing() > 0 })
		if i < 0 || c.tls {
			break
		}
		c.skip(i)
	}
	for from := range c.flows {
		c.r.waiting -= c.flows[from].bytes
		c.flows[from].ahead, c.flows[from].bytes = nil, 0
	}
	delete(c.r.holes, c)
	if len(c.views) > 1 {
		c.settle(c.byPorts())
		c.drop()
	}
	for _, v := range c.views {
		side, reason := session.Proxy, "the capture has no more of the connection"
		if by != nobody {
			side = v.side(by)
			reason = fmt.Sprintf("the %s %s the connection", side, how)
		}
		v.over = by == nobody // nothing is known of how its streams ended
		v.tap.End(side, c.time(c.r.now), reason)
		if !v.over {
			c.append(session.Entry{
				Time: c.last, Side: side, Kind: session.KindDisconnect,
				Status: &session.Status{Code: -1, Message: reason},
			})
		}
	}
	c.giveUp()
	if c.spoken && !c.kept && !c.tls {
		c.r.done.OtherConnections++
	}
	c.over, c.views, c.early, c.streams = true, nil, nil, streams{}
	c.r.drain()
}

// again says that a segment is of another connection with the same ports.
func (c *conn) again(from int, s *segment) bool {
	f := &c.flows[from]
	if s.inOrder {
		return f.begun && bytes.HasPrefix(s.data, []byte(preface))
	}
	if s.syn && !s.acks {
		return c.over || f.begun && f.first != s.seq+1
	}
	far := before(f.next, s.seq)
	return c.over && len(s.data) > 0 && (far > maxAhead || far < -maxAhead)
}
