package engine

import (
	"iter"
	"maps"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// conn is what is known of a connection while it lasts.
type conn struct {
	at      session.Seq // of its Connect
	peer    *session.Peer
	client  string       // last node id that any of its streams gave
	node    *decode.Node // with that id
	streams map[session.StreamID]struct{}
	polls   []*polls // of REST that came over it
}

// conn returns that with an id, and makes it where it is new.
func (k *Engine) conn(id session.ConnID) *conn {
	cn := k.conns[id]
	if cn == nil {
		cn = &conn{streams: make(map[session.StreamID]struct{})}
		if len(k.conns) < maxStreams {
			k.conns[id] = cn
		}
	}
	return cn
}

func (cn *conn) ids() iter.Seq[session.StreamID] { return maps.Keys(cn.streams) }
