package index

import (
	"strconv"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// place is a stream, or a connection, or the session as a whole.
type place struct {
	conn   session.ConnID
	stream session.StreamID
	method xds.Method
	client uint32 // the client that was named there last, in the table of words

	content [2]uint32 // content types of client and server, in the table of words

	begun session.Seq // the entry that began a connection, the first request of a stream; 0: not seen
}

// places are the streams and connections of a session. Row.place is an index
// into all.
type places struct {
	all     []place
	streams map[session.StreamID]uint32
	conns   map[session.ConnID]uint32
}

func newPlaces() places {
	return places{
		all:     []place{{}}, // the session
		streams: make(map[session.StreamID]uint32), conns: make(map[session.ConnID]uint32),
	}
}

// of returns the place of an entry, which may be a new one.
func (p *places) of(e *session.Entry) uint32 {
	if e.Conn == 0 && e.Stream == 0 {
		return 0
	}
	conn, known := p.conns[e.Conn]
	if !known {
		conn = p.add(place{conn: e.Conn})
		p.conns[e.Conn] = conn
	}
	if e.Stream == 0 {
		return conn
	}
	stream, known := p.streams[e.Stream]
	if !known {
		stream = p.add(place{conn: e.Conn, stream: e.Stream})
		p.streams[e.Stream] = stream
	}
	return stream
}

func (p *places) add(of place) uint32 {
	p.all = append(p.all, of)
	return uint32(len(p.all) - 1)
}

// begin notes where a place begins.
func (p *places) begin(at uint32, e *session.Entry) {
	request := e.Kind == session.KindMessage && e.Side == session.Client
	if of := &p.all[at]; of.begun == 0 && (request || e.Kind == session.KindConnect) {
		of.begun = e.Seq
	}
}

// named notes that a place and its connection have named their client.
func (p *places) named(at, client uint32) {
	if client == 0 {
		return
	}
	of := &p.all[at]
	of.client = client
	if conn, ok := p.conns[of.conn]; ok {
		p.all[conn].client = client
	}
}

// clientAt is the client of a place, 0 if it has not named one.
func (p *places) clientAt(at uint32) uint32 {
	of := &p.all[at]
	if of.client != 0 {
		return of.client
	}
	if conn, ok := p.conns[of.conn]; ok {
		return p.all[conn].client
	}
	return 0
}

func (p *place) nameless() string {
	if p.conn == 0 {
		return ""
	}
	return "conn " + strconv.FormatUint(uint64(p.conn), 10)
}

// wordTable gives numbers to words that come again and again.
type wordTable struct {
	list []string
	ids  map[string]uint32
}

func newWords() wordTable { return wordTable{list: []string{""}, ids: map[string]uint32{"": 0}} }

// id is the number of a word; most bounds how many there can be.
func (t *wordTable) id(s string, most int) uint32 {
	if id, ok := t.ids[s]; ok {
		return id
	}
	if len(t.list) >= most {
		return 0
	}
	t.list = append(t.list, s)
	t.ids[s] = uint32(len(t.list) - 1)
	return uint32(len(t.list) - 1)
}
