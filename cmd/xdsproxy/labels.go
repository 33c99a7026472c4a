package main

import (
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// The labels that the index of a recording has for an entry: the type of its
// message or stream and the node id of its client, once known, as watch prints
// them; and these two.
const (
	// beginsLabel is that of entries without which others of their stream
	// cannot be understood: its headers, the request that names the client,
	// messages that cannot be read whole, its end. Polls of REST have none of
	// it: they are too short to be entered in their middle.
	beginsLabel = "begins"
	// looseLabel is that of entries which the label of their client may miss:
	// those of polls, and messages of a stream that has not named its client.
	looseLabel = "loose"
)

// labels makes the labels of entries, in order, from what it has seen of their
// streams. It follows check.Checker in what it takes for the type and the
// client of an entry, but looks at no resource.
type labels struct {
	conns   map[session.ConnID]*labelledConn
	streams map[session.StreamID]*labelledStream
	ended   []session.StreamID // oldest first
	types   map[string]string  // label by type URL
	out     [4]string
}

type labelledConn struct {
	client  string // label of the node that was named last on any stream
	streams map[session.StreamID]struct{}
}

type labelledStream struct {
	conn   *labelledConn
	method decode.Method
	client string // label
	typ    string // label of a stream that carries one type
	sides  [2]labelledSide
	ended  bool
}

// labelledSide is how the client or the server writes its messages.
type labelledSide struct {
	content string
	// peek says that Glance does not see what Peek sees.
	peek bool
}

const (
	// maxLabelled bounds the streams that are remembered: the entries of
	// others are labelled by what they say themselves.
	maxLabelled = 1 << 18
	// maxEnded bounds the ended ones whose late messages are still labelled.
	maxEnded         = 1024
	maxLabelledTypes = 1 << 10
)

func newLabels() *labels {
	return &labels{
		conns:   make(map[session.ConnID]*labelledConn),
		streams: make(map[session.StreamID]*labelledStream),
		types:   make(map[string]string),
	}
}

// of returns the labels of the next entry. The slice is used again by the next
// call.
func (l *labels) of(e *session.Entry) []string {
	m := e.Message
	if e.Side != session.Client && e.Side != session.Server {
		m = nil
	}
	conn, st := l.conns[e.Conn], l.streams[e.Stream]
	switch {
	case e.Stream == 0:
		st = nil
	case e.Kind == session.KindOpen:
		st = l.begin(e, decode.LookupMethod(e.Method))
	case m != nil && st == nil:
		st = l.begin(e, decode.Method{}) // its beginning was not seen
	case e.Kind == session.KindHeader && st != nil && e.Side == session.Server:
		if content := session.Get(e.Headers, "content-type"); content != "" {
			st.reads(session.Server, content)
		}
	}
	if st != nil {
		conn = st.conn
	}
	var client, typ string
	poll := st != nil && st.method.Variant == decode.VariantREST
	begins := false
	if conn != nil {
		client = conn.client
	}
	if st != nil {
		typ = st.typ
		if st.client != "" {
			client = st.client
		}
	}
	marks := false
	switch e.Kind {
	case session.KindNote:
		marks = e.Note != nil && (e.Note.Code == session.NoteMark || e.Note.Code == session.NoteUnmark)
	case session.KindGap:
		begins = e.Gap != nil && e.Gap.Cause.Chosen() // block headers do not count it
	case session.KindMessage:
		begins = m != nil && (m.Compressed || m.Truncated)
		if m == nil || m.Compressed {
			break
		}
		b := glance(st, e)
		if b.TypeURL != "" {
			typ = l.typeOf(b.TypeURL)
		}
		if b.NodeID != "" {
			client = filter.ClientLabel + b.NodeID
			begins = begins || st != nil && (st.client != client || conn.client != client)
			if st != nil {
				st.client = client
			}
			if conn != nil {
				conn.client = client
			}
		}
	case session.KindOpen, session.KindHeader:
		begins = st != nil
	case session.KindTrailer, session.KindCancel:
		begins = st != nil
		l.end(e.Stream, st)
	case session.KindDisconnect:
		begins = conn != nil
		l.disconnect(e.Conn)
	}
	out := l.out[:0]
	switch {
	case poll, m != nil && (st == nil || st.client == "") && !begins:
		out = append(out, looseLabel)
	case begins:
		out = append(out, beginsLabel)
	}
	if marks {
		out = append(out, marksLabel)
	}
	if typ != "" {
		out = append(out, typ)
	}
	if client != "" {
		out = append(out, client)
	}
	return out
}

// begin is nil if there is no room.
func (l *labels) begin(e *session.Entry, m decode.Method) *labelledStream {
	if len(l.streams) >= maxLabelled {
		return nil
	}
	conn := l.conns[e.Conn]
	if conn == nil {
		conn = &labelledConn{streams: make(map[session.StreamID]struct{})}
		l.conns[e.Conn] = conn
	}
	st := &labelledStream{conn: conn, method: m}
	if m.Type != "" {
		st.typ = filter.TypeLabel + m.Type
	}
	st.reads(session.Client, session.Get(e.Headers, "content-type"))
	st.reads(session.Server, "")
	conn.streams[e.Stream] = struct{}{}
	l.streams[e.Stream] = st
	return st
}

func (l *labels) end(id session.StreamID, st *labelledStream) {
	if st == nil || st.ended {
		return
	}
	st.ended = true
	if len(l.ended) >= maxEnded {
		if old := l.streams[l.ended[0]]; old != nil && old.ended {
			delete(old.conn.streams, l.ended[0])
			delete(l.streams, l.ended[0])
		}
		l.ended = append(l.ended[:0], l.ended[1:]...)
	}
	l.ended = append(l.ended, id)
}

func (l *labels) disconnect(id session.ConnID) {
	if conn := l.conns[id]; conn != nil {
		for s := range conn.streams {
			delete(l.streams, s)
		}
		delete(l.conns, id)
	}
}

// reads notes the content type of one side.
func (st *labelledStream) reads(side session.Side, content string) {
	peek := decode.FormOf(st.method, content) == decode.FormJSON
	switch st.method.Variant {
	case decode.VariantLRS, decode.VariantCSDS, decode.VariantOther:
		peek = peek || side == session.Client && st.method.Request != "" // it names a node
	}
	st.sides[sideIndex(side)] = labelledSide{content, peek}
}

func sideIndex(s session.Side) int {
	if s == session.Server {
		return 1
	}
	return 0
}

// glance looks at a message no closer than it must.
func glance(st *labelledStream, e *session.Entry) decode.Brief {
	var method decode.Method
	var side labelledSide
	if st != nil {
		method, side = st.method, st.sides[sideIndex(e.Side)]
	}
	data := e.Message.Data
	if json := len(data) > 0 && len(data[0]) > 0 && data[0][0] == '{'; !side.peek && !(json && method.Path == "") {
		return decode.Glance(method, e.Side, data)
	}
	m := decode.Peek(method, e.Side, side.content, data.Bytes())
	b := decode.Brief{TypeURL: m.TypeURL}
	if m.Node != nil {
		b.NodeID = m.Node.ID
	}
	return b
}

func (l *labels) typeOf(url string) string {
	label, known := l.types[url]
	if !known {
		label = filter.TypeLabel + decode.ShortType(url)
		if len(l.types) < maxLabelledTypes && len(url) <= 1<<10 {
			l.types[url] = label
		}
	}
	return label
}
