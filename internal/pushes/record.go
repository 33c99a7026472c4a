package pushes

import (
	"hash/maphash"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/session"
)

// maxMarks bounds the versions of one type that are remembered of a push.
const maxMarks = 1 << 12

// push is what is collected of one.
type push struct {
	head    Head // but for what is counted when it is asked for
	server  *server
	mixed   bool // its responses have several versions
	gone    bool // it was forgotten
	types   map[string]*typ
	order   []*typ
	members map[string]*member
	changes map[resourceKey]*changed
	wholes  map[wholeKey]*whole
	gaps    []*window
	swaps   map[resourceKey]*swapped
	unsent  map[unsentKey]Unsent
	frozen  bool // unsent is known for good
	weight  int

	moreClients, moreChanges rest
	moreGaps                 int

	counted   bool // sum is up to date
	sum       Head
	unsentsAt uint64
}

// touch says that something of it is to be counted again.
func (p *push) touch() { p.counted = false }

// typ is one type of a push.
type typ struct {
	Type
	marks map[string]bool
}

// member is a client that was sent something of a push.
type member struct {
	id    string
	parts []*part
	order []string // types in the order in which they were accepted
	sent  time.Time
	done  time.Time
	last  time.Time // when it was sent something last
}

func (m *member) part(typ string) *part {
	for _, p := range m.parts {
		if p.typ == typ {
			return p
		}
	}
	return nil
}

// part is one type of a push at one client.
type part struct {
	typ       string
	sent      time.Time
	responses int
	changed   int
	refs      []*ref // the newest responses, oldest first
	nacks     int
	reason    string
	answer    session.Seq
	answered  time.Time
}

// ref is one response of a push.
type ref struct {
	push   *push
	member *member
	part   *part
	seq    session.Seq
	stream session.StreamID
	resp   *engine.Response // while it has no verdict
	state  string
	delta  bool
	names  []string // of a delta response
}

// passed is that the client went on to a newer response, which says where it
// stands.
const passed = "passed"

// enter enters that a response is of a push.
func (g *Grouper) enter(p *push, in *incoming) *ref {
	n, h := in.n, &p.head
	p.touch()
	h.Last, h.Sent = n.Seq, g.now
	h.Responses++
	h.Bytes += n.Size
	switch {
	case h.Responses == 1:
		h.Version = in.mark
	case h.Version != in.mark:
		p.mixed = true
	}
	t := p.types[in.sub.Type]
	if t == nil {
		t = &typ{Type: Type{Type: in.sub.Type, Version: in.mark, Sent: g.now, SentSeq: n.Seq}, marks: make(map[string]bool)}
		p.types[t.Type.Type] = t
		p.order = append(p.order, t)
		h.Types = append(h.Types, t.Type.Type)
		if in.mark != "" && p.mixed {
			in.server.perType = true
		}
	}
	if t.Version != in.mark {
		t.Version = ""
	}
	if in.mark != "" && len(t.marks) < maxMarks {
		t.marks[in.mark] = true
	}
	t.Responses++
	t.Bytes += n.Size
	t.SentLast = g.now

	r := &ref{push: p, seq: n.Seq, stream: n.On, resp: n, state: Pends, delta: in.sub.Stream.Delta()}
	if n.Nonce == "" {
		r.resp, r.state = nil, Unclear // there is no way to answer it
	}
	m := p.members[in.client.id]
	if m == nil {
		if len(p.members) >= maxMembers {
			g.leave(p, &p.moreClients, maphash.String(g.seed, in.client.id))
			r.member, r.part = &member{}, &part{}
			return r
		}
		m = &member{id: in.client.id, sent: g.now}
		p.members[m.id] = m
		g.weigh(p, 1)
	}
	m.last = g.now
	pt := m.part(in.sub.Type)
	if pt == nil {
		pt = &part{typ: in.sub.Type, sent: g.now}
		m.parts = append(m.parts, pt)
		t.Clients++
	}
	pt.responses++
	pt.changed += len(n.Added) + len(n.Changed) + len(n.Removed)
	r.member, r.part = m, pt
	if r.delta {
		for _, it := range n.Resolved[:min(len(n.Resolved), maxNames)] {
			r.names = append(r.names, it.Name)
		}
		for _, it := range n.Removed[:min(len(n.Removed), maxNames)] {
			r.names = append(r.names, it.Name)
		}
	}
	if len(pt.refs) >= maxRefs {
		delete(g.bySeq, pt.refs[0].seq)
		pt.refs = slices.Delete(pt.refs, 0, 1)
		g.weigh(p, -1)
	}
	pt.refs = append(pt.refs, r)
	g.bySeq[r.seq] = r
	g.weigh(p, 1)
	delete(p.unsent, unsentKey{m.id, pt.typ})
	return r
}

// rest is what there is no room for: a hash of each, so that none counts twice.
type rest map[uint64]struct{}

// restPerWeight is how many of these weigh as much as a client or a change.
const restPerWeight = 16

// leave counts what there is no room for.
func (g *Grouper) leave(p *push, of *rest, hash uint64) {
	n := len(*of)
	if n >= maxRest {
		return
	}
	if *of == nil {
		*of = make(rest)
	}
	(*of)[hash] = struct{}{}
	if len(*of) > n && len(*of)%restPerWeight == 0 {
		g.weigh(p, 1)
	}
}

func (g *Grouper) weigh(p *push, by int) {
	p.weight += by
	g.weight += by
}

// judge enters what a request says of responses, as the engine has it.
func (g *Grouper) judge(t *subscription, cl *client, e *session.Entry, c *engine.Change) {
	n := c.Request.Echoed
	kept := t.pending[:0]
	for _, r := range t.pending {
		if r.resp.Verdict == engine.Unjudged {
			kept = append(kept, r)
			continue
		}
		if r.resp != n {
			r.state = passed
			r.push.touch()
		}
		r.resp = nil
	}
	clear(t.pending[len(kept):])
	t.pending = kept
	if n == nil || c.Request.Verdict == engine.Unjudged {
		return
	}
	r := g.bySeq[n.Seq]
	if r == nil || r.push.gone {
		return
	}
	g.steps++
	p, m, pt := r.push, r.member, r.part
	p.touch()
	was := r.state
	pt.answer, pt.answered, m.done = e.Seq, g.now, g.now
	if cl.push == p {
		cl.at = g.now
	}
	switch c.Request.Verdict {
	case engine.ACKed:
		r.state = Accepts
		h, ty := &p.head, p.types[pt.typ]
		h.LastACK, ty.AcceptedLast = g.now, g.now
		if h.FirstACK.IsZero() {
			h.FirstACK = g.now
		}
		if ty.Accepted.IsZero() {
			ty.Accepted, ty.AcceptedSeq = g.now, e.Seq
		}
		if !slices.Contains(m.order, pt.typ) {
			m.order = append(m.order, pt.typ)
		}
	case engine.NACKed:
		if r.state = Rejects; was != Rejects {
			pt.nacks++
		}
		if err := c.Request.Message.Error; err != nil {
			pt.reason = engine.Reason(err.Message)
		}
	default:
		r.state = Unclear
	}
	g.settleGaps(cl, r.seq, r.state == Accepts)
}

// worst is the graver of two states.
func worst(a, b string) string {
	if gravity(a) < gravity(b) {
		return a
	}
	return b
}

// state is where a part stands: on each of its streams by the newest response, or
// by the one before that was rejected while the newest has no verdict; of delta also
// by what was rejected and not sent again and accepted since.
func (pt *part) state() string {
	out := Accepts
	newest := make(map[session.StreamID]string, 1) // "" once an older one says no more
	fixed := make(map[string]bool)
	for _, r := range slices.Backward(pt.refs) {
		was, more := newest[r.stream]
		first := !more
		if newest[r.stream] = r.state; !first && was != Pends && was != Gone {
			newest[r.stream] = ""
		}
		switch {
		case !first && !r.delta:
			if r.state == Rejects && (was == Pends || was == Gone) {
				out = worst(out, Rejects)
			}
		case r.state == passed:
			if first {
				out = worst(out, Unclear)
			}
		case r.delta && r.state == Rejects:
			if len(r.names) == 0 || slices.ContainsFunc(r.names, func(n string) bool { return !fixed[n] }) {
				out = worst(out, Rejects)
			}
		default:
			out = worst(out, r.state)
		}
		if r.delta && r.state == Accepts {
			for _, n := range r.names {
				fixed[n] = true
			}
		}
	}
	return out
}

// state is the worst of its parts.
func (m *member) state() string {
	out := Accepts
	for _, p := range m.parts {
		out = worst(out, p.state())
	}
	return out
}
