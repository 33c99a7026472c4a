package engine

import (
	"fmt"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// polls is the conversation that polls of REST make. Each poll is a stream of
// its own; what they say goes on from one to the next, over as many connections
// as the client uses.
type polls struct {
	*Types
	key     pollKey
	of      *client
	conns   map[session.ConnID]struct{} // that are open
	memento *memento                    // while none is
}

// pollKey is what the polls of one conversation have in common: the node, or the
// connection of a client that gave none, and where it asks.
type pollKey struct{ client, server, path string }

// maxPolls bounds the conversations of clients that are there.
const maxPolls = 1 << 14

// join makes a poll part of its conversation.
func (k *Engine) joinPolls(t *Stream) {
	if t.Method.Variant != xds.VariantREST || t.polls != nil {
		return
	}
	cn, id := k.conn(t.Conn), t.client
	if id == "" {
		id = cn.client
	}
	if id == "" {
		id = fmt.Sprintf("\x00%d", t.Conn)
	}
	key := pollKey{Short(id), t.Server, Short(t.Method.Path)}
	p := k.polls[key]
	if p == nil {
		if len(k.polls) >= maxPolls {
			return
		}
		p = &polls{Types: newTypes(), key: key, conns: make(map[session.ConnID]struct{})}
		k.polls[key] = p
	}
	k.past.drop(p.memento)
	p.memento = nil
	if _, known := p.conns[t.Conn]; !known {
		p.conns[t.Conn] = struct{}{}
		cn.polls = append(cn.polls, p)
	}
	t.polls, t.Types = p, p.Types
}

// hangUp notes that a connection of a conversation was closed.
func (k *Engine) hangUp(p *polls, id session.ConnID, why string) {
	if delete(p.conns, id); len(p.conns) > 0 {
		return
	}
	p.memento = k.past.add(p.bytes(), func() { k.forgetPolls(p) })
	if of := p.of; of != nil && !of.here() {
		of.gone, of.why = k.Now, why
		k.gone(of)
	}
}

func (k *Engine) forgetPolls(p *polls) {
	for _, s := range p.Order {
		k.lists.release(s.list)
		if p.of != nil {
			p.of.leaveType(k, s)
			p.of.let(s)
		}
	}
	delete(k.polls, p.key)
	if p.of != nil {
		p.of.polls = without(p.of.polls, p)
	}
}

func (p *polls) bytes() int64 {
	n := int64(512)
	for _, s := range p.Order {
		n += 1024 + int64(s.Have.Len())*160 + int64(s.Names.Len())*64
	}
	return n
}
