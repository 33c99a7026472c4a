package decode

import (
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Streams follows who speaks on which stream, and how: what has to be known of a
// stream before its messages are looked into. It must see every entry, in order.
type Streams struct {
	conns map[session.ConnID]*Conn
	all   map[session.StreamID]*Stream
	ended []session.StreamID // the oldest first

	unknown Stream // stays empty
	held    Stream // of what clients say beside their streams
}

// Conn is a connection on which there are streams.
type Conn struct {
	Client  string // node id that was given last on any of them
	streams map[session.StreamID]struct{}
}

// Method is how messages are exchanged on a stream, by its :path. A Stream has it.
type Method = xds.Method

// Stream is one that is open, or that ended a short while ago: messages may come
// late.
type Stream struct {
	Conn    *Conn
	Method  xds.Method // zero if its beginning was not seen
	Client  string     // node id that it gave last
	content [2]string
	json    [2]bool // that side writes JSON
	ended   bool
}

const (
	// maxStreams bounds the streams that are known; messages of others are
	// treated as if their headers had been lost.
	maxStreams = 1 << 18
	// maxEnded bounds those that have ended.
	maxEnded = 1024
)

// NewStreams returns Streams that have seen nothing.
func NewStreams() *Streams {
	return &Streams{conns: make(map[session.ConnID]*Conn), all: make(map[session.StreamID]*Stream)}
}

// Step takes the next entry, and returns the stream and the connection that it
// belongs to; nil if they are not known.
func (s *Streams) Step(e *session.Entry) (*Stream, *Conn) {
	if e.Kind == session.KindDisconnect {
		cn := s.conns[e.Conn]
		s.disconnect(e.Conn, cn)
		return nil, cn
	}
	if e.Kind == session.KindHeld {
		s.held.Method = xds.Held()
		return &s.held, nil
	}
	if e.Stream == 0 {
		return nil, s.conns[e.Conn]
	}
	st := s.all[e.Stream]
	switch e.Kind {
	case session.KindOpen:
		st = s.begin(e)
	case session.KindMessage:
		if st == nil && e.Message != nil && (e.Side == session.Client || e.Side == session.Server) {
			st = s.begin(e) // in its middle
		}
	case session.KindHeader:
		if ct := session.Get(e.Headers, "content-type"); st != nil && e.Side == session.Server && ct != "" {
			st.reads(session.Server, ct)
		}
	case session.KindTrailer, session.KindCancel:
		s.end(e.Stream, st)
	}
	if st == nil {
		return nil, s.conns[e.Conn]
	}
	return st, st.Conn
}

// Known is Step for those who take what is not known for a stream without
// headers.
func (s *Streams) Known(e *session.Entry) *Stream {
	if st, _ := s.Step(e); st != nil {
		return st
	}
	return &s.unknown
}

// begin is nil if there is no room.
func (s *Streams) begin(e *session.Entry) *Stream {
	if len(s.all) >= maxStreams {
		return nil
	}
	cn := s.conns[e.Conn]
	if cn == nil {
		cn = &Conn{streams: make(map[session.StreamID]struct{})}
		s.conns[e.Conn] = cn
	}
	st := &Stream{Conn: cn}
	if e.Kind == session.KindOpen {
		st.Method = xds.LookupMethod(e.Method)
	}
	st.reads(session.Client, session.Get(e.Headers, "content-type"))
	st.reads(session.Server, "")
	cn.streams[e.Stream], s.all[e.Stream] = struct{}{}, st
	return st
}

func (s *Streams) end(id session.StreamID, st *Stream) {
	if st == nil || st.ended {
		return
	}
	st.ended = true
	if len(s.ended) >= maxEnded {
		if old := s.all[s.ended[0]]; old != nil && old.ended {
			delete(old.Conn.streams, s.ended[0])
			delete(s.all, s.ended[0])
		}
		s.ended = append(s.ended[:0], s.ended[1:]...)
	}
	s.ended = append(s.ended, id)
}

func (s *Streams) disconnect(id session.ConnID, cn *Conn) {
	if cn != nil {
		for st := range cn.streams {
			delete(s.all, st)
		}
		delete(s.conns, id)
	}
}

// Len is how many streams and connections are known.
func (s *Streams) Len() (streams, conns int) { return len(s.all), len(s.conns) }

// Name notes the node id that a message on the stream gave, and says whether
// that is news.
func (t *Stream) Name(id string) bool {
	news := t.Client != id || t.Conn.Client != id
	t.Client, t.Conn.Client = id, id
	return news
}

// reads notes the content type of what a side writes.
func (t *Stream) reads(side session.Side, content string) {
	t.content[sideIndex(side)], t.json[sideIndex(side)] = content, FormOf(t.Method, content) == FormJSON
}

// Content is the content type of what a side writes, "" if it is not known.
func (t *Stream) Content(side session.Side) string { return t.content[sideIndex(side)] }

// JSON says whether a message that side sent is JSON.
func (t *Stream) JSON(side session.Side, data session.Chunks) bool {
	return t.json[sideIndex(side)] || t.Method.Path == "" && t.Method.Variant == "" && len(data) > 0 && LooksLikeJSON(data[0])
}

func sideIndex(s session.Side) int {
	if s == session.Client {
		return 0
	}
	return 1
}
