package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Engine keeps the one account of the conversations of a session. It must see
// every entry, in order, is a pure function of them, and is not safe for
// concurrent use.
type Engine struct {
	tracker  *Tracker
	conns    map[session.ConnID]*session.Peer
	Streams  map[session.StreamID]*Stream
	Peers    peers
	clients  clients
	Contents contents
	bulks    bulks
	Now      time.Time
	bare     details // of responses that have shed theirs
	Stamp    uint64  // of the response that is being looked at
	looked   *Response
	ack      time.Duration // after which a response without a verdict is stale
}

func NewEngine(ack time.Duration) *Engine {
	return &Engine{
		ack:     ack,
		tracker: NewTracker(),
		conns:   make(map[session.ConnID]*session.Peer), Streams: make(map[session.StreamID]*Stream),
		Peers: newPeers(), Contents: newContents(), bulks: bulks{byBatch: make(map[*decode.Batch]*bulk)},
	}
}

// maxTalks bounds the streams that are watched at one time. Of others the
// Tracker still tells what they say.
const maxTalks = 1 << 16

// Step takes the next entry and says what it changed.
func (k *Engine) Step(e *session.Entry) Change {
	if k.looked != nil {
		k.looked.Message = nil // messages are a large part of memory: only what came of them is kept
		k.looked = nil
	}
	if e.Time.After(k.Now) {
		k.Now = e.Time
	}
	if e.Kind == session.KindGap {
		k.gap(e.Gap)
	}
	c := k.tracker.Step(e)
	if e.Stream != 0 {
		c.Stream = k.Streams[e.Stream]
	}
	switch e.Kind {
	case session.KindConnect:
		if len(k.conns) < maxTalks {
			k.conns[e.Conn] = e.Peer
		}
	case session.KindOpen:
		k.open(e, &c)
	case session.KindMessage:
		k.message(e, &c)
	case session.KindHeader:
		if c.Stream != nil && e.Side == session.Server {
			c.Stream.Status = session.Get(e.Headers, ":status")
		}
	case session.KindHalfClose:
		if c.Stream != nil {
			c.Stream.HalfClosed, c.Stream.HalfClosedAt = k.Now, e.Seq
		}
	case session.KindTrailer, session.KindCancel:
		if t := c.Stream; t != nil && t.Alive() {
			t.Ended, t.EndedAt, t.endSeq = true, k.Now, e.Seq
			c.Ended = true
			k.forget(t, endReason(e))
		}
	case session.KindDisconnect:
		k.disconnect(e)
	}
	return c
}

func (k *Engine) open(e *session.Entry, c *Change) {
	if e.Stream == 0 || len(k.Streams) >= maxTalks {
		return
	}
	c.Stream = k.newTalk(e)
	c.Stream.Method = decode.LookupMethod(e.Method)
}

func (k *Engine) newTalk(e *session.Entry) *Stream {
	if old := k.Streams[e.Stream]; old != nil { // it was opened again without an end
		old.Ended, old.EndedAt, old.endSeq = true, k.Now, e.Seq
		k.forget(old, "its end was not seen")
	}
	t := &Stream{ID: e.Stream, Conn: e.Conn, h2: e.H2, Opened: k.Now, OpenAt: e.Seq, Subs: make(map[string]*Subscription)}
	if p := k.conns[e.Conn]; p != nil {
		t.Server, t.Peer = p.Upstream, p.Client
	}
	k.Streams[e.Stream] = t
	return t
}

// forget lets go of a stream that is over, but for what the next one of the
// same client is held against.
func (k *Engine) forget(t *Stream, why string) {
	delete(k.Streams, t.ID)
	k.Peers.ended(t)
	k.clients.leave(t, why)
	for _, s := range t.Order {
		k.tracker.lists.release(s.Names.base)
	}
}

// disconnect ends what is still open on a connection.
func (k *Engine) disconnect(e *session.Entry) {
	var open []*Stream
	for _, t := range k.Streams {
		if t.Conn == e.Conn && t.Alive() {
			open = append(open, t)
		}
	}
	slices.SortFunc(open, func(a, b *Stream) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range open {
		t.Ended, t.EndedAt, t.endSeq = true, k.Now, e.Seq
		k.forget(t, "the connection was closed by the "+e.Side.String())
	}
	delete(k.conns, e.Conn)
}

// gap marks the streams that lost entries.
func (k *Engine) gap(g *session.Gap) {
	if g == nil {
		return
	}
	if len(g.Streams) >= maxGapStreams {
		for _, t := range k.Streams {
			t.lose()
		}
		return
	}
	for _, id := range g.Streams {
		if t := k.Streams[id]; t != nil {
			t.lose()
		}
	}
}

// lose marks a stream of which part was not seen: what its types stand at is
// no longer known.
func (t *Stream) lose() {
	t.Lost, t.Memory = true, nil
	for _, s := range t.Order {
		s.lose()
	}
}

func (s *Subscription) lose() {
	s.Lost, s.heard, s.Forgotten, s.bad = true, nil, true, nil
	s.Memory, s.Stream.Memory = nil, nil
	s.Losses++
	s.Stream.Moved++
}
