package effect

import (
	"cmp"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// sent enters what a response has and what it takes away.
func (a *Account) sent(k *engine.Engine, e *session.Entry, c *engine.Change) {
	if c.Response.Foreign || c.Sub.Variants {
		return
	}
	cl, at, on := a.client(c.Client, e.Seq), Moment{e.Seq, e.Time}, e.Stream
	var all []pend
	enter := func(name string, next *content, b []byte) {
		at := key{c.Type, name}
		if of := a.enter(cl, at, next, b); of != nil {
			all = append(all, pend{at, of})
		}
	}
	for i := range c.Message.Resources {
		r := &c.Message.Resources[i]
		name := decode.NormalName(r.Name)
		if it := c.Sub.Have.Get(name); !r.Empty && it != nil && it.Content != nil {
			enter(name, &content{
				sent: at, on: on, version: cmp.Or(it.Version, r.Version, c.Message.Version), typeURL: r.TypeURL, hash: it.Content.Facts.Hash,
			}, r.Body)
		}
	}
	for _, it := range c.Response.Removed {
		enter(it.Name, &content{sent: at, on: on, removed: true, version: c.Message.Version}, nil)
	}
	a.await(e.Seq, all)
	v := a.view(k, cl)
	for _, p := range all {
		v.settle(p.key)
	}
}

// enter makes a content the one that was sent last, and returns it: the one that
// was there, if it is the same. It is nil if there is no room.
func (a *Account) enter(cl *client, at key, next *content, b []byte) *content {
	r := a.resource(cl, at)
	if r == nil {
		return nil
	}
	if was := r.sent; was != nil {
		if was.removed && next.removed || was.removed == next.removed && was.hash == next.hash {
			if was.version = next.version; was.on != next.on {
				was.again(next)
			}
			return was
		}
		if was.accepted.Known() || r.was == nil {
			if r.was != nil {
				a.drop(r.was.body)
			}
			r.was = was
		} else {
			a.drop(was.body)
		}
	}
	if r.was != nil && !next.removed && !r.was.removed && r.was.hash == next.hash { // as it was before
		a.drop(r.was.body)
	}
	if !next.removed {
		next.body = a.keep(b)
	}
	r.sent = next
	cl.open[at] = true
	delete(cl.strange, at)
	return next
}

// again says that a content was sent on another stream, maybe to another process. What
// the one before accepted says nothing of when this one has to have it in use.
func (c *content) again(next *content) {
	c.told = c.told && !c.effective.Known()
	c.on, c.sent, c.accepted, c.rejected, c.since = next.on, next.sent, Moment{}, Moment{}, time.Time{}
}

// await remembers a response until it is answered.
func (a *Account) await(seq session.Seq, all []pend) {
	if len(all) == 0 {
		return
	}
	a.pending[seq], a.order = all, append(a.order, seq)
	if len(a.order) < 2*maxPending {
		return
	}
	a.order = slices.DeleteFunc(a.order, func(s session.Seq) bool { return a.pending[s] == nil })
	for len(a.order) > maxPending {
		delete(a.pending, a.order[0])
		a.order = a.order[1:]
	}
}

// judged enters what a request says of a response.
func (a *Account) judged(k *engine.Engine, e *session.Entry, c *engine.Change) {
	all := a.pending[c.Answers]
	if c.Answers == 0 || all == nil {
		return
	}
	delete(a.pending, c.Answers)
	cl, at := a.client(c.Client, e.Seq), Moment{e.Seq, e.Time}
	v := a.view(k, cl)
	for _, p := range all {
		switch {
		case p.of.accepted.Known():
		case c.What == engine.NACK:
			p.of.rejected = at
		default:
			p.of.accepted, p.of.since = at, at.At
		}
		v.settle(p.key)
	}
}
