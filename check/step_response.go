package check

import (
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

func (k *Engine) response(e *session.Entry, c *Change) {
	t, m := c.talk, c.Message
	s := t.subOf(m, k.contents.seeds[0])
	t.responses++
	t.moved++
	if t.responses == 1 {
		t.firstResponse = k.now
	}
	if s == nil {
		return
	}
	n := &response{
		seq: e.Seq, at: k.now, ordinal: s.responses, nonce: m.Nonce, version: m.Version, size: e.Message.Size,
		kind: m.Kind, count: len(m.Resources), wasFirst: s.responses == 0, was: s.have.len(),
		details: &details{m: m, wanted: s.last},
	}
	c.sub, c.resp, k.looked = s, n, n
	s.responses++
	k.stamp++
	n.stamp = k.stamp
	if len(m.Resources) > 0 && s.kind&envoyType == 0 {
		typ := m.Resources[0].TypeURL
		n.foreign = typ != "" && decode.TypeName(typ) != decode.TypeName(s.url)
	}
	k.resolve(s, n, c.batch, e.Message.Masked)
	s.variants = s.variants || n.variants
	if m.Kind == decode.DeltaResponse {
		for _, name := range m.Removed {
			if it := s.have.get(decode.NormalName(name)); it != nil && it.stamp != k.stamp {
				n.removed = append(n.removed, it)
				s.have.remove(it.name)
			}
		}
	} else if s.whole() && !n.pulse() && n.again+len(n.changed)-n.twice < n.was {
		for _, it := range s.have.all() {
			if it.stamp != k.stamp {
				n.removed = append(n.removed, it)
			}
		}
		for _, it := range n.removed {
			s.have.remove(it.name)
		}
	}
	for _, name := range m.Removed {
		if name = decode.NormalName(name); !s.lost && s.names.has(name) && len(s.doesNotExist) < maxDropped {
			if s.doesNotExist == nil {
				s.doesNotExist = make(map[string]struct{})
			}
			s.doesNotExist[name] = struct{}{}
		}
	}
	s.remember(k, n)
	if s.lost {
		s.heard = n
	}
}

// pulse says whether a response only prolongs what there is: that is not the
// state of the world, whatever it leaves out.
func (n *response) pulse() bool { return n.count > 0 && len(n.heartbeats) == n.count }

// resolve finds out what is new in a response and enters it into what the
// client has. Most resources of most responses were there before.
func (k *Engine) resolve(s *subscription, n *response, batch *decode.Batch, masked bool) {
	if b := k.bulkOf(s, n, batch, masked); b != nil {
		k.resolveBulk(s, n, b)
		return
	}
	resources := n.m.Resources
	n.peculiar.survey(resources)
	n.resolved = make([]*item, 0, len(resources))
	version := ""
	for i := range resources {
		r := &resources[i]
		name := decode.NormalName(r.Name)
		if name == "" {
			if !r.Empty {
				n.nameless = append(n.nameless, k.contents.of(r.TypeURL, r.Body, masked))
			}
			continue
		}
		it := s.have.get(name)
		if it != nil && it.stamp == k.stamp {
			n.twice++
		}
		if r.Empty {
			n.heartbeats = append(n.heartbeats, i)
			if it != nil {
				it.stamp = k.stamp
				n.again++
				n.resolved = append(n.resolved, it)
			}
			continue
		}
		switch {
		case n.m.Kind == decode.DeltaResponse:
			version = r.Version
		case !s.full():
			version = n.version
		}
		next := &item{name: name, version: version, content: k.contents.of(r.TypeURL, r.Body, masked)}
		mix(&n.sum, k, next)
		n.resolved = append(n.resolved, k.enter(s, n, it, next))
	}
}

// resolveBulk enters resources that were met before, in the same words.
func (k *Engine) resolveBulk(s *subscription, n *response, b *bulk) {
	n.resolved, n.sum, n.peculiar = b.items, b.sum, b.peculiar
	switch {
	case s.have.len() == 0:
		s.have = inventory{base: b.base, bulk: b, size: len(b.base)}
		n.added = b.items
	case s.have.is(b):
		n.again = len(b.items)
		if n.m.Kind == decode.DeltaResponse {
			n.same = b.items
		}
	default:
		for _, next := range b.items {
			k.enter(s, n, s.have.get(next.name), next)
		}
	}
	for _, it := range b.items {
		it.stamp = k.stamp
	}
}

// enter puts next in the place of it, unless it is the same, and returns what
// is there then.
func (k *Engine) enter(s *subscription, n *response, it, next *item) *item {
	same := it != nil && it.content.sameAs(next.content)
	switch {
	case it == nil:
		n.added = append(n.added, next)
	case same:
		n.again++
	default:
		n.changed, n.before = append(n.changed, next), append(n.before, it)
	}
	if same && it.version == next.version {
		if n.m.Kind == decode.DeltaResponse {
			n.same = append(n.same, it)
		}
		it.stamp = k.stamp
		return it
	}
	s.have.put(next)
	next.stamp = k.stamp
	return next
}

// keepDetails is how many responses keep what they consist of.
const keepDetails = 2

// remember enters a response into the ledger of its type.
func (s *subscription) remember(k *Engine, n *response) {
	for len(s.sent) >= keepSent && (s.sent[0].verdict != unjudged || s.sent[0].nonce == "" || len(s.sent) >= maxNonces) {
		old := s.sent[0]
		if key := short(old.nonce); s.byNonce[key] == old {
			delete(s.byNonce, key)
			s.past.add(key)
		}
		s.sent[0] = nil
		s.sent = s.sent[1:]
		s.forgotten = s.forgotten || s.past.full() || old.verdict == unjudged
	}
	for i := len(s.sent) - 1; i >= 0 && i >= len(s.sent)-keepDetails; i-- {
		switch o := s.sent[i]; {
		case o == s.rejected:
		case i == len(s.sent)-keepDetails:
			o.shed(&k.bare)
		default:
			o.resolved = nil
		}
	}
	if n.nonce != "" {
		key := short(n.nonce)
		n.reused = s.byNonce[key]
		n.reusedPast = n.reused == nil && s.past.has(key)
		s.byNonce[key] = n
	}
	if last := s.newest(); n.kind == decode.SotwResponse && (last == nil || last.version != n.version) {
		if key := short(n.version); !s.versions.has(key) {
			s.versions.add(key)
		}
	}
	s.sent = append(s.sent, n)
}

// shed lets go of what only recent responses need.
func (n *response) shed(bare *details) { n.judgedBy, n.details = nil, bare }
