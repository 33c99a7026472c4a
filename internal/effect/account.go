package effect

import (
	"bytes"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// maxBytes bounds the contents that are kept to be compared, and what is
	// remembered of resources beside them, each.
	maxBytes = 64 << 20
	// maxPending bounds the responses that wait for their answer.
	maxPending = 1 << 14
)

// Account is what is known of all clients. It must see every entry, in order, after
// the engine has, is a pure function of them, and is not safe for concurrent use.
// The zero Account has seen nothing.
type Account struct {
	on      bool
	in      *inspect.Inspector
	clients map[string]*client

	pending map[session.Seq][]pend // responses without an answer
	order   []session.Seq

	bodies    []*body // the oldest first
	bytes     int64   // of bodies
	size      int64   // of all else, about
	forgotten uint64

	loads   map[session.StreamID]*load
	settled []Load // by the last entry
}

// body is the bytes of a content, nil once they were let go of.
type body struct{ b []byte }

// pend is what a response without an answer brought.
type pend struct {
	key key
	of  *content
}

// client is all that is known of one node.
type client struct {
	id        string
	last      session.Seq
	asked     []Asked
	whole     bool // what it holds is known as a whole
	resources map[key]*resource
	open      map[key]bool // of which it is not settled that they are in effect
	strange   map[key]bool // that are in use, and nobody sent
	waits     []decode.Unready
	several   string // why it cannot be told which process speaks
	stats     map[string]uint64
}

type key struct{ typ, name string }

// resource is what was sent of one resource, and what is held of it.
type resource struct {
	sent *content // last; nil: nothing
	was  *content // that was accepted before it
	held []item
	at   Moment // when held was said
	now  judgement
	told bool // in use, and never sent: that was reported
}

// content is what one response made of a resource.
type content struct {
	sent, accepted, rejected, effective Moment
	since                               time.Time        // accepted, at the latest
	on                                  session.StreamID // on which it was sent last
	version, typeURL                    string
	hash                                [16]byte
	removed                             bool
	body                                *body
	told                                bool // that it is not in effect was reported
}

// Expected says whether the session has any word of clients on what they hold.
func (a *Account) Expected() bool { return a.on }

// Forgotten is how many contents were let go of for want of memory.
func (a *Account) Forgotten() uint64 { return a.forgotten }

// Step takes the next entry and what it changed.
func (a *Account) Step(k *engine.Engine, e *session.Entry, c *engine.Change) {
	a.settled = a.settled[:0]
	switch {
	case e.Kind == session.KindGap && e.Gap != nil && !e.Gap.Cause.Chosen():
		a.torn(k)
	case e.Kind == session.KindHeld:
		a.on = true
		if a.in == nil {
			a.in, a.clients, a.pending = inspect.New(k.Types()), map[string]*client{}, map[session.Seq][]pend{}
		}
		if e.Held != nil && c.Client != "" {
			a.heldEntry(k, e, c.Client)
		}
	case c.Variant == xds.VariantFile && e.Kind == session.KindTrailer: // the file is gone, or another has its place
		delete(a.loads, e.Stream)
	case c.Variant == xds.VariantFile && (e.Kind == session.KindMessage || e.Kind == session.KindHeader) && c.Stream != nil:
		a.loaded(e, c)
	case !a.on || c.Client == "" || c.Sub == nil || c.Sub.Exempt():
	case c.Response != nil:
		a.sent(k, e, c)
	case c.Request != nil:
		a.judged(k, e, c)
	}
}

// client finds a client, or begins its account.
func (a *Account) client(id string, at session.Seq) *client {
	cl := a.clients[id]
	if cl == nil {
		cl = &client{id: id, resources: map[key]*resource{}, open: map[key]bool{}, strange: map[key]bool{}}
		a.clients[id] = cl
		a.size += int64(256 + len(id))
	}
	cl.last = at
	for a.size > maxBytes && len(a.clients) > 1 {
		a.forget(cl)
	}
	return cl
}

// forget lets go of the client that nobody spoke of for longest; of one that was never
// asked what it holds before any that was, for of it nothing can be judged.
func (a *Account) forget(but *client) {
	var oldest *client
	for _, cl := range a.clients {
		if cl == but {
			continue
		}
		if oldest == nil || len(cl.asked) == 0 && len(oldest.asked) > 0 ||
			(len(cl.asked) == 0) == (len(oldest.asked) == 0) && cl.last < oldest.last {
			oldest = cl
		}
	}
	for key, r := range oldest.resources {
		a.size -= costOf(key)
		a.forgotten++
		a.release(r)
	}
	a.size -= int64(256 + len(oldest.id))
	delete(a.clients, oldest.id)
}

func (a *Account) release(r *resource) {
	for _, c := range []*content{r.sent, r.was} {
		if c != nil {
			a.drop(c.body)
		}
	}
	for i := range r.held {
		a.drop(r.held[i].body)
	}
}

// costOf is what a resource costs beside its contents, about.
func costOf(k key) int64 { return int64(768 + len(k.name)) }

// resource finds a resource, or begins its account; nil if there is no room.
func (a *Account) resource(cl *client, k key) *resource {
	r := cl.resources[k]
	if r == nil {
		if a.size > maxBytes {
			a.forgotten++
			return nil
		}
		r = &resource{}
		cl.resources[k] = r
		a.size += costOf(k)
	}
	return r
}

// keep keeps bytes so that they can be compared. The oldest are let go of.
func (a *Account) keep(b []byte) *body {
	kept := &body{bytes.Clone(b)}
	if kept.b == nil {
		kept.b = []byte{}
	}
	a.bodies, a.bytes = append(a.bodies, kept), a.bytes+int64(len(b)+64)
	if a.bytes > maxBytes {
		n := 0
		for ; n < len(a.bodies)-1 && a.bytes > maxBytes*7/8; n++ {
			if a.bodies[n].b != nil {
				a.forgotten++
				a.drop(a.bodies[n])
			}
		}
		a.bodies = slices.Delete(a.bodies, 0, n)
	}
	if len(a.bodies) > 1<<12 && int64(len(a.bodies))*64 > 4*a.bytes {
		a.bodies = slices.DeleteFunc(a.bodies, func(b *body) bool { return b.b == nil })
	}
	return kept
}

func (a *Account) drop(b *body) {
	if b != nil && b.b != nil {
		a.bytes -= int64(len(b.b) + 64)
		b.b = nil
	}
}
