package check

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
	talks    map[session.StreamID]*talk
	peers    peers
	clients  clients
	contents contents
	bulks    bulks
	now      time.Time
	bare     details // of responses that have shed theirs
	stamp    uint64  // of the response that is being looked at
	looked   *response
	ack      time.Duration // after which a response without a verdict is stale
}

func newEngine(ack time.Duration) *Engine {
	return &Engine{
		ack:     ack,
		tracker: NewTracker(),
		conns:   make(map[session.ConnID]*session.Peer), talks: make(map[session.StreamID]*talk),
		peers: newPeers(), contents: newContents(), bulks: bulks{byBatch: make(map[*decode.Batch]*bulk)},
	}
}

// maxTalks bounds the streams that are watched at one time. Of others the
// Tracker still tells what they say.
const maxTalks = 1 << 16

// Step takes the next entry and says what it changed.
func (k *Engine) Step(e *session.Entry) Change {
	if k.looked != nil {
		k.looked.m = nil // messages are a large part of memory: only what came of them is kept
		k.looked = nil
	}
	if e.Time.After(k.now) {
		k.now = e.Time
	}
	if e.Kind == session.KindGap {
		k.gap(e.Gap)
	}
	c := k.tracker.Step(e)
	if e.Stream != 0 {
		c.talk = k.talks[e.Stream]
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
		if c.talk != nil && e.Side == session.Server {
			c.talk.status = session.Get(e.Headers, ":status")
		}
	case session.KindHalfClose:
		if c.talk != nil {
			c.talk.halfClosed, c.talk.halfClosedAt = k.now, e.Seq
		}
	case session.KindTrailer, session.KindCancel:
		if t := c.talk; t != nil && t.alive() {
			t.ended, t.endedAt, t.endSeq = true, k.now, e.Seq
			c.ended = true
			k.forget(t, endReason(e))
		}
	case session.KindDisconnect:
		k.disconnect(e)
	}
	return c
}

func (k *Engine) open(e *session.Entry, c *Change) {
	if e.Stream == 0 || len(k.talks) >= maxTalks {
		return
	}
	c.talk = k.newTalk(e)
	c.talk.method = decode.LookupMethod(e.Method)
}

func (k *Engine) newTalk(e *session.Entry) *talk {
	if old := k.talks[e.Stream]; old != nil { // it was opened again without an end
		old.ended, old.endedAt, old.endSeq = true, k.now, e.Seq
		k.forget(old, "its end was not seen")
	}
	t := &talk{id: e.Stream, conn: e.Conn, h2: e.H2, opened: k.now, openAt: e.Seq, subs: make(map[string]*subscription)}
	if p := k.conns[e.Conn]; p != nil {
		t.server, t.peer = p.Upstream, p.Client
	}
	k.talks[e.Stream] = t
	return t
}

// forget lets go of a stream that is over, but for what the next one of the
// same client is held against.
func (k *Engine) forget(t *talk, why string) {
	delete(k.talks, t.id)
	k.peers.ended(t)
	k.clients.leave(t, why)
	for _, s := range t.order {
		k.tracker.lists.release(s.names.base)
	}
}

// disconnect ends what is still open on a connection.
func (k *Engine) disconnect(e *session.Entry) {
	var open []*talk
	for _, t := range k.talks {
		if t.conn == e.Conn && t.alive() {
			open = append(open, t)
		}
	}
	slices.SortFunc(open, func(a, b *talk) int { return cmp.Compare(a.id, b.id) })
	for _, t := range open {
		t.ended, t.endedAt, t.endSeq = true, k.now, e.Seq
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
		for _, t := range k.talks {
			t.lose()
		}
		return
	}
	for _, id := range g.Streams {
		if t := k.talks[id]; t != nil {
			t.lose()
		}
	}
}

// lose marks a stream of which part was not seen: what its types stand at is
// no longer known.
func (t *talk) lose() {
	t.lost, t.memory = true, nil
	for _, s := range t.order {
		s.lose()
	}
}

func (s *subscription) lose() {
	s.lost, s.heard, s.forgotten, s.bad = true, nil, true, nil
	s.memory, s.talk.memory = nil, nil
	s.losses++
	s.talk.moved++
}
