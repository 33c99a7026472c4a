package pushes

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/session"
)

// DefaultWithin is how far apart the responses of one burst are at most.
const DefaultWithin = 500 * time.Millisecond

// Limits of what is remembered. What is over is counted where it is missing.
const (
	maxPushes  = 4096
	maxWeight  = 400_000 // responses, members and changes of all pushes
	maxMembers = 1 << 14 // clients of a push
	maxChanges = 4096    // resources of a push
	maxGaps    = 1024    // of a push
	maxServers = 1024
	maxClients = 1 << 15
	maxSeen    = 4096    // versions of a server
	maxRefs    = 64      // responses of one type of a push to one client
	maxNames   = 64      // of a response that are remembered of it
	maxRest    = 1 << 16 // of a push, what there is no room for
)

// Options say how responses are grouped.
type Options struct {
	// Within is how far apart responses are at most that belong together and
	// have no version in common; 0: DefaultWithin.
	Within time.Duration
}

// Grouper finds the pushes of a session. It must be given every entry and what an
// Engine says of it, in order, and is not safe for concurrent use.
type Grouper struct {
	o       Options
	now     time.Time
	steps   uint64 // responses and verdicts
	pushes  []*push
	let     int // pushes that were forgotten
	weight  int
	servers recent.Map[string, *server]
	clients recent.Map[clientKey, *client]
	subs    map[*engine.Subscription]*subscription
	bySeq   map[session.Seq]*ref
	lines   recent.Map[lineKey, uint64] // see unsent.go
	nextRow uint64
	bodies  recent.Map[[16]byte, uint64] // see content.go
	seed    maphash.Seed
}

// New returns a Grouper that has seen nothing.
func New(o Options) *Grouper {
	if o.Within <= 0 {
		o.Within = DefaultWithin
	}
	return &Grouper{
		o: o, subs: make(map[*engine.Subscription]*subscription), bySeq: make(map[session.Seq]*ref), seed: maphash.MakeSeed(),
	}
}

// server is one management server.
type server struct {
	addr string
	// joined are the versions that were of two types: from two on another version
	// is another push, unless one showed that each type has versions of its own.
	joined  int
	perType bool
	seen    recent.Map[string, seen]
	// clients are those that were sent anything.
	clients map[string]*client
	newest  *push // that is no start
}

// seen is where a version came first.
type seen struct {
	seq    session.Seq
	at     time.Time
	typ    string
	joined bool // it came of another type, too
}

type clientKey struct{ server, id string }

// client is one client of a server.
type client struct {
	id string
	// push is the newest that it is in, and at when either side said something
	// of it last.
	push *push
	at   time.Time
	of   map[string]*lot // the newest by type
	seen session.Seq     // where the newest version that it was sent came first

	released map[resourceKey]release // see gaps.go
	open     []*window
}

// lot is what a client was sent of one type in one push.
type lot struct {
	push  *push
	all   bool            // all there is of the type came with it
	names map[string]bool // of what it changed, where that tells pushes apart
}

// take notes of which push a response is, for as many types as the engine has.
func (c *client) take(p *push, in *incoming) {
	if c.of == nil {
		c.of = make(map[string]*lot)
	}
	l := c.of[in.sub.Type]
	if l == nil || l.push != p {
		l = &lot{push: p, names: make(map[string]bool)}
		c.of[in.sub.Type] = l
	}
	switch {
	case timed(in.mark):
	case in.n.WasFirst:
		l.all = true
	default:
		for _, it := range slices.Concat(in.n.Added, in.n.Changed, in.n.Removed) {
			if len(l.names) < maxChanges {
				l.names[it.Name] = true
			}
		}
	}
}

// again says whether a response changes what came with the push already, as far as
// that is known.
func (l *lot) again(n *engine.Response) bool {
	return l.all && len(n.Changed)+len(n.Removed) > 0 || len(l.names) >= maxChanges ||
		slices.ContainsFunc(slices.Concat(n.Added, n.Changed, n.Removed), func(it *engine.Resource) bool { return l.names[it.Name] })
}

// subscription is one type on one stream.
type subscription struct {
	of      *client
	pending []*ref // responses without a verdict, oldest first
	asked   bool   // since the last response
	cause   *push  // that made the client ask
}

// Step takes the next entry and what it changed.
func (g *Grouper) Step(k *engine.Engine, e *session.Entry, c *engine.Change) {
	g.now = k.Now
	switch {
	case c.Ended && c.Stream != nil:
		for _, s := range c.Stream.Order {
			g.left(s)
		}
	case e.Kind == session.KindDisconnect && e.Conn != 0:
		for s := range g.subs {
			if s.Stream.Ended {
				g.left(s)
			}
		}
	case e.Kind != session.KindMessage || e.Carried || c.Sub == nil || c.Sub.Exempt() || !c.Sub.Stream.Discovery():
	case c.Response != nil:
		g.response(k, c)
	case c.Request != nil:
		g.request(e, c)
	}
}

// left notes that a stream ended, with what its client has not answered, and what
// was missing there.
func (g *Grouper) left(s *engine.Subscription) {
	if t := g.subs[s]; t != nil {
		for _, w := range t.of.open {
			if w.from.stream == s.Stream.ID && w.over.IsZero() {
				w.over = g.now
				w.push.touch()
			}
		}
		for _, r := range t.pending {
			r.state, r.resp = Gone, nil
			r.push.touch()
		}
		delete(g.subs, s)
	}
}

func (g *Grouper) sub(s *engine.Subscription, of *client) *subscription {
	t := g.subs[s]
	if t == nil {
		t = &subscription{}
		g.subs[s] = t
	}
	t.of = of
	return t
}

func (g *Grouper) server(addr string) *server {
	s, ok := g.servers.Get(addr)
	if !ok {
		s = &server{addr: addr, clients: make(map[string]*client)}
		g.servers.Put(addr, s, 1, maxServers)
	}
	return s
}

// client is the one that an entry is of.
func (g *Grouper) client(c *engine.Change) *client {
	id := c.Client
	if id == "" {
		id = fmt.Sprintf("conn %d", c.Sub.Stream.Conn)
	}
	key := clientKey{c.Sub.Stream.Server, id}
	cl, ok := g.clients.Get(key)
	if !ok {
		cl = &client{id: id}
		g.clients.Put(key, cl, 1, maxClients)
	}
	return cl
}

// request takes what a client asks, and what it says of responses.
func (g *Grouper) request(e *session.Entry, c *engine.Change) {
	cl := g.client(c)
	t := g.sub(c.Sub, cl)
	g.judge(t, cl, e, c)
	asks := c.What == engine.SUB || c.What == engine.REQ || len(c.Request.Given) > 0 || slices.Contains(c.Also, engine.SUB)
	if !asks {
		return
	}
	t.asked, t.cause = true, nil
	p := cl.push
	again := c.Sub.Stream.Previous != nil && !cl.at.After(c.Sub.Stream.Opened)
	if p != nil && !p.gone && !again && g.now.Sub(cl.at) <= g.o.Within {
		t.cause, cl.at = p, g.now
	}
}

// response enters a response into the push that it belongs to.
func (g *Grouper) response(k *engine.Engine, c *engine.Change) {
	g.steps++
	cl, sv := g.client(c), g.server(c.Sub.Stream.Server)
	t := g.sub(c.Sub, cl)
	if len(sv.clients) >= maxClients {
		clear(sv.clients)
	}
	sv.clients[cl.id] = cl
	in := incoming{change: c, n: c.Response, sub: c.Sub, client: cl, server: sv, mark: c.Response.Version}
	in.asked, in.cause = t.asked || c.Response.WasFirst, t.cause
	g.learn(&in)
	p := g.find(&in)
	if p == nil {
		p = g.begin(k, &in)
	}
	cl.take(p, &in)
	t.asked, t.cause = false, nil
	cl.push, cl.at = p, g.now
	r := g.enter(p, &in)
	if len(t.pending) >= maxRefs {
		t.pending = slices.Delete(t.pending, 0, 1)
	}
	if r.resp != nil {
		t.pending = append(t.pending, r)
	}
	g.content(p, &in)
	if !c.Sub.Lost {
		g.mind(k, p, &in)
	}
	g.fit()
}

// begin makes a new push.
func (g *Grouper) begin(k *engine.Engine, in *incoming) *push {
	sv := in.server
	if sv.newest != nil && !in.asked {
		g.freeze(k, sv.newest)
	}
	p := &push{
		head:   Head{N: g.let + len(g.pushes) + 1, Server: sv.addr, Start: in.asked, First: in.n.Seq, Begun: g.now},
		server: sv, types: make(map[string]*typ), members: make(map[string]*member), changes: make(map[resourceKey]*changed),
		wholes: make(map[wholeKey]*whole),
	}
	if !p.head.Start {
		sv.newest = p
	}
	g.pushes = append(g.pushes, p)
	return p
}

// fit lets go of the oldest pushes where there are too many.
func (g *Grouper) fit() {
	for len(g.pushes) > 1 && (len(g.pushes) > maxPushes || g.weight > maxWeight) {
		p := g.pushes[0]
		g.pushes[0], g.pushes = nil, g.pushes[1:]
		g.let++
		p.gone = true
		g.weight -= p.weight
		for _, m := range p.members {
			for _, part := range m.parts {
				for _, r := range part.refs {
					delete(g.bySeq, r.seq)
				}
			}
		}
		p.members, p.changes, p.wholes, p.gaps, p.swaps = nil, nil, nil, nil, nil
		p.moreClients, p.moreChanges = nil, nil
	}
}

// Of is the number of the push that a response belongs to, 0 if none is known.
func (g *Grouper) Of(seq session.Seq) int {
	if r := g.bySeq[seq]; r != nil {
		return r.push.head.N
	}
	return 0
}

// Forgotten is how many of the oldest pushes were let go.
func (g *Grouper) Forgotten() int { return g.let }
