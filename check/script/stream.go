package script

import (
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// shape is what the lines of a stream look like.
type shape string

const (
	unknown shape = ""
	sotw    shape = "C> and S<"
	delta   shape = "D> and d<"
	rest    shape = "P> and p<"
	load    shape = "L> and l<"
	client  shape = "-- csds"
	file    shape = "F:"
	bare    shape = "events" // a method that is not known, until a line says more
)

// paths are the methods of streams that no line gives one.
var paths = map[shape]string{
	sotw:    "StreamAggregatedResources",
	delta:   "DeltaAggregatedResources",
	load:    "StreamLoadStats",
	client:  "StreamClientStatus",
	unknown: "StreamAggregatedResources",
}

// stream is a stream of a script, or all polls of one client.
type stream struct {
	label  string
	shape  shape
	fixed  bool // by its method
	method xds.Method
	node   string  // id
	from   *string // peer=
	server string  // server=
	shares *stream // conn=: whose connection it shares
	ua     string  // user-agent of the headers

	conn   *conn
	id     session.StreamID
	h2     uint32
	opened bool
	headed bool // the server's headers were sent
	ended  bool
	poll   *poll // the last one

	// nodes are what the node of each id said of itself last.
	nodes map[string]*decode.Node
}

// conn is a connection.
type conn struct {
	id   session.ConnID
	h2   uint32 // the next HTTP/2 stream id
	peer *session.Peer
}

// player turns lines into entries. It goes over them twice: the first time it
// finds out what the streams are, because what opens a stream comes before what
// says of which kind it is.
type player struct {
	events []event
	bytes  int64

	streams map[string]*stream // by label
	byShape map[shape]*stream  // that no line has opened
	current *stream
	latest  *stream // of byShape, if the last message was on one
	files   map[string]*stream

	hosts map[string]int // number of each node
	nconn session.ConnID
	nstr  session.StreamID
	now   int64 // nanoseconds since the start
	line  *line
}

func newPlayer() *player {
	return &player{
		streams: make(map[string]*stream), byShape: make(map[shape]*stream), files: make(map[string]*stream),
		hosts: make(map[string]int),
	}
}

// assign finds the stream of each line, and what kind of stream it is.
func (p *player) assign(lines []*line) error {
	for _, l := range lines {
		var err error
		switch {
		case l.kind.word != "--":
			err = p.assignMessage(l)
		case l.event() == "stream":
			err = p.declare(l)
		case l.event() == "csds":
			l.stream, err = p.find(l, client)
		case wordOf(eventKinds, l.event()) != nil && wordOf(eventKinds, l.event()).ofStream:
			if l.stream, err = p.find(l, unknown); err == nil && l.stream == nil {
				err = l.fail(l.at, "there is no stream yet that this could be about")
			}
		case l.label != "":
			err = l.fail(0, "this event belongs to no stream")
		}
		if err != nil {
			return err
		}
	}
	p.current = nil
	return nil
}

func (p *player) assignMessage(l *line) error {
	if l.kind.shape == file {
		if l.label != "" {
			return l.fail(0, "a file belongs to no stream")
		}
		return nil
	}
	var err error
	if l.stream, err = p.find(l, l.kind.shape); err != nil {
		return err
	}
	// What the first request says of the client decides where it comes from.
	s := l.stream
	for _, w := range l.words {
		if w.key == "node" && s.node == "" {
			s.node, _, err = l.pair(w.value)
		}
	}
	return err
}

// find returns the stream that a line belongs to. For events, which fit to every
// shape, it may be nil.
func (p *player) find(l *line, want shape) (*stream, error) {
	if l.label != "" {
		s := p.streams[l.label]
		if s == nil {
			return nil, l.fail(strings.IndexByte(l.text, '@'), "there is no stream %s yet", l.label).hint("-- stream %s opens it", l.label)
		}
		return s, s.become(l, want)
	}
	s := p.current
	if want == unknown && (p.latest != nil || s == nil) {
		return p.latest, nil
	}
	if want != client && want != unknown {
		p.latest = nil
	}
	if s != nil && (want == unknown || s.fits(want)) {
		return s, s.become(l, want)
	}
	if s == nil && (want == sotw || want == delta) {
		s = &stream{label: "1", shape: want}
		p.streams["1"], p.current = s, s
		return s, nil
	}
	if s != nil && (want == sotw || want == delta) {
		return nil, l.fail(l.at, "%s on a stream of %s", l.kind, s.shape).hint("-- stream 2 before this line opens another stream")
	}
	if p.byShape[want] == nil {
		p.byShape[want] = &stream{shape: want}
	}
	if want != client { // which is an event itself
		p.latest = p.byShape[want]
	}
	return p.byShape[want], nil
}

// fits says whether lines of a shape can belong to the stream.
func (s *stream) fits(want shape) bool {
	return s.shape == want || s.shape == unknown || s.shape == bare && !s.fixed
}

func (s *stream) become(l *line, want shape) error {
	if want == unknown {
		return nil
	}
	if !s.fits(want) {
		return l.fail(l.at, "%s on a stream of %s", l.kind, s.shape)
	}
	s.shape = want
	return nil
}

// declare reads "-- stream".
func (p *player) declare(l *line) error {
	f := l.fields("method", "node", "peer", "server", "conn", "ua")
	if err := f.done(2); err != nil {
		return err
	}
	if l.label != "" || l.times != 1 {
		return l.fail(l.at, "a stream is opened once, by its name").hint("such as -- stream 2")
	}
	if len(f.bare) != 2 {
		return l.fail(l.at, "the stream has no name").hint("such as -- stream 2")
	}
	s := &stream{label: l.str(f.bare[1].value), server: f.text("server"), ua: f.text("ua")}
	if p.streams[s.label] != nil {
		return l.fail(f.bare[1].off, "there is a stream %s already", s.label)
	}
	if f.has("peer") {
		from := f.text("peer")
		s.from = &from
	}
	if w := f.get("conn"); w != nil {
		if s.shares = p.streams[l.str(w.value)]; s.shares == nil {
			f.fail(l.fail(w.off, "there is no stream %s yet whose connection this could be", quoteShort(l.str(w.value))))
		}
		if f.has("peer") || f.has("server") {
			f.fail(l.fail(w.off, "the connection has its addresses from the stream that opened it"))
		}
	}
	if w := f.get("node"); w != nil {
		var err error
		s.node, _, err = l.pair(w.value)
		f.fail(err)
	}
	if w := f.get("method"); w != nil {
		f.fail(s.setMethod(l, w.value))
	}
	p.streams[s.label], p.current, p.latest, l.stream = s, s, nil, s
	return f.err
}

// setMethod resolves method=: a name, a path of gRPC, or one of REST.
func (s *stream) setMethod(l *line, at span) error {
	v, err := l.textOf(at)
	if err != nil {
		return err
	}
	if strings.HasPrefix(v, "/") {
		s.method = xds.LookupMethod(v)
	} else {
		m, ok := xds.MethodNamed(v)
		if !ok {
			return l.fail(at.from, "%s is no method of a discovery service", quoteShort(v)).meant(v, methodNames())
		}
		s.method = m
	}
	s.fixed = true
	s.shape = shapeOfMethod(s.method)
	s.fixed = s.shape != bare
	return nil
}

// shapeOfMethod tells the shape from the method.
func shapeOfMethod(m xds.Method) shape {
	switch m.Variant {
	case xds.VariantSotw, xds.VariantSotwADS:
		return sotw
	case xds.VariantDelta, xds.VariantDeltaADS:
		return delta
	case xds.VariantREST:
		return rest
	case xds.VariantLRS:
		return load
	case xds.VariantCSDS:
		return client
	case xds.VariantFile:
		return file
	}
	return bare
}

func methodNames() []string {
	var out []string
	for _, m := range xds.Methods() {
		if !m.V2 && m.Name != "" {
			out = append(out, m.Name)
		}
	}
	return out
}

// describe names the stream in a text for people.
func (s *stream) describe() string {
	if s.label == "" {
		return "the stream"
	}
	return fmt.Sprintf("stream %s", s.label)
}
