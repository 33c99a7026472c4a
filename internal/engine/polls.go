package engine

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// polls is the conversation that polls of REST make. Each poll is a stream of
// its own; what they say goes on from one to the next, over as many connections
// as the client uses.
//
// A client has as many conversations at a path as it has subscriptions, as an
// Envoy asks for the endpoints of each cluster on its own. A poll belongs to the
// one that asked for the same names last, or else to one that it changes: one
// that shares a name with it. Where either names nothing, it changes it, too.
type polls struct {
	*Types
	key     pollKey
	last    session.Seq // poll
	of      *client
	conns   map[session.ConnID]struct{} // that are open
	memento *memento                    // while none is
}

// poller is who polls, and where: the node, or the connection of a client that
// gave none.
type poller struct{ client, server, path string }

// pollKey is what the polls of one conversation have in common. names are a hash
// of those that it asked for last, in any order.
type pollKey struct {
	poller
	names uint64
}

const (
	maxPolls = 1 << 14 // conversations of clients that are there
	maxLists = 1 << 12 // of one of them, at one path
	// maxCompared is how many names of a poll are looked for in other conversations.
	maxCompared = 256
)

// join makes a poll part of its conversation.
func (k *Engine) joinPolls(t *Stream, m *decode.Message, seq session.Seq) {
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
	key := pollKey{poller{Short(id), t.Server, Short(t.Method.Path)}, k.namesKey(m.Names)}
	p := k.polls[key]
	if p == nil {
		if p = k.changed(key.poller, m.Names); p != nil {
			delete(k.polls, p.key)
			p.key = key
		} else if p = k.newPolls(key); p == nil {
			return
		}
		k.polls[key] = p
	}
	p.last = seq
	k.resumePolls(p)
	if _, known := p.conns[t.Conn]; !known {
		p.conns[t.Conn] = struct{}{}
		cn.polls = append(cn.polls, p)
	}
	t.polls, t.Types = p, p.Types
}

// newPolls begins a conversation; nil if there is no room.
func (k *Engine) newPolls(key pollKey) *polls {
	list := k.pollers[key.poller]
	if len(list) >= maxLists {
		k.forgetPolls(slices.MinFunc(list, func(a, b *polls) int { return cmp.Compare(a.last, b.last) }))
	}
	if len(k.polls)-k.gonePolls >= maxPolls {
		return nil
	}
	p := &polls{Types: newTypes(), key: key, conns: make(map[session.ConnID]struct{})}
	k.pollers[key.poller] = append(k.pollers[key.poller], p)
	return p
}

// namesKey is the same for the same names in any order.
func (k *Engine) namesKey(names []string) uint64 {
	sum := uint64(len(names))
	for _, n := range names {
		sum += maphash.String(k.lists.seed, n)
	}
	return sum
}

// changed is the conversation that a poll with other names than any before it
// goes on with; nil if it begins one.
func (k *Engine) changed(by poller, names []string) *polls {
	for _, p := range k.pollers[by] {
		for _, s := range p.Order {
			if len(names) == 0 || s.Names.Len() == 0 || slices.ContainsFunc(names[:min(len(names), maxCompared)], func(n string) bool { return s.Names.Has(decode.NormalName(n)) }) {
				return p
			}
		}
	}
	return nil
}

// refusedPoll says whether what a side says is no answer to a poll but why there is
// none: by its status of HTTP.
func (t *Stream) refusedPoll(by session.Side) bool {
	return t.Method.Variant == xds.VariantREST && by == session.Server && t.Status != "" && t.Status != "200"
}

// hangUp notes that a connection of a conversation was closed.
func (k *Engine) hangUp(p *polls, id session.ConnID, why string) {
	if delete(p.conns, id); len(p.conns) > 0 {
		return
	}
	k.resumePolls(p)
	k.gonePolls++
	p.memento = k.past.add(p.bytes(), func() { k.forgetPolls(p) })
	if of := p.of; of != nil && !of.here() {
		of.gone, of.why = k.Now, why
		k.gone(of)
	}
}

// resumePolls takes a conversation out of the past, if it is in there.
func (k *Engine) resumePolls(p *polls) {
	if p.memento == nil {
		return
	}
	k.gonePolls--
	k.past.drop(p.memento)
	p.memento = nil
}

func (k *Engine) forgetPolls(p *polls) {
	k.resumePolls(p)
	for _, s := range p.Order {
		k.lists.release(s.list)
		if p.of != nil {
			p.of.leaveType(k, s)
			p.of.let(s)
		}
	}
	delete(k.polls, p.key)
	for id := range p.conns {
		if cn := k.conns[id]; cn != nil {
			cn.polls = without(cn.polls, p)
		}
	}
	if k.pollers[p.key.poller] = without(k.pollers[p.key.poller], p); len(k.pollers[p.key.poller]) == 0 {
		delete(k.pollers, p.key.poller)
	}
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
