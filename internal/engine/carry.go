package engine

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// Carry knows which entries of a session one needs to understand what comes
// next: of each live connection how it began, and of each live stream its
// headers, its first request (which names the node), and for each type the
// last request, the last response, and the last response that was accepted.
//
// It keeps sequence numbers, no entries. It must see every entry, in order,
// and is not safe for concurrent use.
type Carry struct {
	conns   map[session.ConnID]session.Seq
	streams map[session.StreamID]*carried
}

// carried is what is kept of one stream.
type carried struct {
	conn    session.ConnID
	method  xds.Method
	headers []session.Seq // Open and Header, in order
	first   session.Seq   // request
	types   map[string]*carriedType
}

// carriedType are the entries of one type on one stream, 0 for none.
type carriedType struct {
	request, response, accepted session.Seq
	nonce                       string // of response
}

// maxCarriedHeaders bounds what is kept of a stream that sends headers without
// end.
const maxCarriedHeaders = 8

// NewCarry returns a Carry that has seen nothing.
func NewCarry() *Carry {
	return &Carry{conns: make(map[session.ConnID]session.Seq), streams: make(map[session.StreamID]*carried)}
}

// Step takes the next entry.
func (c *Carry) Step(e *session.Entry) {
	switch e.Kind {
	case session.KindConnect:
		c.conns[e.Conn] = e.Seq
	case session.KindDisconnect:
		delete(c.conns, e.Conn)
		for id, s := range c.streams {
			if s.conn == e.Conn {
				delete(c.streams, id)
			}
		}
	case session.KindOpen:
		if len(c.streams) < maxStreams {
			c.streams[e.Stream] = &carried{
				conn: e.Conn, method: xds.LookupMethod(e.Method),
				headers: []session.Seq{e.Seq}, types: make(map[string]*carriedType),
			}
		}
	case session.KindTrailer, session.KindCancel:
		delete(c.streams, e.Stream)
	case session.KindHeader:
		if s := c.streams[e.Stream]; s != nil && len(s.headers) < maxCarriedHeaders {
			s.headers = append(s.headers, e.Seq)
		}
	case session.KindMessage:
		if s := c.streams[e.Stream]; s != nil && e.Message != nil && !e.Message.Compressed {
			s.message(e)
		}
	}
}

func (s *carried) message(e *session.Entry) {
	b := decode.Glance(s.method, e.Side, e.Message.Data)
	if e.Side == session.Client && s.first == 0 {
		s.first = e.Seq
	}
	key := b.TypeURL
	if key == "" { // a stream of one type need not name it
		key = s.method.Type
	}
	t := s.types[key]
	if t == nil {
		if len(s.types) >= maxTypes {
			return
		}
		t = &carriedType{}
		s.types[key] = t
	}
	switch b.Kind {
	case decode.SotwRequest, decode.DeltaRequest:
		t.request = e.Seq
		if t.response != 0 && b.Nonce == t.nonce && !b.Rejected {
			t.accepted = t.response
		}
	case decode.SotwResponse, decode.DeltaResponse:
		t.response, t.nonce = e.Seq, b.Nonce
		if len(t.nonce) > maxKey {
			t.nonce = ""
		}
	}
}

// Needed lists the entries, in ascending order.
func (c *Carry) Needed() []session.Seq {
	var out []session.Seq
	for _, seq := range c.conns {
		out = append(out, seq)
	}
	for _, s := range c.streams {
		out = append(out, s.headers...)
		out = append(out, s.first)
		for _, t := range s.types {
			out = append(out, t.request, t.response, t.accepted)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > 0 && out[0] == 0 {
		out = out[1:]
	}
	return out
}
