package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Checker holds a session against the rules. Like the Tracker that it
// contains it must see every entry, in order, is a pure function of them, and
// is not safe for concurrent use: the same entries give the same findings,
// whether they come from the wire or from a file.
type Checker struct {
	tracker *Tracker
	timers  Timers
	lookers [hooks][]looker

	conns     map[session.ConnID]*session.Peer
	talks     map[session.StreamID]*talk
	peers     peers
	clients   clients
	contents  contents
	bulks     bulks
	queue     timers
	ledger    ledger
	storms    map[string]*storm
	hints     hints
	polls     polls
	referrers referrers
	now       time.Time
	seq       session.Seq
	bare      details // of responses that have shed theirs
	stamp     uint64  // of the response that is being looked at
	muted     bool    // entries are repeated from an earlier segment: they are no news
	summary   Summary
	// What is looked at now. Who wants to keep them copies them.
	change Change
	event  event
}

// Summary counts what a Checker has seen.
type Summary struct {
	Entries, Messages, Streams, Gaps uint64
}

// NewChecker returns a Checker that has seen nothing.
func NewChecker(o Options) *Checker {
	if o.Timers == (Timers{}) {
		o.Timers = DefaultTimers()
	}
	if o.Rules == nil {
		o.Rules, _ = Select(nil, nil)
	}
	return &Checker{
		tracker: NewTracker(), timers: o.Timers, lookers: lookersOf(o.Rules),
		conns: make(map[session.ConnID]*session.Peer), talks: make(map[session.StreamID]*talk),
		peers: newPeers(), contents: newContents(), bulks: bulks{byBatch: make(map[*decode.Batch]*bulk)}, storms: make(map[string]*storm),
	}
}

// maxTalks bounds the streams that are watched at one time. Of others the
// Tracker still tells what they say.
const maxTalks = 1 << 16

// Step takes the next entry and says what it changed. Findings are those that
// it proved: each comes once, and again when it became graver.
func (k *Checker) Step(e *session.Entry) Change {
	if e.Time.After(k.now) {
		k.now = e.Time
	}
	k.seq, k.muted = e.Seq, e.Carried
	if e.Kind == session.KindGap { // first: what timers wait for may be in it
		if e.Gap == nil || !e.Gap.Cause.Chosen() {
			k.summary.Gaps++
		}
		k.gap(e.Gap)
	}
	k.queue.run(k.now)
	k.change = k.tracker.Step(e)
	k.summary.Entries++
	k.event = event{k: k, now: k.now, entry: e, change: &k.change, talk: k.talks[e.Stream]}
	x := &k.event
	if e.Stream == 0 {
		x.talk = nil
	}
	switch e.Kind {
	case session.KindConnect:
		if len(k.conns) < maxTalks {
			k.conns[e.Conn] = e.Peer
		}
	case session.KindOpen:
		k.open(x)
	case session.KindMessage:
		k.summary.Messages++
		k.message(x)
	case session.KindHeader:
		if x.talk != nil && e.Side == session.Server {
			x.talk.status = session.Get(e.Headers, ":status")
		}
		x.each(onOther)
	case session.KindHalfClose:
		if x.talk != nil {
			x.talk.halfClosed, x.talk.halfClosedAt = k.now, e.Seq
			x.each(onOther)
		}
	case session.KindTrailer, session.KindCancel:
		if x.talk != nil && x.talk.alive() {
			k.end(x)
		}
	case session.KindDisconnect:
		k.disconnect(x)
	case session.KindGap:
	default:
		x.each(onOther)
	}
	c := k.change
	c.Findings = k.ledger.take()
	k.change, k.event = Change{}, event{} // what was looked at may be large
	return c
}

// Findings returns all findings so far, in the order in which they were first
// proved.
func (k *Checker) Findings() []Finding {
	out := make([]Finding, len(k.ledger.all))
	for i, f := range k.ledger.all {
		out[i] = *f
	}
	return out
}

// Summary returns what was counted so far.
func (k *Checker) Summary() Summary { return k.summary }

func (k *Checker) open(x *event) {
	e := x.entry
	k.summary.Streams++
	if e.Stream == 0 || len(k.talks) >= maxTalks {
		return
	}
	x.talk = k.newTalk(e)
	x.talk.method = decode.LookupMethod(e.Method)
	x.each(onOpen)
}

func (k *Checker) newTalk(e *session.Entry) *talk {
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

func (k *Checker) end(x *event) {
	t := x.talk
	t.ended, t.endedAt, t.endSeq = true, k.now, x.entry.Seq
	x.each(onEnd)
	k.forget(t, endReason(x.entry))
}

// forget lets go of a stream that is over, but for what the next one of the
// same client is held against.
func (k *Checker) forget(t *talk, why string) {
	delete(k.talks, t.id)
	if k.referrers.talk == t {
		k.referrers = referrers{}
	}
	k.peers.ended(t)
	k.clients.leave(t, why)
	for _, s := range t.order {
		s.waits = nil
		k.tracker.lists.release(s.names.base)
	}
}

// disconnect ends what is still open on a connection.
func (k *Checker) disconnect(x *event) {
	var open []*talk
	for _, t := range k.talks {
		if t.conn == x.entry.Conn && t.alive() {
			open = append(open, t)
		}
	}
	slices.SortFunc(open, func(a, b *talk) int { return cmp.Compare(a.id, b.id) })
	for _, t := range open {
		t.ended, t.endedAt, t.endSeq = true, k.now, x.entry.Seq
		k.forget(t, "the connection was closed by the "+x.entry.Side.String())
	}
	delete(k.conns, x.entry.Conn)
}

// gap marks the streams that lost entries.
func (k *Checker) gap(g *session.Gap) {
	k.polls = polls{} // which polls are missing is not known
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
	t.lost = true
	for _, s := range t.order {
		s.lose()
	}
}

func (s *subscription) lose() {
	s.lost, s.heard, s.waits, s.forgotten, s.bad = true, nil, nil, true, nil
	s.content, s.leases, s.payload = contentState{}, leases{}, payloadState{}
	s.acks, s.talk.warming = acks{}, warmings{}
	s.talk.moved++
}
