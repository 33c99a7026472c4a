package decode

import (
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// streams remembers of each open stream what decides how its messages are read.
type streams map[session.StreamID]*stream

type stream struct {
	conn    session.ConnID
	method  xds.Method
	content [2]string // content type of the client's and of the server's side
}

// maxStreams bounds the streams that are remembered; messages of others are
// treated as if their headers had been lost.
const maxStreams = 1 << 18

func newStreams() streams { return make(streams) }

// step takes note of an entry and returns what is known of its stream.
func (s streams) step(e *session.Entry) stream {
	st := s[e.Stream]
	switch e.Kind {
	case session.KindOpen:
		if len(s) < maxStreams && e.Stream != 0 {
			s[e.Stream] = &stream{
				conn: e.Conn, method: xds.LookupMethod(e.Method),
				content: [2]string{session.Get(e.Headers, "content-type")},
			}
		}
	case session.KindHeader:
		if st != nil && e.Side == session.Server {
			if ct := session.Get(e.Headers, "content-type"); ct != "" {
				st.content[1] = ct
			}
		}
	case session.KindTrailer, session.KindCancel:
		delete(s, e.Stream)
	case session.KindDisconnect:
		for id, st := range s {
			if st.conn == e.Conn {
				delete(s, id)
			}
		}
	}
	if st == nil {
		return stream{}
	}
	return *st
}

// json says whether a message that side sent is JSON.
func (st *stream) json(side session.Side, data session.Chunks) bool {
	content := st.content[0]
	if side != session.Client {
		content = st.content[1]
	}
	return FormOf(st.method, content) == FormJSON || st.method.Path == "" && looksLikeJSON(data[0])
}
