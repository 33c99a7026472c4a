package capture

import (
	"github.com/xdsproxy/xdsproxy/session"
)

// maxQueued is how many entries wait until it is known whether those before them are
// of xDS.
const maxQueued = 4096

// queued is an entry that waits for its turn.
type queued struct {
	session.Entry
	c    *conn
	st   *stream   // nil: it is of the connection
	live []*stream // those of a gap
}

// tellGap lets the gap wait that may have grown until now.
func (r *reader) tellGap() {
	if g := r.gap; g != nil {
		r.gap = nil
		r.push(*g)
	}
}

// push lets an entry wait behind those that came before.
func (r *reader) push(q queued) {
	r.tellGap()
	r.held += cost(&q.Entry)
	r.queue = append(r.queue, q)
	r.drain()
}

// drain emits entries of xDS and drops others, up to the first of which it is not
// known yet. If too much waits behind that, it is taken to be no xDS; if it is of a
// connection that may still have some, it comes later than it should.
func (r *reader) drain() {
	for len(r.queue) > 0 {
		q := &r.queue[0]
		full := len(r.queue) > maxQueued || r.held > maxHeld
		switch {
		case q.st == nil && q.c.kept:
			r.emitOf(q)
		case q.st == nil && (q.c.over || q.c.tls):
		case q.st == nil && !full:
			return
		case q.st == nil:
			if len(q.c.early) < maxEarly {
				q.c.early = append(q.c.early, *q)
			}
		case q.st.verdict == discovery:
			r.emitOf(q)
		case q.st.verdict == undecided && !full:
			return
		case q.st.verdict == undecided:
			r.leave(q.st)
		}
		r.held -= cost(&q.Entry)
		*q = queued{}
		r.queue = r.queue[1:]
	}
}

// emitOf emits an entry of a connection with xDS. The first of one is how it began.
func (r *reader) emitOf(q *queued) {
	c := q.c
	if c.id == 0 {
		r.conn++
		c.id = r.conn
		early := c.early
		c.early = nil
		for i := range early {
			r.emitOf(&early[i])
		}
	}
	e := q.Entry
	e.Conn, e.Stream = c.id, 0
	switch {
	case q.st != nil:
		e.Stream = r.number(q.st)
	case e.Kind == session.KindConnect:
		e.Peer = &session.Peer{Client: c.ends[c.client].String(), Upstream: c.ends[1-c.client].String()}
	case e.Gap != nil:
		for _, st := range q.live {
			if st.verdict == discovery {
				e.Gap.Streams = append(e.Gap.Streams, r.number(st))
			}
		}
		r.done.Gaps++
		r.done.Missing += uint64(e.Gap.Bytes)
	}
	r.add(e)
	if e.Kind == session.KindConnect && !c.synced {
		r.done.Midway++
		r.add(session.Entry{
			Time: e.Time, Conn: c.id, Side: session.Proxy, Kind: session.KindNote, Note: &session.Note{
				Code: session.NoteMidway,
				Text: "the capture begins in the middle of this connection: header fields that refer to what came before (HPACK) are unknown, and so are the methods of streams that were open",
				Hint: "a capture that begins before the client connects has all of it",
			},
		})
	}
}

// number is that of a stream of xDS among those of the recording.
func (r *reader) number(st *stream) session.StreamID {
	if st.id == 0 {
		r.stream++
		st.id = r.stream
	}
	return st.id
}

// add emits an entry.
func (r *reader) add(e session.Entry) {
	if r.err != nil {
		return
	}
	r.done.Entries++
	if e.Message != nil {
		r.done.Messages++
	}
	e.Seq = session.Seq(r.done.Entries)
	if e.Time.Before(r.last) { // it came later than it should
		e.Time = r.last
	}
	r.last = e.Time
	r.err = r.emit(&e)
}

// cost is about how many bytes an entry takes.
func cost(e *session.Entry) int64 {
	n := int64(512)
	for _, f := range e.Headers {
		n += int64(len(f.Name) + len(f.Value) + 64)
	}
	if e.Message != nil {
		n += e.Message.Data.Len()
	}
	if e.GoAway != nil {
		n += int64(len(e.GoAway.Debug))
	}
	return n
}
