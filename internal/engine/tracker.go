package engine

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// The words for what a message does.
const (
	NACK  = "NACK"  // rejects a response
	ACK   = "ACK"   // accepts a response
	SUB   = "SUB"   // first request of a type, or it asks for more names
	UNSUB = "UNSUB" // asks for fewer names, and for none that is new
	REQ   = "REQ"   // any other request
	RESP  = "RESP"  // a response: the state of the world
	DELTA = "DELTA" // a response: what changed
)

// Change is what one entry means in its conversation.
type Change struct {
	Method  decode.Method
	Variant decode.Variant
	// Client is the node id that the stream gave, or else the one that its
	// connection gave last: clients name themselves on the first stream that
	// they open, and agents forward many streams of one node.
	Client string
	// Node is who that client said it was, nil if it did not, or at too great
	// length to be remembered. Nobody may write to it.
	Node *decode.Node
	// Type is the short type, such as "CDS": that of the message, or of the
	// stream if it carries one type only.
	Type string
	// Message is the envelope of a Message entry, else nil.
	Message *decode.Message
	// What is the foremost of the words above that applies to a message, Also
	// holds the others. Both are empty for any other entry.
	What string
	Also []string
	// Added and Removed are the names that a request adds to and takes from
	// what its sender asks for. Of a state-of-the-world request they are the
	// difference to the request before, of a delta request what it says.
	// Removed of a DELTA are the resources that it removes.
	Added, Removed []string
	// Answers is the response that an ACK or a NACK is about, 0 if it was not
	// seen.
	Answers session.Seq
	// Waited is how long the sender of an ACK or a NACK took for it since that
	// response was there, at least a nanosecond; 0 if that is not known.
	Waited time.Duration
	// Uncertain says that part of the stream was not seen or could not be
	// read, so that What is a best guess.
	Uncertain bool

	// list is what a state-of-the-world request asks for, nil if there was no
	// room for it.
	List *NameList
	// named says that the stream has named resources of the type, so that a
	// list without names asks for none.
	named bool
	// batch is the resources of a response, if they are known by where they
	// are.
	batch *decode.Batch

	// What the entry is about, and is entered into; nil if there is none.
	Stream   *Stream
	Sub      *Subscription
	Request  *Request
	Response *Response
	Ended    bool // it ends talk
}

// Names are the names that the message is about: the resources of a response,
// the list of a state-of-the-world request as sent.
func (c *Change) Names() []string {
	switch {
	case c.Message == nil:
		return nil
	case c.Message.Response():
		return c.Message.ResourceNames()
	}
	return c.Message.Names
}

// Everything is what Count says of a request for all that there is.
const Everything = -1

// Count is how many resources the message carries, or how many names it is
// about; false if it is about none, or no discovery message. No names mean
// Everything for the two types that clients ask for without names, unless names
// were asked for before on the stream.
func (c *Change) Count() (n int, is bool) {
	m := c.Message
	if m == nil {
		return 0, false
	}
	names := m.Names
	switch m.Kind {
	case decode.SotwResponse, decode.DeltaResponse:
		return len(m.Resources) + len(m.Removed), true
	case decode.SotwRequest:
	case decode.DeltaRequest:
		if n := len(c.Added) + len(c.Removed); n > 0 || c.What != SUB {
			return n, n > 0
		}
		names = m.Subscribe
	default:
		return 0, false
	}
	all := len(names) == 0 && (c.Type == "LDS" || c.Type == "CDS") && !c.named
	if all || slices.Contains(names, "*") {
		return Everything, true
	}
	return len(names), true
}

const (
	maxStreams    = 1 << 18 // live streams with a state
	maxEnded      = 1024    // ended streams whose late messages are still understood
	maxTypes      = 256     // types with a state on one stream
	maxRESTPaths  = 64      // paths with a state on one connection
	keepJudged    = 16      // responses older than the last verdict
	maxNameBytes  = 256 << 20
	maxSentBytes  = 64 << 20 // responses of all streams
	maxNameList   = 1 << 20
	maxKey        = 256  // longest nonce, version or type URL kept as it is
	maxNode       = 2048 // bytes of a node that is remembered
	maxGapStreams = 1024 // a Gap that lists so many may have touched more
)

// Tracker follows the conversations of a session. It must see every entry, in
// order, and is not safe for concurrent use.
type Tracker struct {
	conns   map[session.ConnID]*conn
	streams map[session.StreamID]*stream
	ended   []session.StreamID // oldest first
	lists   lists
	shelf   decode.Shelf
}

// NewTracker returns a Tracker that has seen nothing.
func NewTracker() *Tracker {
	return &Tracker{
		conns:   make(map[session.ConnID]*conn),
		streams: make(map[session.StreamID]*stream),
		lists:   lists{seed: maphash.MakeSeed(), byHash: make(map[uint64]*NameList)},
	}
}

// conn is what is known of a connection while it lasts.
type conn struct {
	client  string       // last node id that any of its streams gave
	node    *decode.Node // with that id
	streams map[session.StreamID]struct{}
	// rest holds the states of REST polls by path: each poll is a stream of
	// its own, and the conversation is that of the connection.
	rest map[string]*types
}

// stream is what is known of a stream. After its end only the method and the
// client remain.
type stream struct {
	conn      session.ConnID
	method    decode.Method
	client    string
	node      *decode.Node
	content   [2]string // content type of the client's and of the server's side
	types     *types
	uncertain bool
	ended     bool
}

// types are the states of the resource types of one stream.
type types struct {
	byKey map[string]*typeState
}

// Step takes the next entry and says what it changed.
func (t *Tracker) Step(e *session.Entry) Change {
	switch e.Kind {
	case session.KindOpen:
		t.open(e)
	case session.KindHeader:
		if st := t.streams[e.Stream]; st != nil && e.Side == session.Server {
			if ct := session.Get(e.Headers, "content-type"); ct != "" {
				st.content[1] = ct
			}
		}
	case session.KindMessage:
		if e.Message != nil && (e.Side == session.Client || e.Side == session.Server) {
			return t.message(e)
		}
	case session.KindGap:
		t.gap(e.Gap)
	}
	c := t.about(e)
	switch e.Kind {
	case session.KindTrailer, session.KindCancel:
		t.end(e.Stream)
	case session.KindDisconnect:
		t.disconnect(e.Conn)
	}
	return c
}

// about fills what is known of the stream, or the connection, of an entry.
func (t *Tracker) about(e *session.Entry) (c Change) {
	if st := t.streams[e.Stream]; st != nil && e.Stream != 0 {
		c.Method, c.Variant, c.Type = st.method, st.method.Variant, st.method.Type
		c.Client, c.Node, c.Uncertain = st.client, st.node, st.uncertain
	}
	if cn := t.conns[e.Conn]; cn != nil && c.Client == "" {
		c.Client = cn.client
		if c.Node == nil {
			c.Node = cn.node
		}
	}
	return c
}

func (t *Tracker) open(e *session.Entry) {
	if e.Stream == 0 {
		return
	}
	st := t.newStream(e.Conn, e.Stream)
	st.method = decode.LookupMethod(e.Method)
	st.content[0] = session.Get(e.Headers, "content-type")
	st.uncertain = false
	if st.method.Variant != decode.VariantREST {
		return
	}
	if cn := t.conns[e.Conn]; cn != nil {
		path := Short(e.Method)
		if cn.rest[path] == nil && len(cn.rest) < maxRESTPaths {
			if cn.rest == nil {
				cn.rest = make(map[string]*types)
			}
			cn.rest[path] = &types{}
		}
		if shared := cn.rest[path]; shared != nil {
			st.types = shared
		}
	}
}

// newStream makes the state of a stream that begins, or that is met in its
// middle. It is kept only while there is room.
func (t *Tracker) newStream(connID session.ConnID, id session.StreamID) *stream {
	st := &stream{conn: connID, types: &types{}, uncertain: true}
	if id == 0 || len(t.streams) >= maxStreams {
		st.ended = true // nothing of it is kept
		return st
	}
	if old := t.streams[id]; old != nil {
		t.forget(old)
	}
	cn := t.conns[connID]
	if cn == nil {
		cn = &conn{streams: make(map[session.StreamID]struct{})}
		t.conns[connID] = cn
	}
	cn.streams[id] = struct{}{}
	t.streams[id] = st
	return st
}

// end keeps method and client of a stream for messages that crossed its end.
func (t *Tracker) end(id session.StreamID) {
	st := t.streams[id]
	if st == nil || st.ended {
		return
	}
	t.forget(st)
	st.ended = true
	if len(t.ended) >= maxEnded {
		t.drop(t.ended[0])
		t.ended = append(t.ended[:0], t.ended[1:]...)
	}
	t.ended = append(t.ended, id)
}

// forget gives back what the types of a stream hold. States of REST polls stay
// with their connection.
func (t *Tracker) forget(st *stream) {
	if st.method.Variant != decode.VariantREST {
		st.types.release(&t.lists)
	}
	st.types = &types{}
}

func (t *Tracker) drop(id session.StreamID) {
	st := t.streams[id]
	if st == nil || !st.ended {
		return
	}
	if cn := t.conns[st.conn]; cn != nil {
		delete(cn.streams, id)
	}
	delete(t.streams, id)
}

func (t *Tracker) disconnect(id session.ConnID) {
	cn := t.conns[id]
	if cn == nil {
		return
	}
	for s := range cn.streams {
		if st := t.streams[s]; st != nil {
			t.forget(st)
			delete(t.streams, s)
		}
	}
	for _, ts := range cn.rest {
		ts.release(&t.lists)
	}
	delete(t.conns, id)
}

// gap marks the streams that lost entries: what they say from here on can no
// longer be told for sure.
func (t *Tracker) gap(g *session.Gap) {
	if g == nil || g.Cause == session.Cut {
		return
	}
	if len(g.Streams) >= maxGapStreams {
		for _, st := range t.streams {
			st.uncertain = true
		}
		return
	}
	for _, id := range g.Streams {
		if st := t.streams[id]; st != nil {
			st.uncertain = true
		}
	}
}
