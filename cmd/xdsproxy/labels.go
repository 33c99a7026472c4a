package main

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

// The labels that the index of a recording has for an entry: the type of its
// message or stream, as watch prints it, and the node id of its client, once
// known.
const (
	typeLabel   = "type:"
	clientLabel = "client:"
	// beginsLabel is that of entries without which the later ones of their
	// stream cannot be understood: its headers, and the request that names the
	// client. Polls of REST are too short to need it.
	beginsLabel = "begins"
)

// labels makes the labels of entries, in order, from what it has seen of their
// streams. It decodes no message: it looks at the envelope only.
type labels struct {
	conns   map[session.ConnID]*labelledConn
	streams map[session.StreamID]*labelledStream
	types   map[string]string // label by type URL
	out     [3]string
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
}

const (
	// maxLabelled bounds the streams that are remembered: the entries of
	// others are labelled by what they say themselves.
	maxLabelled      = 1 << 18
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
	if e.Kind == session.KindOpen && e.Stream != 0 {
		l.open(e)
	}
	conn, st := l.conns[e.Conn], l.streams[e.Stream]
	var client, typ string
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
	if m := e.Message; m != nil && !m.Compressed {
		var method decode.Method
		if st != nil {
			method = st.method
		}
		b := decode.Glance(method, e.Side, m.Data)
		if b.TypeURL != "" {
			typ = l.typeOf(b.TypeURL)
		}
		if b.NodeID != "" {
			client = clientLabel + b.NodeID
			if st != nil {
				begins = st.client != client
				st.client, st.conn.client = client, client
			}
		}
	}
	switch e.Kind {
	case session.KindOpen, session.KindHeader:
		begins = st != nil && st.method.Variant != decode.VariantREST
	case session.KindTrailer, session.KindCancel:
		if st != nil {
			delete(st.conn.streams, e.Stream)
			delete(l.streams, e.Stream)
		}
	case session.KindDisconnect:
		if conn != nil {
			for id := range conn.streams {
				delete(l.streams, id)
			}
			delete(l.conns, e.Conn)
		}
	}
	out := l.out[:0]
	if begins {
		out = append(out, beginsLabel)
	}
	if typ != "" {
		out = append(out, typ)
	}
	if client != "" {
		out = append(out, client)
	}
	return out
}

func (l *labels) open(e *session.Entry) {
	if len(l.streams) >= maxLabelled {
		return
	}
	conn := l.conns[e.Conn]
	if conn == nil {
		conn = &labelledConn{streams: make(map[session.StreamID]struct{})}
		l.conns[e.Conn] = conn
	}
	st := &labelledStream{conn: conn, method: decode.LookupMethod(e.Method)}
	if st.method.Type != "" {
		st.typ = typeLabel + st.method.Type
	}
	conn.streams[e.Stream] = struct{}{}
	l.streams[e.Stream] = st
}

func (l *labels) typeOf(url string) string {
	label, known := l.types[url]
	if !known {
		label = typeLabel + decode.ShortType(url)
		if len(l.types) < maxLabelledTypes && len(url) <= 1<<10 {
			l.types[url] = label
		}
	}
	return label
}
