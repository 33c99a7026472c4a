package engine

import (
	"cmp"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Stream is what is known of a stream while it lasts: what both sides have said
// on it, type by type.
type Stream struct {
	ID     session.StreamID
	Conn   session.ConnID
	h2     uint32
	Method xds.Method
	Opened time.Time
	OpenAt session.Seq
	Server string // address of the management server, "" if unknown
	Peer   string // address of the client

	// The node of the first request that had one, and the one seen last.
	Node, lastNode *decode.Node
	NodeAt         session.Seq
	client         string   // node id that it gave last
	account        string   // of which client it is
	settled        bool     // the account stays: the stream has named a node
	Previous       *Stream  // the stream that this one reconnects, nil if none
	was            program  // of that
	resumed        bool     // another one reconnects it
	memento        *memento // once it has ended

	*Types
	polls *polls // that it is one of

	Requests, Responses uint64
	FirstResponse       time.Time
	LastClient          time.Time // when the client sent its last message
	LastClientSeq       session.Seq
	LastServer          time.Time
	HalfClosed          time.Time // zero: not half-closed
	HalfClosedAt        session.Seq
	Ended               bool
	EndedAt             time.Time
	endSeq              session.Seq
	Echo                time.Duration // the shortest time that the client took to answer
	Largest             int64         // message, in bytes
	Lost                bool          // part of it was not seen, so that what the client has is not known
	uncertain           bool          // part of it was not seen or could not be read, so that verdicts are best guesses
	content             [2]string     // content type of the client's and of the server's side

	Moved  uint64 // how often what the server has sent may have changed
	Status string // of HTTP, once the server's headers were seen

	headerSeqs []session.Seq // Open and Header, in order
	connSeq    session.Seq   // of the Connect of its connection
	firstSeq   session.Seq   // request

	Memory, Lasting Slots // of those who look at the stream
}

// Types are the states of the types of one stream, or of one client's polls.
type Types struct {
	Subs  map[string]*Subscription
	Order []*Subscription // in the order in which the types came up
}

// byURL is the type that was named so last, if it is one of the first few; else
// nil, though it may be there.
func (t *Types) byURL(url string) *Subscription {
	for _, s := range t.Order[:min(len(t.Order), 8)] {
		if s.URL == url && url != "" {
			return s
		}
	}
	return nil
}

func newTypes() *Types { return &Types{Subs: make(map[string]*Subscription)} }

func (t *Stream) Alive() bool { return !t.Ended }

// ADS says whether all types share the stream.
func (t *Stream) ADS() bool {
	return t.Method.Variant == xds.VariantSotwADS || t.Method.Variant == xds.VariantDeltaADS
}

func (t *Stream) Delta() bool {
	return t.Method.Variant == xds.VariantDelta || t.Method.Variant == xds.VariantDeltaADS
}

// Discovery says whether it is one of the four discovery variants on gRPC.
func (t *Stream) Discovery() bool {
	switch t.Method.Variant {
	case xds.VariantSotw, xds.VariantSotwADS, xds.VariantDelta, xds.VariantDeltaADS:
		return !t.Method.Unary
	}
	return false
}

// program is what a client says that it is.
type program struct{ name, version string }

// program is what the client says, or said on the stream before if it leaves
// that out.
func (t *Stream) program() program {
	if t.Node == nil {
		return program{}
	}
	is := program{cmp.Or(t.Node.UserAgent, t.was.name), t.Node.UserAgentVersion}
	if is.name == t.was.name {
		is.version = cmp.Or(is.version, t.was.version)
	}
	return is
}

// OtherProgram says whether the client of another stream is another program, or
// another version of it. One that does not say what it is may be any.
func (t *Stream) OtherProgram(o *Stream) bool {
	a, b := t.program(), o.program()
	differ := func(a, b string) bool { return a != b && a != "" && b != "" }
	return differ(a.name, b.name) || differ(a.version, b.version)
}

// GRPCClient says whether the client is one of gRPC's own, by its user agent
// name ("gRPC Go", "gRPC Java", "gRPC C-core …").
func (t *Stream) GRPCClient() bool { return strings.HasPrefix(t.program().name, "gRPC") }

func (t *Stream) EnvoyClient() bool { return t.program().name == "envoy" }

// Sub returns the subscription of a short type, or nil.
func (t *Stream) Sub(typ string) *Subscription {
	for _, s := range t.Order {
		if s.Type == typ {
			return s
		}
	}
	return nil
}

// streamOf is the stream of an entry, open or ended a short while ago; nil if it
// is not known.
func (k *Engine) streamOf(e *session.Entry) *Stream {
	if e.Stream == 0 {
		return nil
	}
	if st := k.Streams[e.Stream]; st != nil {
		return st
	}
	return k.late[e.Stream]
}

// open begins a stream; nil if there is no room.
func (k *Engine) open(e *session.Entry) *Stream {
	if old := k.Streams[e.Stream]; old != nil { // it was opened again without an end
		k.end(old, e.Seq, "its end was not seen")
	}
	delete(k.late, e.Stream)
	st := k.begin(e)
	if st != nil {
		st.Method, st.content[0] = xds.LookupMethod(e.Method), session.Get(e.Headers, "content-type")
		st.Lost, st.uncertain = false, false
		st.headerSeqs = append(st.headerSeqs, e.Seq)
	}
	return st
}

// begin enters a stream that begins, or that is met in its middle; nil if there
// is no room. No connection has more than twice what it leaves to others.
func (k *Engine) begin(e *session.Entry) *Stream {
	if e.Stream == 0 {
		return nil
	}
	cn := k.conn(e.Conn)
	if len(cn.streams) >= 2*(maxStreams-len(k.Streams)) {
		return nil
	}
	st := &Stream{
		ID: e.Stream, Conn: e.Conn, h2: e.H2, Opened: k.Now, OpenAt: e.Seq, Types: newTypes(),
		Lost: true, uncertain: true,
	}
	if p := cn.peer; p != nil {
		st.Server, st.Peer = p.Upstream, p.Client
	}
	st.connSeq = cn.at
	cn.streams[e.Stream] = struct{}{}
	k.Streams[e.Stream] = st
	return st
}

// headers are those of either side.
func (t *Stream) headers(e *session.Entry) {
	if len(t.headerSeqs) < maxHeaders {
		t.headerSeqs = append(t.headerSeqs, e.Seq)
	}
	if e.Side != session.Server {
		return
	}
	if ct := session.Get(e.Headers, "content-type"); ct != "" {
		t.content[1] = ct
	}
	t.Status = session.Get(e.Headers, ":status")
}

// end lets go of a stream that is over, but for what the next one of the same
// client is held against, and what its late messages need.
func (k *Engine) end(t *Stream, at session.Seq, why string) {
	t.Ended, t.EndedAt, t.endSeq = true, k.Now, at
	delete(k.Streams, t.ID)
	if len(k.ending) >= maxLate {
		k.dropLate(k.ending[0])
		k.ending = append(k.ending[:0], k.ending[1:]...)
	}
	k.late[t.ID], k.ending = t, append(k.ending, t.ID)
	k.Peers.ended(t)
	k.leave(t, why)
	k.closed = append(k.closed, t)
}

// dropLate forgets a stream that ended.
func (k *Engine) dropLate(id session.StreamID) {
	if st := k.late[id]; st != nil {
		if cn := k.conns[st.Conn]; cn != nil {
			delete(cn.streams, id)
		}
		delete(k.late, id)
	}
}

// gap notes that entries of the stream were lost. Those that were cut out by a
// person leave what is needed for verdicts.
func (t *Stream) gap(cause session.GapCause) {
	t.uncertain = t.uncertain || cause != session.Cut
	t.lose()
}

// lose marks a stream of which part was not seen: what its types stand at is
// no longer known.
func (t *Stream) lose() {
	t.Lost, t.Memory = true, nil
	for _, s := range t.Order {
		s.lose()
	}
}
