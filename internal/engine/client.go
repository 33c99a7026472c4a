package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// client is a node, or an address that never named one. It is one account over
// all its streams, to whichever server: those that are open, what is last known
// of the types of those that have ended, and its polls.
//
// Several clients of one process share a node, as those of gRPC do, each with a
// stream of its own. Where they differ the worst is shown.
type client struct {
	id    string
	since time.Time
	live  []*Stream
	polls []*polls
	left  map[string]left // by type key, those that no open stream has
	// What the stream that ended last knew.
	agent, version string
	last, gone     time.Time
	why            string
	memento        *memento // while no stream is open

	lasting Slots // of those who look at the client
}

// Remembered is what those who look at the client of a stream remember of it,
// over all its streams; nothing of one that is not known.
func (k *Engine) Remembered(t *Stream) *Slots {
	if c := k.clients.byID[t.account]; c != nil {
		return &c.lasting
	}
	return new(Slots)
}

// left is where a type stood when its stream ended.
type left struct {
	status TypeStatus
	sub    *Subscription // nil: it was let go
}

// clients are those of a session.
type clients struct{ byID map[string]*client }

// account enters a stream into the account of its client, once it is known which
// that is: the one that it names, or else that of its connection.
func (k *Engine) account(t *Stream) {
	id := t.client
	if id == "" {
		id = k.conn(t.Conn).client
	}
	if id == "" || t.settled {
		return
	}
	t.settled = t.Node != nil // from then on see the rule node-identity-changed
	if id == t.account {
		return
	}
	if of := k.clients.byID[t.account]; of != nil { // it was taken for another
		if of.live = without(of.live, t); !of.here() {
			of.gone = k.Now
			k.gone(of)
		}
	}
	t.account = id
	k.entered(t, id)
}

// entered puts a stream into an account.
func (k *Engine) entered(t *Stream, id string) {
	if k.clients.byID == nil {
		k.clients.byID = make(map[string]*client)
	}
	of := k.clients.byID[id]
	if of == nil {
		of = &client{id: id, since: t.Opened}
		k.clients.byID[id] = of
	}
	k.past.drop(of.memento)
	of.memento = nil
	if !slices.Contains(of.live, t) {
		of.live = append(of.live, t)
	}
	if p := t.polls; p != nil && p.of == nil {
		p.of, of.polls = of, append(of.polls, p)
	}
}

// nameless are those who are connected and have named no node, by their
// connections: what they said before and where they reconnect is not known.
func (k *Engine) nameless() map[string]*client {
	out := make(map[string]*client)
	of := func(conn session.ConnID) *client {
		id := fmt.Sprintf("conn %d", conn)
		if out[id] == nil {
			out[id] = &client{id: id, since: k.Now}
		}
		return out[id]
	}
	for _, t := range k.Streams {
		if t.account == "" && t.polls == nil && len(t.Order) > 0 && t.Discovery() {
			c := of(t.Conn)
			c.live, c.since = append(c.live, t), earlier(c.since, t.Opened)
		}
	}
	for _, c := range out {
		slices.SortFunc(c.live, func(a, b *Stream) int { return cmp.Compare(a.ID, b.ID) })
	}
	for _, p := range k.polls {
		if p.of == nil && len(p.conns) > 0 {
			c := of(slices.Min(slices.Collect(maps.Keys(p.conns))))
			c.polls = append(c.polls, p)
			for _, s := range p.Order {
				if r := s.Last; r != nil {
					c.since, c.last = earlier(c.since, r.At), r.At
				}
			}
		}
	}
	return out
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// leave notes the end of a stream.
func (k *Engine) leave(t *Stream, why string) {
	of := k.clients.byID[t.account]
	if of == nil {
		return
	}
	i := slices.Index(of.live, t)
	if i < 0 {
		return
	}
	of.live = slices.Delete(of.live, i, i+1)
	of.gone, of.why = k.Now, why
	if t.Node != nil {
		of.agent, of.version = t.Node.UserAgent, t.Node.UserAgentVersion
	}
	if at := t.lastHeard(); at.After(of.last) {
		of.last = at
	}
	if t.polls == nil {
		for _, s := range t.Order {
			of.leaveType(k, s)
		}
	}
	if !of.here() {
		k.gone(of)
	}
}

// leaveType keeps where a type stands.
func (c *client) leaveType(k *Engine, s *Subscription) {
	ts, any := k.typeStatus(s)
	if !any {
		return
	}
	if c.left == nil {
		c.left = make(map[string]left)
	}
	ts.Gone = k.Now
	if _, known := c.left[s.Key]; !known && len(c.left) >= maxTypes {
		return
	}
	if was := c.left[s.Key]; was.sub != nil && s.carries() {
		s = was.sub // what it accepted is of the stream before
	}
	c.left[s.Key] = left{ts, s}
}

// let forgets what a stream that has ended knew of a type, but for where it
// stood.
func (c *client) let(s *Subscription) {
	if was, ok := c.left[s.Key]; ok && was.sub == s {
		c.left[s.Key] = left{status: was.status}
	}
}

func (c *client) bytes() int64 {
	n := int64(256 + 2*len(c.id) + len(c.agent) + len(c.version) + len(c.why))
	for key, l := range c.left {
		n += int64(320 + len(key) + len(l.status.Version) + len(l.status.Sent) + len(l.status.Nack))
	}
	for _, v := range c.lasting {
		if of, large := v.(interface{ Bytes() int64 }); large {
			n += of.Bytes()
		}
	}
	return n
}

// here says whether a stream of the client is open, or a connection that it
// polls over.
func (c *client) here() bool {
	for _, p := range c.polls {
		if len(p.conns) > 0 {
			return true
		}
	}
	return len(c.live) > 0
}

// gone begins to charge a client that has left.
func (k *Engine) gone(of *client) {
	k.past.drop(of.memento)
	of.memento = k.past.add(of.bytes(), func() { k.forgetClient(of) })
}

// forgetClient lets go of a client that left.
func (k *Engine) forgetClient(of *client) { delete(k.clients.byID, of.id) }

// lastHeard is when either side said something last.
func (t *Stream) lastHeard() time.Time {
	last := t.Opened
	for _, at := range []time.Time{t.LastClient, t.LastServer, t.EndedAt} {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// endReason says in a few words why a stream ended.
func endReason(e *session.Entry) string {
	why := "ended by the " + e.Side.String()
	if st := e.Status; st != nil {
		switch {
		case st.Code > 0:
			why = fmt.Sprintf("%s with status %d", why, st.Code)
		case st.WasReset:
			why = fmt.Sprintf("reset by the %s", e.Side)
		}
		if st.Message != "" {
			why += ": " + Reason(st.Message)
		}
	}
	return why
}
