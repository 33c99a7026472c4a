package replay

import (
	"hash/maphash"
	"slices"
	"strconv"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// poller makes the Pollings of a Plan. Which polls are one subscription, the
// engine says.
type poller struct {
	of   map[*engine.Subscription]*polling
	open map[session.StreamID]*openPoll
}

// polling is a Polling while it is read.
type polling struct {
	*Polling
	sent    bool   // a content was
	version string // of the content that was sent last
	sum     uint64 // of it
}

// openPoll is a poll that is not over.
type openPoll struct {
	of   *polling
	turn Turn
}

// poll takes an entry of a poll. It is false for an entry of anything else.
func (p *planner) poll(e *session.Entry, c *engine.Change) bool {
	if e.Stream == 0 || c.Variant != xds.VariantREST {
		return false
	}
	t := p.polls.open[e.Stream]
	switch e.Kind {
	case session.KindMessage:
		switch {
		case c.Message == nil || c.Sub == nil && t == nil:
		case e.Side == session.Client && t == nil:
			p.asked(e, c)
		case e.Side == session.Server && t != nil:
			p.replied(t, e, c)
		}
	case session.KindHeader:
		if t != nil {
			t.turn.Reply.Status, _ = strconv.Atoi(session.Get(e.Headers, ":status"))
			t.turn.Reply.Type = session.Get(e.Headers, "content-type")
		}
	case session.KindTrailer, session.KindCancel:
		if t != nil {
			if e.Status != nil && e.Status.HTTP > 0 { // it may have no header of its own
				t.turn.Reply.Status = e.Status.HTTP
			}
			p.answered(t, e)
			delete(p.polls.open, e.Stream)
		}
		delete(p.open, e.Stream)
	}
	return true
}

// asked takes what a poll asks.
func (p *planner) asked(e *session.Entry, c *engine.Change) {
	m, whole := c.Message, e.Message.Whole()
	of := p.polls.of[c.Sub]
	if of == nil {
		of = &polling{Polling: &Polling{
			Stream:  &Stream{ID: e.Stream, Conn: e.Conn, Method: c.Method, Client: c.Client, Opened: e.Seq, Partial: c.Uncertain},
			TypeURL: m.TypeURL, HTTP1: e.H2 == 0, Whole: c.Sub.Whole(), Names: p.keep(slices.Sorted(slices.Values(m.Names))),
		}}
		p.polls.of[c.Sub] = of
		p.plan.Pollings = append(p.plan.Pollings, of.Polling)
	}
	if !whole {
		of.Partial = true
	}
	t := &openPoll{of: of, turn: Turn{
		Poll: e.Seq, At: e.Time.UnixNano(), Whole: whole, Times: 1,
		Says: ClaimOf(m.Version, of.version, of.sent),
	}}
	p.polls.open[e.Stream] = t
	if whole {
		p.see(e)
	}
}

// replied takes the body of a reply.
func (p *planner) replied(t *openPoll, e *session.Entry, c *engine.Change) {
	if !e.Message.Whole() {
		p.note("entry %d was recorded in part: it is not said again", e.Seq)
		t.of.Partial = true
		return
	}
	r := &t.turn.Reply
	r.Body, r.Masked = e.Seq, e.Message.Masked
	p.see(e)
	if r.Status != 200 || c.Message.Kind != decode.SotwResponse {
		return
	}
	r.Version = engine.Short(c.Message.Version)
	sum := p.sumOf(c.Message)
	r.News = !t.of.sent || r.Version != t.of.version || sum != t.of.sum
	t.of.sent, t.of.version, t.of.sum = true, r.Version, sum
}

func (p *planner) see(e *session.Entry) {
	if err := p.plan.bodies.see(e.Seq, e.Message.Data); err != nil {
		p.full = err
	}
}

// sumOf tells contents apart.
func (p *planner) sumOf(m *decode.Message) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	for i := range m.Resources {
		r := &m.Resources[i]
		h.WriteString(r.Name)
		h.WriteByte(0)
		_, _ = h.Write(r.Body)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// answered ends a poll; e is nil where the recording ends.
func (p *planner) answered(t *openPoll, e *session.Entry) {
	r := &t.turn.Reply
	r.At = p.engine.Now.UnixNano()
	if e == nil || e.Kind != session.KindTrailer || r.Status == 0 {
		*r = Reply{At: r.At}
		if e != nil {
			r.By = e.Side
		}
	}
	turns := t.of.Turns
	if n := len(turns); n > 0 && turns[n-1].alike(&t.turn) {
		turns[n-1].Times++
		return
	}
	if p.room(t.turn.Poll) {
		p.steps++
		t.of.Turns = append(turns, t.turn)
	}
}

// alike says whether two polls ask and bring the same, and nothing new.
func (t *Turn) alike(o *Turn) bool {
	a, b := &t.Reply, &o.Reply
	return t.Says == o.Says && !a.News && !b.News && a.Status == b.Status && a.By == b.By && a.Content() == b.Content()
}

// hungUp ends the polls of a connection that was closed.
func (p *planner) hungUp(e *session.Entry, conn session.ConnID) {
	for id, t := range p.polls.open {
		if p.open[id] != nil && p.open[id].Conn == conn {
			p.answered(t, e)
			delete(p.polls.open, id)
		}
	}
}

// finishPolls ends what was open when the recording ended.
func (p *planner) finishPolls() {
	for _, t := range p.polls.open {
		p.answered(t, nil)
	}
	p.plan.Pollings = slices.DeleteFunc(p.plan.Pollings, func(of *Polling) bool { return len(of.Turns) == 0 })
	for _, of := range p.plan.Pollings {
		if !slices.Contains(p.plan.Clients, of.Client) {
			p.plan.Clients = append(p.plan.Clients, of.Client)
		}
		if of.Partial {
			p.note("%s was not recorded whole: what is missing is neither said again nor expected", of)
		}
	}
}
