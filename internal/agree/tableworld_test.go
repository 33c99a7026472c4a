package agree

import (
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// world is what the second table knows of a session.
type world struct {
	at        session.Seq // of the entry that is looked at
	now       time.Time
	seen      uint64 // entries
	conns     map[session.ConnID]*conn
	streams   map[session.StreamID]*stream
	polls     map[pollKey][]*polled
	lanes     map[laneKey][]*lane // in the order in which they began
	versions  map[laneKey]map[string]*version
	held      map[laneKey]*holding
	crowds    map[laneKey]bool // see crowded
	murky     map[string]bool  // clients of whom it is not certain which streams are theirs
	inspector *inspect.Inspector
	hashes    map[string][16]byte
}

// laneKey is a type of a client.
type laneKey struct{ client, typ string }

// pollKey is what polls of REST have in common.
type pollKey struct{ client, server, path string }

// polled is a subscription by polls.
type polled struct {
	list  []string // that was asked for last, sorted
	lanes map[string]*lane
}

// polledBy is the subscription that a poll is of: the one with its list of names,
// or else the first that it changes, which has one of them, or none, or it has none.
func (w *world) polledBy(key pollKey, names []string) *polled {
	list := slices.Sorted(slices.Values(names))
	all := w.polls[key]
	i := slices.IndexFunc(all, func(p *polled) bool { return slices.Equal(p.list, list) })
	if i < 0 {
		i = slices.IndexFunc(all, func(p *polled) bool {
			for _, l := range p.lanes {
				if len(list) == 0 || len(l.names) == 0 || slices.ContainsFunc(list, func(n string) bool { return l.names[decode.NormalName(n)] }) {
					return true
				}
			}
			return false
		})
	}
	if i < 0 {
		i = len(all)
		w.polls[key] = append(all, &polled{lanes: make(map[string]*lane)})
	}
	w.polls[key][i].list = list
	return w.polls[key][i]
}

type conn struct {
	server string
	node   string // given last
	nodes  map[string]bool
}

// stream is one of gRPC, a poll of REST, or something that carries no discovery.
type stream struct {
	conn    *conn
	connID  session.ConnID
	method  xds.Method
	node    string    // that it gave last
	content [2]string // content types of both sides
	lanes   map[string]*lane
	order   []*lane
	polled  *polled // that a poll is of
	refused bool    // by the status of HTTP
	sure    bool    // all of it was seen
	murky   bool    // whose it is, or was, cannot be told for sure
	spoke   bool    // a message was seen before its client had a name
	ended   bool
}

// lane is a type on a stream, or in the polls of a client.
type lane struct {
	typ, client string
	rest, delta bool
	sure        bool // all of it was seen
	exempt      bool

	asked, stated bool
	askedAgain    bool // of REST: its client came back on another connection
	askedSeq      session.Seq
	announced     string // the version of the last request
	names         map[string]bool
	star          bool // asked for by "*"
	wild, named   bool

	last     *reply
	told     *reply // the last that has more than heartbeats
	byNonce  map[string]*reply
	unseen   map[string]bool
	opens    []*reply
	bad      *reply // the newest that was rejected, with nothing as new accepted since
	good     *reply // the newest that was accepted
	muddled  bool   // before that, one that came later was
	follows  bool   // the client had the type on a stream before, and rejected something
	brought  *reply // rejected on that
	chain    bool   // it is the first of the client, or surely reconnects the one before
	heir     bool   // what was sent last on that was rejected
	inherits *reply // bad of the stream before, if nothing else was sent there
	nacks    int
	why      string
	nackSeq  session.Seq

	seenNACKs int // rejections of responses that were seen
	ended     bool
	endedAt   uint64 // in entries
	live      map[session.ConnID]bool
}

func newWorld() *world {
	return &world{
		conns: make(map[session.ConnID]*conn), streams: make(map[session.StreamID]*stream), polls: make(map[pollKey][]*polled),
		lanes: make(map[laneKey][]*lane), versions: make(map[laneKey]map[string]*version), held: make(map[laneKey]*holding),
		crowds: make(map[laneKey]bool), murky: make(map[string]bool),
		inspector: inspect.New(nil), hashes: make(map[string][16]byte),
	}
}

// meaning is what the table says of a message.
type meaning struct {
	message *decode.Message
	client  string
	murky   bool
	lane    *lane // nil: it belongs to no conversation about a type
	sure    bool  // what follows is certain

	first, firstOrNot bool
	word              string // ACK, NACK or none
	again             bool   // it is not the first word on what it answers
	answers           *reply
	unseen            bool // the word is about a response that was not seen
	more, less        bool // it asks for more, or for fewer names
	respelled         bool // names may be those of before in another spelling
	late              bool // it came after the end of its stream
	reply             *reply
	before            session.Seq // the response that was accepted last before it
}

func (w *world) step(e *session.Entry) (m meaning) {
	if e.Time.After(w.now) {
		w.now = e.Time
	}
	w.seen++
	w.at = e.Seq
	switch e.Kind {
	case session.KindConnect:
		c := w.conn(e.Conn)
		if e.Peer != nil {
			c.server = e.Peer.Upstream
		}
	case session.KindOpen:
		w.open(e)
	case session.KindHeader:
		if st := w.streams[e.Stream]; st != nil && e.Side == session.Server {
			st.refused = session.Get(e.Headers, ":status") != "200"
			if ct := session.Get(e.Headers, "content-type"); ct != "" {
				st.content[1] = ct
			}
		}
	case session.KindMessage:
		if e.Message != nil && e.Stream != 0 && (e.Side == session.Client || e.Side == session.Server) {
			m = w.message(e)
		}
	case session.KindTrailer, session.KindCancel:
		w.end(w.streams[e.Stream])
	case session.KindDisconnect:
		w.disconnect(e.Conn)
	case session.KindGap:
		w.gap(e.Gap)
	}
	return m
}

func (w *world) conn(id session.ConnID) *conn {
	c := w.conns[id]
	if c == nil {
		c = &conn{nodes: make(map[string]bool)}
		w.conns[id] = c
	}
	return c
}

func (w *world) open(e *session.Entry) {
	w.end(w.streams[e.Stream])
	w.streams[e.Stream] = &stream{
		conn: w.conn(e.Conn), connID: e.Conn, method: xds.LookupMethod(e.Method), lanes: make(map[string]*lane), sure: true,
		content: [2]string{session.Get(e.Headers, "content-type"), ""},
	}
}

// end is that of a stream. The lanes of polls last as long as a connection of
// their client.
func (w *world) end(st *stream) {
	if st == nil || st.ended {
		return
	}
	st.ended = true
	for _, l := range st.order {
		if !l.rest {
			l.ended, l.endedAt = true, w.seen
		}
	}
}

func (w *world) disconnect(id session.ConnID) {
	for _, st := range w.streams {
		if st.connID == id {
			w.end(st)
		}
	}
	for _, list := range w.polls {
		for _, p := range list {
			for _, l := range p.lanes {
				if l.live[id] {
					if delete(l.live, id); len(l.live) == 0 {
						l.ended, l.endedAt = true, w.seen
					}
				}
			}
		}
	}
	delete(w.conns, id)
}

func (w *world) gap(g *session.Gap) {
	for id, st := range w.streams {
		hit := g == nil || len(g.Streams) >= 1024
		for _, of := range g.Streams {
			hit = hit || of == id
		}
		if hit {
			st.lose()
		}
	}
}

// lose says that part of a stream was not seen.
func (st *stream) lose() {
	st.sure = false
	for _, l := range st.order {
		l.sure = false
	}
}

// client is whom a stream belongs to: the node that it gave, or else the one
// that its connection gave last.
func (st *stream) client() string {
	if st.node != "" {
		return st.node
	}
	return st.conn.node
}

func (w *world) message(e *session.Entry) meaning {
	st := w.streams[e.Stream]
	if st == nil { // it is met in its middle
		w.open(e)
		st = w.streams[e.Stream]
		st.sure = false
	}
	if !e.Message.Whole() {
		st.lose()
	}
	var data []byte
	if !e.Message.Compressed {
		data = e.Message.Data.Bytes()
	}
	side := 0
	if e.Side == session.Server {
		side = 1
	}
	p := decode.Peek(st.method, e.Side, st.content[side], data)
	before := st.client()
	if st.introduce(p.Node); st.murky {
		w.murky[before], w.murky[st.client()] = true, true
	}
	m := meaning{message: &p, client: st.client(), murky: w.murky[st.client()], late: st.ended}
	if st.client() == "" {
		w.murky[""] = true
	}
	if st.ended || !p.Request() && !p.Response() || e.Message.Compressed || st.refused && p.Response() && st.method.Variant == xds.VariantREST {
		return m
	}
	l := w.lane(e, st, &p)
	if l == nil {
		return m
	}
	if l.client != st.client() { // what was said before counts as another's
		w.murky[l.client], w.murky[st.client()] = true, true
	}
	l.client, m.murky = st.client(), w.murky[st.client()]
	m.lane, m.sure = l, l.sure && len(p.Problems) == 0
	if l.good != nil {
		m.before = l.good.seq
	}
	if p.Request() {
		w.request(e, &m)
	} else {
		w.response(e, &m)
	}
	return m
}

// introduce notes who a stream says that it is.
func (st *stream) introduce(n *decode.Node) {
	if n != nil && n.ID != "" {
		st.murky = st.murky || st.node != "" && st.node != n.ID || st.node == "" && st.spoke && st.client() != n.ID
		st.node, st.conn.node = n.ID, n.ID
		st.conn.nodes[n.ID] = true
	}
	st.murky = st.murky || st.node == "" && len(st.conn.nodes) > 1
	st.spoke = true
}

// lane is where a message belongs.
func (w *world) lane(e *session.Entry, st *stream, m *decode.Message) *lane {
	key, typ := st.method.Type, st.method.Type
	if m.TypeURL != "" {
		key, typ = xds.TypeKey(m.TypeURL), xds.ShortType(m.TypeURL)
	}
	l := st.lanes[key]
	if l == nil && st.method.Variant == xds.VariantREST {
		if st.polled == nil {
			st.polled = w.polledBy(pollKey{st.client(), st.conn.server, st.method.Path}, m.Names)
		}
		if l = st.polled.lanes[key]; l == nil {
			l = w.begin(st, typ, m)
			l.rest, l.live = true, make(map[session.ConnID]bool)
			st.polled.lanes[key] = l
		}
		if !l.live[e.Conn] {
			l.live[e.Conn], l.ended, l.askedAgain = true, false, l.asked
		}
		st.lanes[key], st.order = l, append(st.order, l)
	}
	if l == nil {
		l = w.begin(st, typ, m)
		st.lanes[key], st.order = l, append(st.order, l)
	}
	return l
}

func (w *world) begin(st *stream, typ string, m *decode.Message) *lane {
	l := &lane{
		typ: typ, client: st.client(), sure: st.sure, names: make(map[string]bool), byNonce: make(map[string]*reply), unseen: make(map[string]bool),
		exempt: strings.HasPrefix(m.TypeURL, "istio.io/debug") || xds.TypeName(m.TypeURL) == "istio.v1.HealthInformation" ||
			strings.HasPrefix(xds.TypeName(m.TypeURL), "istio.io/debug"),
		delta: m.Kind == decode.DeltaRequest || m.Kind == decode.DeltaResponse,
	}
	key := laneKey{l.client, typ}
	for _, before := range w.lanes[key] {
		if before.ended {
			l.inherits = before.inherits
			if before.bad != nil {
				l.inherits = before.bad
			}
			if n := before.last; n != nil && n.mark == accepted && !before.outlasts(n) || n != nil && l.inherits != nil && n.sum != l.inherits.sum {
				l.inherits = nil
			}
		}
	}
	l.chain = len(w.lanes[key]) == 0
	for i, before := range w.lanes[key] {
		l.follows = l.follows || before.nackSeq != 0
		if n := before.standing(); i == len(w.lanes[key])-1 && before.chain && before.ended && !l.rest && !w.crowds[key] && w.seenAll(l.client) &&
			slices.ContainsFunc(append(m.Names, m.Subscribe...), func(name string) bool { return before.names[name] }) {
			l.chain, l.heir = true, n != nil && n.mark == rejected || n == nil && before.heir
			l.nacks, l.why, l.nackSeq = before.nacks, before.why, before.nackSeq
			if l.brought = before.bad; l.brought == nil {
				l.brought = before.brought
			}
		}
	}
	w.lanes[key] = append(w.lanes[key], l)
	n := 0
	for _, other := range w.lanes[key] {
		if !other.ended {
			n++
		}
	}
	w.crowds[key] = w.crowds[key] || n > 1
	return l
}

// seenAll says whether all that a client said and was told was seen.
func (w *world) seenAll(client string) bool {
	for key, lanes := range w.lanes {
		if key.client == client && slices.ContainsFunc(lanes, func(l *lane) bool { return !l.sure }) {
			return false
		}
	}
	return true
}

// crowded says whether a client has had a type on two streams at one time, so
// that what one of them deletes the other may have.
func (w *world) crowded(key laneKey) bool { return w.crowds[key] }

// wholeState says whether absence from a response of the state of the world
// deletes: by the protocol for listeners and clusters, and for scopes because
// Envoy does so.
func wholeState(typ string) bool { return typ == "LDS" || typ == "CDS" || typ == "SRDS" }
