package pushes

import (
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

const (
	// late is how long after the others a client may be sent the same version of a
	// type, or of any where all have one in common. Versions may repeat.
	late = 5 * time.Minute
	// chain is how long a burst may last, in Options.Within.
	chain = 20
	// lookBack is how many pushes are looked at for one to which a response
	// belongs.
	lookBack = 256
)

// incoming is a response that has just come.
type incoming struct {
	change *engine.Change
	n      *engine.Response
	sub    *engine.Subscription
	client *client
	server *server
	mark   string // version of the response, "" if it has none
	asked  bool   // the client had just asked
	cause  *push  // the push that made it ask, nil if none did
}

// find is the push that a response belongs to, nil if that begins with it.
func (g *Grouper) find(in *incoming) *push {
	if in.cause != nil && !in.cause.gone && in.cause.takes(in) {
		return in.cause
	}
	for i := len(g.pushes) - 1; i >= max(0, len(g.pushes)-lookBack); i-- {
		p := g.pushes[i]
		if p.server != in.server {
			continue
		}
		var fits bool
		switch {
		case in.asked:
			fits = p.head.Start && g.soon(p)
		case p.head.Start: // to which more is added for those who just came
			fits = p.members[in.client.id] != nil && g.now.Sub(p.members[in.client.id].last) <= g.o.Within &&
				(in.mark == "" || p.has(in.sub.Type, in.mark) || timed(in.mark) && p.version() == in.mark)
		default:
			fits = g.same(p, in) || g.soon(p) && g.brief(p)
		}
		if fits && p.takes(in) {
			return p
		}
	}
	return nil
}

// soon says whether it is no longer ago than responses of one burst are apart
// that a push was sent.
func (g *Grouper) soon(p *push) bool { return g.now.Sub(p.head.Sent) <= g.o.Within }

// brief says whether a push began no longer ago than a burst may last.
func (g *Grouper) brief(p *push) bool { return g.now.Sub(p.head.Begun) <= chain*g.o.Within }

// same says whether the version tells that a response belongs to a push. One with
// a time in it is that of one push for ever; another one may come again, or always:
// it tells nothing to a client that has it with other contents, and nothing of
// another type if it was there before the push.
func (g *Grouper) same(p *push, in *incoming) bool {
	switch {
	case in.mark == "":
		return false
	case timed(in.mark):
		return p.version() == in.mark
	case g.now.Sub(p.head.Sent) > late:
		return false
	case p.has(in.sub.Type, in.mark):
		return !p.sent(in.client.id, in.sub.Type) || !in.news()
	}
	v, _ := in.server.seen.Get(in.mark)
	return p.version() == in.mark && v.seq >= p.head.First && (!counter(in.mark) || in.server.common() && g.brief(p))
}

// news says whether a response changes what its client has.
func (in *incoming) news() bool { return len(in.n.Added)+len(in.n.Changed)+len(in.n.Removed) > 0 }

// takes says whether nothing shows that a response is of another push: another
// version where all types have one in common, another version of the same type, or
// another content of a resource that this client was just sent.
func (p *push) takes(in *incoming) bool {
	if in.mark != "" {
		v := p.version()
		if v != "" && v != in.mark && (timed(in.mark) || timed(v) || in.server.common()) {
			return false
		}
		if t := p.types[in.sub.Type]; t != nil && len(t.marks) > 0 && !t.marks[in.mark] {
			return p.own(in)
		}
	}
	if timed(in.mark) || in.mark != "" && in.asked || !p.sent(in.client.id, in.sub.Type) {
		return true
	}
	had := in.client.of[in.sub.Type]
	return had.push == p && !had.again(in.n)
}

// own says whether a version differs from those of the push for no other reason
// than that each client has versions of its own, which are no counters: this one
// was not sent the type, and no version of the push went to two.
func (p *push) own(in *incoming) bool {
	if m := p.members[in.client.id]; m != nil && m.part(in.sub.Type) != nil {
		return false
	}
	t := p.types[in.sub.Type]
	return !timed(in.mark) && !counter(in.mark) && t.Clients == len(t.marks) && len(t.marks) < maxMarks
}

// counter says whether a version is a number that may grow by one.
func counter(v string) bool { return len(strings.Trim(v, "0123456789")) <= 1 && len(v) < 12 }

// timed says whether a version begins with a time, as Istio's do: that of the
// change, in front of its number.
func timed(v string) bool {
	if len(v) < len("2006-01-02T15:04:05") || v[4] != '-' || v[7] != '-' {
		return false
	}
	_, err := time.Parse("2006-01-02T15:04:05", v[:len("2006-01-02T15:04:05")])
	return err == nil
}

// common says whether all types of a server have one version.
func (s *server) common() bool { return s.joined > 1 && !s.perType }

// learn notes a version. One that was of one type and soon is of another may be
// that of all. A client that is sent an older one after a newer one gets versions
// that are of one type each.
func (g *Grouper) learn(in *incoming) {
	if in.mark == "" || timed(in.mark) {
		return
	}
	s := in.server
	v, known := s.seen.Get(in.mark)
	if !known {
		v = seen{seq: in.n.Seq, at: g.now, typ: in.sub.Type}
		s.seen.Put(in.mark, v, 1, maxSeen)
	}
	if v.typ != in.sub.Type && !v.joined && g.now.Sub(v.at) <= chain*g.o.Within {
		v.joined, s.joined = true, s.joined+1
		s.seen.Put(in.mark, v, 1, maxSeen)
	}
	s.perType = s.perType || v.seq < in.client.seen
	in.client.seen = max(in.client.seen, v.seq)
}

// version is what all responses have in common, "" if nothing.
func (p *push) version() string {
	if p.mixed {
		return ""
	}
	return p.head.Version
}

func (p *push) has(typ, mark string) bool { t := p.types[typ]; return t != nil && t.marks[mark] }
