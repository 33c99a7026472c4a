package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// open takes note of a stream, and writes it unless it is a poll or a file.
func (w *writer) open(e *session.Entry) {
	if e.Method == "" { // its headers were lost: the first message tells more
		delete(w.streams, e.Stream)
		return
	}
	st := &written{id: e.Stream, conn: e.Conn, method: xds.LookupMethod(e.Method)}
	st.content[0] = session.Get(e.Headers, "content-type")
	st.shape = shapeOfMethod(st.method)
	w.streams[e.Stream] = st
	if e.Sent != nil {
		w.lost[lostSent]++
	}
	switch st.shape {
	case rest:
		st.open = e
		w.context(st, e)
		return
	case file:
		return
	}
	st.label = w.label(e.Stream)
	w.declare(st, e, st.method)
	if ua := userAgentOf(e); len(e.Headers) > 0 && !slices.Equal(e.Headers, grpcHeaders(e.Method, ua)) {
		w.odd(st)
	}
}

// label names a stream by its number, but for numbers that are not the highest
// so far: these may have been used.
func (w *writer) label(id session.StreamID) string {
	if id > w.highest {
		w.highest = id
		return strconv.FormatUint(uint64(id), 10)
	}
	w.nagain++
	return "again" + strconv.Itoa(w.nagain)
}

func userAgentOf(e *session.Entry) string { return session.Get(e.Headers, "user-agent") }

// odd counts a stream whose headers are not written, once.
func (w *writer) odd(st *written) {
	if !st.odd {
		st.odd = true
		w.lost[lostHeaders]++
	}
}

// connOf is the connection of an entry, also if it was not seen to begin.
func (w *writer) connOf(id session.ConnID) *link {
	c := w.conns[id]
	if c == nil {
		c = &link{}
		w.conns[id] = c
	}
	return c
}

// declare writes the line that opens a stream, or a context of polls.
func (w *writer) declare(st *written, e *session.Entry, m xds.Method) {
	var b strings.Builder
	b.WriteString("-- stream " + st.label)
	if m.Path != sotwPath {
		b.WriteString(" method=" + w.methodText(m))
	}
	c := w.connOf(e.Conn)
	if len(c.streams) < maxEnded {
		c.streams = append(c.streams, st.id)
	}
	if c.label == "" {
		c.label = st.label
		w.nconn++
		b.WriteString(w.peerText(c))
	} else {
		b.WriteString(" conn=" + c.label)
	}
	if ua := userAgentOf(e); ua != defaultUserAgent && ua != "" {
		b.WriteString(" ua=" + w.text(ua))
	}
	w.line(e.Time, "", b.String())
	w.current = st.label
}

// peerText says where a connection is from and to, where that is not what a
// script says by itself.
func (w *writer) peerText(c *link) (out string) {
	usual := (&player{hosts: map[string]int{}}).peerOf(&stream{}, w.nconn)
	if c.peer == nil {
		return ""
	}
	if c.peer.Client != usual.Client {
		out += " peer=" + w.text(c.peer.Client)
	}
	if c.peer.Upstream != usual.Upstream {
		out += " server=" + w.text(c.peer.Upstream)
	}
	if c.peer.Listen != usual.Listen || c.peer.Local != usual.Local {
		w.lost[lostPeers]++
	}
	return out
}

// methodText is method= for a path.
func (w *writer) methodText(m xds.Method) string {
	name := m.Name
	if m.V2 {
		name = "v2." + name
	}
	if named, ok := xds.MethodNamed(name); ok && named.Path == m.Path {
		return name
	}
	if !strings.HasPrefix(m.Path, "/") {
		w.lost[lostHeaders]++
		return w.text("/unknown/" + m.Path)
	}
	return w.text(m.Path)
}

// join makes a stream of one that was not seen to begin.
func (w *writer) join(e *session.Entry) *written {
	if e.Kind != session.KindMessage || e.Message == nil || e.Message.Unread() != "" || e.Stream == 0 {
		return nil
	}
	m := decode.Peek(xds.Method{}, e.Side, "", e.Message.Data.Bytes())
	name := paths[sotw]
	switch m.Kind {
	case decode.DeltaRequest, decode.DeltaResponse:
		name = paths[delta]
	case decode.Other:
		return nil
	}
	w.lost[lostBefore]++
	open := &session.Entry{Time: e.Time, Conn: e.Conn, Stream: e.Stream, Kind: session.KindOpen, Side: session.Client}
	method, _ := xds.MethodNamed(name)
	open.Method = method.Path
	open.Headers = grpcHeaders(open.Method, defaultUserAgent)
	w.open(open)
	st := w.streams[e.Stream]
	st.headed = true
	if e.Side == session.Server {
		w.lost[lostHeaders]++
	}
	return st
}

// header takes the headers of a server, or the event of a file.
func (w *writer) header(e *session.Entry) {
	st := w.streams[e.Stream]
	if st == nil {
		return
	}
	if ct := session.Get(e.Headers, "content-type"); ct != "" && e.Side == session.Server {
		st.content[1] = ct
	}
	switch {
	case st.shape == file:
		w.held = e
	case st.shape == rest:
		st.status, _ = strconv.Atoi(session.Get(e.Headers, ":status"))
		want := []session.Field{{Name: ":status", Value: strconv.Itoa(st.status)}}
		if ct := session.Get(e.Headers, "content-type"); ct != "" {
			want = append(want, session.Field{Name: "content-type", Value: jsonType})
		}
		if !slices.Equal(e.Headers, want) {
			w.odd(st)
		}
	case e.Side != session.Server || st.headed || strings.HasPrefix(session.Get(e.Headers, ":status"), "1"):
		w.odd(st)
	default:
		st.headed = true
		if !slices.Equal(e.Headers, serverHeaders()) {
			w.odd(st)
		}
		w.held = e
	}
}

// settle writes what was held back, now that the next entry is known.
func (w *writer) settle(next *session.Entry) {
	e := w.held
	if e == nil {
		return
	}
	w.held = nil
	st := w.streams[e.Stream]
	follows := next != nil && next.Stream == e.Stream && next.Side == session.Server && next.Kind == session.KindMessage && next.Message != nil
	if st.shape == file {
		if follows {
			st.answer = e // goes with the message
			return
		}
		w.fileEvent(st, e, "")
		return
	}
	if !follows || !next.Time.Equal(e.Time) {
		w.on(st, e.Time, "-- server-headers")
	}
}

// sotwPath is the method of a stream that says nothing else.
var sotwPath = func() string {
	m, _ := xds.MethodNamed(paths[sotw])
	return m.Path
}()

// defaultUserAgent is that of a stream that says nothing else.
const defaultUserAgent = "xds"

const jsonType = "application/json"

// grpcHeaders are those of a request.
func grpcHeaders(path, ua string) []session.Field {
	return []session.Field{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: path},
		{Name: ":authority", Value: listenAddr},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "user-agent", Value: ua},
		{Name: "te", Value: "trailers"},
	}
}

// serverHeaders are those of a response.
func serverHeaders() []session.Field {
	return []session.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: "application/grpc"}}
}
