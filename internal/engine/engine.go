package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/session"
)

// Engine keeps the one account of the conversations of a session. It must see
// every entry, in order, is a pure function of them, and is not safe for
// concurrent use.
type Engine struct {
	o         Options
	conns     map[session.ConnID]*conn
	Streams   map[session.StreamID]*Stream // that are open
	late      map[session.StreamID]*Stream // that ended a short while ago
	ending    []session.StreamID           // the order of late
	polls     map[pollKey]*polls
	gonePolls int // of these, whose clients are not there
	pollers   map[poller][]*polls
	closed    []*Stream // by the last entry
	past      past
	lists     lists
	editions  map[editionsKey]*editions // that streams share
	cache     chunk.Cache

	Peers    peers
	clients  clients
	Contents contents
	bulks    bulks
	Now      time.Time
	before   int64    // when the entry before was, in seconds since 1970; 0: none that can be
	bare     details  // of responses that have shed theirs
	spare    *details // that a response has shed; nil: none
	Stamp    uint64   // of the response that is being looked at
	looked   *Response
	static   static
	leaps    []leap
	glanced  decode.Message // see envelope
}

// Options say how an Engine works.
type Options struct {
	// ACK is after which a response without a verdict is stale, Warm the same
	// for clusters; 0: DefaultACK and DefaultWarm.
	ACK, Warm time.Duration
	// Past is how many bytes are remembered of what is over; 0: DefaultPast,
	// less: nothing.
	Past int64
	// Static are the clusters that clients are known to have from their bootstrap.
	Static []string
	// Names says that only messages and names are followed, and not what
	// resources consist of. Then it is not known what a client has.
	Names bool
	// Envelopes says that not even names are read: it is known what answers what,
	// and no more.
	Envelopes bool
	// Types are message types beside the linked ones; may be nil.
	Types *descriptors.Types
}

// Types are those of its Options.
func (k *Engine) Types() *descriptors.Types { return k.o.Types }

// New returns an Engine that has seen nothing.
func New(o Options) *Engine {
	o.ACK, o.Warm = cmp.Or(o.ACK, DefaultACK), cmp.Or(o.Warm, DefaultWarm)
	o.Names = o.Names || o.Envelopes
	if o.Past == 0 {
		o.Past = DefaultPast
	}
	// A half of the budget is for what is remembered, the other for what need not
	// be worked out anew while it is there.
	budget := max(o.Past, 0)
	return &Engine{
		past: past{budget: budget / 2}, cache: chunk.Cache{Bytes: cmp.Or(budget/8, -1)},
		o: o, conns: make(map[session.ConnID]*conn), Streams: make(map[session.StreamID]*Stream),
		late: make(map[session.StreamID]*Stream), polls: make(map[pollKey]*polls), pollers: make(map[poller][]*polls), lists: newLists(),
		Peers: newPeers(), Contents: newContents(o.Types, budget*3/16), bulks: bulks{limit: budget / 32},
	}
}

// Step takes the next entry and says what it changed.
func (k *Engine) Step(e *session.Entry) Change {
	k.settle()
	k.tell(e)
	st := k.streamOf(e)
	switch e.Kind {
	case session.KindConnect:
		cn := k.conn(e.Conn)
		cn.at, cn.peer = e.Seq, e.Peer
	case session.KindOpen:
		st = k.open(e)
	case session.KindHeader:
		if st != nil {
			st.headers(e)
		}
	case session.KindMessage:
		if e.Message != nil && (e.Side == session.Client || e.Side == session.Server) {
			return k.message(e, st)
		}
	case session.KindHalfClose:
		if st != nil && st.Alive() {
			st.HalfClosed, st.HalfClosedAt = k.Now, e.Seq
		}
	case session.KindGap:
		k.gap(e.Gap)
	case session.KindNote:
		k.static.note(e)
	case session.KindHeld:
		return k.heldEntry(e)
	}
	c := k.about(e, st)
	switch e.Kind {
	case session.KindTrailer, session.KindCancel:
		if st != nil && st.Alive() {
			k.Peers.refusal(st, e, k.Now)
			k.end(st, e.Seq, endReason(e))
			c.Ended = true
		}
	case session.KindDisconnect:
		k.disconnect(e)
	}
	return c
}

// settle lets go of what the last entry was the last to need.
func (k *Engine) settle() {
	if k.looked != nil {
		k.looked.Message = nil // messages are a large part of memory: only what came of them is kept
		k.looked = nil
	}
	for _, t := range k.closed {
		k.bury(t)
	}
	k.closed = k.closed[:0]
	k.past.fit()
}

// about fills what is known of the stream, or the connection, of an entry.
func (k *Engine) about(e *session.Entry, st *Stream) (c Change) {
	if st != nil {
		c.Method, c.Variant, c.Type = st.Method, st.Method.Variant, st.Method.Type
		c.Client, c.Node, c.Uncertain = st.client, st.lastNode, st.uncertain
		if st.Alive() {
			c.Stream = st
		}
	}
	if cn := k.conns[e.Conn]; cn != nil && c.Client == "" {
		c.Client = cn.client
		if c.Node == nil {
			c.Node = cn.node
		}
	}
	return c
}

// disconnect ends what is still open on a connection.
func (k *Engine) disconnect(e *session.Entry) {
	cn := k.conns[e.Conn]
	if cn == nil {
		return
	}
	why := "the connection was closed by the " + e.Side.String()
	for _, id := range slices.SortedFunc(cn.ids(), cmp.Compare) {
		if st := k.Streams[id]; st != nil {
			k.end(st, e.Seq, why)
		}
		delete(k.late, id)
	}
	for _, p := range cn.polls {
		k.hangUp(p, e.Conn, why)
	}
	delete(k.conns, e.Conn)
}

// gap marks the streams that lost entries.
func (k *Engine) gap(g *session.Gap) {
	switch {
	case g == nil:
	case len(g.Streams) >= maxGapStreams:
		for _, st := range k.Streams {
			st.gap(g.Cause)
		}
	default:
		for _, id := range g.Streams {
			if st := k.Streams[id]; st != nil {
				st.gap(g.Cause)
			}
		}
	}
}

const (
	maxStreams    = 1 << 16 // that are followed at one time
	maxLate       = 1024    // ended streams whose late messages are still understood
	maxTypes      = 256     // types with a state on one stream
	maxGapStreams = 1024    // a Gap that lists so many may have touched more
	maxKey        = 256     // longest nonce, version or type URL kept as it is
	maxNode       = 2048    // bytes of a node that is remembered
)
