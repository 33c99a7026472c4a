package engine

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/session"
)

// Excerpt finds what one needs beside some chosen entries of a session to
// understand them: of each stream concerned how its connection and itself began
// and ended, who its client is, and of each type concerned what was asked
// before, the response that a verdict is about and the verdict on a response,
// and what was accepted last; and what a person noted of them. An Engine that
// sees these alone says of the chosen ones what it says of them in the whole
// session.
//
// It keeps sequence numbers, no entries. It must see every entry, in order,
// with what an Engine says of it, and is not safe for concurrent use.
type Excerpt struct {
	conns   map[session.ConnID]*quotedConn
	streams map[session.StreamID]*quotedStream
	ended   []session.StreamID // oldest first
	chosen  []session.Seq
	needed  map[session.Seq]struct{}
	waits   map[session.Seq]struct{} // responses whose verdict is needed
	held    map[session.Held][]session.Seq
}

// quotedConn is what an Excerpt knows of a connection while it lasts.
type quotedConn struct {
	connect session.Seq
	named   quote // by whom its client was named last
	streams []session.StreamID
	kept    bool
}

// quotedStream is what it knows of a stream.
type quotedStream struct {
	conn    *quotedConn
	headers []session.Seq // Open and Header, in order
	first   session.Seq   // request
	named   session.Seq   // message that named the node last
	hurt    session.Seq   // what last made the stream uncertain
	end     session.Seq
	kept    bool
}

// quote is an entry with its stream; those of a poll are of several.
type quote struct {
	seq session.Seq
	of  *quotedStream
}

// NewExcerpt returns an Excerpt that has seen nothing.
func NewExcerpt() *Excerpt {
	return &Excerpt{
		conns: make(map[session.ConnID]*quotedConn), streams: make(map[session.StreamID]*quotedStream),
		needed: make(map[session.Seq]struct{}), waits: make(map[session.Seq]struct{}),
		held: make(map[session.Held][]session.Seq),
	}
}

// Step takes the next entry, and whether it was chosen.
func (x *Excerpt) Step(e *session.Entry, c *Change, chosen bool) {
	if chosen {
		x.chosen = append(x.chosen, e.Seq)
	}
	cn, st := x.conn(e), x.stream(e)
	if chosen {
		x.keepConn(cn)
		x.keepStream(st)
	}
	switch e.Kind {
	case session.KindConnect:
		if cn != nil {
			cn.connect = e.Seq
		}
	case session.KindOpen, session.KindHeader:
		if st != nil && len(st.headers) < maxHeaders {
			st.headers = append(st.headers, e.Seq)
		}
	case session.KindMessage:
		if st != nil && e.Message != nil {
			x.message(e, c, st, chosen)
		}
	case session.KindTrailer, session.KindCancel:
		if st != nil {
			x.end(e.Seq, e.Stream, st)
		}
	case session.KindGoAway:
		if cn != nil && cn.kept {
			x.need(e.Seq)
		}
	case session.KindDisconnect:
		if cn == nil {
			break
		}
		if cn.kept {
			x.need(e.Seq)
		}
		for _, id := range slices.Clone(cn.streams) {
			if st := x.streams[id]; st != nil {
				x.end(e.Seq, id, st)
			}
		}
		delete(x.conns, e.Conn)
	case session.KindGap:
		x.gap(e)
	case session.KindHeld:
		x.holds(e, chosen)
	case session.KindNote:
		if e.Note != nil && x.has(e.Note.About) || isStatic(e) {
			x.need(e.Seq)
		}
	}
	if st != nil && st.kept && e.Kind == session.KindHeader {
		x.need(e.Seq)
	}
}

// holds keeps what a client said that it holds, from the last time that it said all
// of it on, where what changed since is chosen.
func (x *Excerpt) holds(e *session.Entry, chosen bool) {
	if e.Held == nil {
		return
	}
	who := session.Held{Source: e.Held.Source, Address: e.Held.Address}
	since, known := x.held[who]
	switch {
	case !known && len(x.held) >= maxStreams:
		return
	case e.Held.Whole || e.Held.Failed != "":
		since = since[:0]
	case len(since) >= maxLate: // the second is the oldest change
		since = slices.Delete(since, 1, 2)
	}
	x.held[who] = append(since, e.Seq)
	if chosen {
		x.need(x.held[who]...)
	}
}

// Chosen lists the chosen entries, in ascending order.
func (x *Excerpt) Chosen() []session.Seq { return x.chosen }

// Context lists what is needed beside the chosen ones, in ascending order.
func (x *Excerpt) Context() []session.Seq {
	out := make([]session.Seq, 0, len(x.needed))
	for seq := range x.needed {
		if !x.has(seq) {
			out = append(out, seq)
		}
	}
	slices.Sort(out)
	return out
}

// has says whether an entry is among the chosen ones so far.
func (x *Excerpt) has(seq session.Seq) bool {
	_, is := slices.BinarySearch(x.chosen, seq)
	return is
}

// conn is that of an entry; nil if it has none, or if there is no room.
func (x *Excerpt) conn(e *session.Entry) *quotedConn {
	cn := x.conns[e.Conn]
	if cn == nil && e.Conn != 0 && len(x.conns) < maxStreams {
		cn = &quotedConn{}
		x.conns[e.Conn] = cn
	}
	return cn
}

// stream is that of an entry; nil if it has none, or if there is no room.
func (x *Excerpt) stream(e *session.Entry) *quotedStream {
	st := x.streams[e.Stream]
	if e.Stream == 0 || st != nil && e.Kind != session.KindOpen || len(x.streams) >= maxStreams {
		return st
	}
	cn := x.conn(e)
	if cn == nil {
		return nil
	}
	st = &quotedStream{conn: cn}
	x.streams[e.Stream] = st
	cn.streams = append(cn.streams, e.Stream)
	return st
}

// end remembers that of a stream, for messages that crossed it.
func (x *Excerpt) end(at session.Seq, id session.StreamID, st *quotedStream) {
	if st.kept {
		x.need(at)
	}
	if st.end != 0 {
		return
	}
	st.end = at
	if x.ended = append(x.ended, id); len(x.ended) <= maxLate {
		return
	}
	id = x.ended[0]
	x.ended = append(x.ended[:0], x.ended[1:]...)
	if old := x.streams[id]; old != nil && old.end != 0 {
		delete(x.streams, id)
		if i := slices.Index(old.conn.streams, id); i >= 0 {
			old.conn.streams = slices.Delete(old.conn.streams, i, i+1)
		}
	}
}

// gap is kept where it touches what is kept.
func (x *Excerpt) gap(e *session.Entry) {
	touch := func(st *quotedStream) {
		st.hurt = e.Seq
		if st.kept {
			x.need(e.Seq)
		}
	}
	switch {
	case e.Gap == nil:
	case len(e.Gap.Streams) >= maxGapStreams:
		for _, st := range x.streams {
			touch(st)
		}
	default:
		for _, id := range e.Gap.Streams {
			if st := x.streams[id]; st != nil {
				touch(st)
			}
		}
	}
}

func (x *Excerpt) need(seqs ...session.Seq) {
	for _, seq := range seqs {
		if seq != 0 {
			x.needed[seq] = struct{}{}
		}
	}
}

func (x *Excerpt) keepConn(cn *quotedConn) {
	if cn == nil {
		return
	}
	cn.kept = true
	x.need(cn.connect)
	x.quote(cn.named)
}

func (x *Excerpt) keepStream(st *quotedStream) {
	if st == nil {
		return
	}
	if !st.kept {
		st.kept = true
		x.need(st.headers...)
		x.need(st.first, st.end)
		st.conn.kept = true
		x.need(st.conn.connect)
	}
	x.need(st.named, st.hurt) // there may be newer ones
}

func (x *Excerpt) quote(q quote) {
	if q.of != nil {
		x.need(q.seq)
		x.keepStream(q.of)
	}
}

// message enters a message, after what it needs was kept.
func (x *Excerpt) message(e *session.Entry, c *Change, st *quotedStream, chosen bool) {
	m := c.Message
	if !e.Message.Whole() {
		st.hurt = e.Seq
	}
	if e.Side == session.Client && st.first == 0 {
		st.first = e.Seq
		if st.kept {
			x.need(e.Seq)
		}
	}
	if m == nil {
		return
	}
	if m.Node != nil {
		st.named = e.Seq
		if m.Node.ID != "" {
			st.conn.named = quote{e.Seq, st}
		}
	}
	if c.Sub == nil {
		return
	}
	if chosen {
		x.keepType(c)
	}
	switch r := c.Request; {
	case r == nil && chosen:
		x.waits[e.Seq] = struct{}{}
	case r == nil || r.Echoed == nil:
	case chosen:
		x.response(r.Echoed)
	case r.Verdict != Unjudged:
		if _, needed := x.waits[r.Echoed.Seq]; needed {
			x.need(e.Seq)
		}
	}
}

// keepType keeps what was said of a type before an entry that was chosen.
func (x *Excerpt) keepType(c *Change) {
	s, last := c.Sub, c.Sub.Last
	if c.Request != nil {
		last = s.prior
	}
	x.said(s.namingSeq, s.namingOn)
	for _, r := range []*Request{s.First, last} {
		if r != nil {
			x.said(r.Seq, r.On)
		}
	}
	if last != nil && last.Echoed != nil {
		x.response(last.Echoed)
	}
	accepted := s.Accepted
	if c.Request != nil {
		accepted = c.Request.Before.Accepted
	}
	if accepted != nil {
		x.response(accepted)
	}
	for _, n := range slices.Backward(s.Sent) { // the newest one before it
		if n != c.Response {
			x.response(n)
			break
		}
	}
}

// said keeps a message of a stream.
func (x *Excerpt) said(seq session.Seq, on session.StreamID) {
	if seq != 0 {
		x.need(seq)
		x.keepStream(x.streams[on])
	}
}

// response keeps a response and the verdict on it.
func (x *Excerpt) response(n *Response) {
	x.said(n.Seq, n.On)
	x.waits[n.Seq] = struct{}{}
	x.said(n.judgedSeq, n.judgedOn)
}
