// Package store is how this program writes recordings: with labels, by which a
// reader leaves blocks out, and with secrets masked. What is in them it leaves to
// others.
package store

import (
	"github.com/xdsproxy/xdsproxy/check/filter"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// The labels that the index of a recording has for an entry: the type of its
// message or stream and the node id of its client, once known, as watch prints
// them; and these.
const (
	// Begins is that of entries without which others of their stream
	// cannot be understood: its headers, the request that names the client,
	// messages that cannot be read whole, its end. Polls of REST have none of
	// it: they are too short to be entered in their middle.
	Begins = "begins"
	// Loose is that of entries which the label of their client may miss:
	// those of polls, and messages of a stream that has not named its client.
	Loose = "loose"
	// Marks is that of notes with which people mark something, or take a
	// mark away.
	Marks = "marks"
)

// Labels makes the labels of entries, in order. Who speaks on which stream it
// asks decode.Streams; it looks at no resource.
type Labels struct {
	Streams *decode.Streams
	types   map[string]string // label by type URL, or by short type
	clients map[string]string // label by node id
	out     [4]string
	// look reads what is needed of a message; chunk.Glance if nil.
	look func(xds.Method, session.Side, *session.Message) chunk.Brief
}

// maxLabels bounds the labels of either kind that are kept.
const maxLabels = 1 << 10

// NewLabels begins before the first entry.
func NewLabels() *Labels {
	return &Labels{Streams: decode.NewStreams(), types: make(map[string]string), clients: make(map[string]string)}
}

// Of returns the labels of the next entry. The slice is used again by the next
// call.
func (l *Labels) Of(e *session.Entry) []string {
	st, conn := l.Streams.Step(e)
	var client, typ string
	if conn != nil {
		client = conn.Client
	}
	poll, named := false, false
	if st != nil {
		typ, poll = st.Method.Type, st.Method.Variant == xds.VariantREST
		if st.Client != "" {
			client = st.Client
		}
	}
	said, begins, marks := false, false, false
	switch e.Kind {
	case session.KindHeld:
		begins = true // whatever is asked for, it says what the client has of it
		if e.Held != nil {
			client = e.Held.Node
		}
	case session.KindNote:
		marks = e.Note != nil && (e.Note.Code == session.NoteMark || e.Note.Code == session.NoteUnmark)
	case session.KindGap:
		begins = e.Gap != nil && e.Gap.Cause.Chosen() // block headers do not count it
	case session.KindMessage:
		said = e.Message != nil && (e.Side == session.Client || e.Side == session.Server)
		if begins = said && !e.Message.Whole(); !said || e.Message.Unread() != "" {
			break
		}
		b := l.glance(st, e)
		if b.TypeURL != "" {
			typ = b.TypeURL
		}
		if b.NodeID != "" {
			client = b.NodeID
			begins = st != nil && st.Name(client) || begins
		}
	case session.KindOpen, session.KindHeader, session.KindTrailer, session.KindCancel:
		begins = st != nil
	case session.KindDisconnect:
		begins = conn != nil
	}
	named = st != nil && st.Client != ""
	out := l.out[:0]
	switch {
	case poll, said && !named && !begins:
		out = append(out, Loose)
	case begins:
		out = append(out, Begins)
	}
	if marks {
		out = append(out, Marks)
	}
	if typ != "" {
		out = append(out, l.typeOf(typ))
	}
	if client != "" {
		out = append(out, l.clientOf(client))
	}
	return out
}

// glance looks at a message no closer than it must.
func (l *Labels) glance(st *decode.Stream, e *session.Entry) chunk.Brief {
	if st == nil {
		st = &decode.Stream{}
	}
	data, peek := e.Message.Data, false
	switch st.Method.Variant {
	case xds.VariantLRS, xds.VariantCSDS, xds.VariantOther:
		peek = e.Side == session.Client && st.Method.Request != "" // it names a node
	}
	switch {
	case peek || st.JSON(e.Side, data):
	case l.look != nil:
		return l.look(st.Method, e.Side, e.Message)
	default:
		return chunk.Glance(st.Method, e.Side, data)
	}
	m := decode.Peek(st.Method, e.Side, st.Content(e.Side), data.Bytes())
	b := chunk.Brief{TypeURL: m.TypeURL}
	if m.Node != nil {
		b.NodeID = m.Node.ID
	}
	return b
}

func (l *Labels) typeOf(url string) string {
	label, known := l.types[url]
	if !known {
		label = filter.TypeLabel + xds.ShortType(url)
		keep(l.types, url, label)
	}
	return label
}

func (l *Labels) clientOf(id string) string {
	label, known := l.clients[id]
	if !known {
		label = filter.ClientLabel + id
		keep(l.clients, id, label)
	}
	return label
}

// keep keeps a label, unless a peer made up too many or too long ones.
func keep(labels map[string]string, of, label string) {
	if len(labels) < maxLabels && len(of) <= 1<<10 {
		labels[of] = label
	}
}
