package check

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
)

func (k *Checker) response(x *event, m *decode.Message) {
	t, e := x.talk, x.entry
	s := t.subOf(m)
	t.responses++
	if t.responses == 1 {
		t.firstResponse = k.now
	}
	if s == nil {
		return
	}
	x.sub = s
	n := &response{
		seq: e.Seq, at: k.now, ordinal: s.responses, nonce: m.Nonce, version: m.Version, size: e.Message.Size,
		m: m, count: len(m.Resources), wasFirst: s.responses == 0, was: s.have.len(), wanted: s.last,
	}
	x.resp = n
	s.responses++
	k.stamp++
	n.survey()
	k.resolve(s, n, e.Message.Masked)
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
	s.answer(k, m)
	s.remember(k, n)
	if s.lost {
		s.heard = n
	}
	x.lookers(func(r *Rule) func(*event) { return r.response })
	// The resources are a large part of memory: only what came of them is kept.
	envelope := *m
	envelope.Resources = nil
	n.m = &envelope
}

// survey finds the resources that are not plain ones.
func (n *response) survey() {
	for i := range n.m.Resources {
		r := &n.m.Resources[i]
		if r.TTL != 0 {
			n.timed = append(n.timed, i)
		}
		if r.Wrapped {
			n.wrapped++
		}
		if r.Name == "" || r.Unnamed {
			n.misnamed = append(n.misnamed, i)
		}
		n.aliased = n.aliased || len(r.Aliases) > 0
	}
}

// pulse says whether a response only prolongs what there is: that is not the
// state of the world, whatever it leaves out.
func (n *response) pulse() bool { return n.count > 0 && len(n.heartbeats) == n.count }

// resolve finds out what is new in a response and enters it into what the
// client has. Most resources of most responses were there before.
func (k *Checker) resolve(s *subscription, n *response, masked bool) {
	resources := n.m.Resources
	n.resolved = make([]*item, 0, len(resources))
	if s.have.len() == 0 && len(resources) > 64 && k.resolveBulk(s, n, masked) {
		return
	}
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
		c := k.contents.of(r.TypeURL, r.Body, masked)
		n.mix(k, name, c)
		switch {
		case n.m.Kind == decode.DeltaResponse:
			version = r.Version
		case !s.full():
			version = n.version
		}
		next := it
		if it == nil || it.version != version || !it.content.sameAs(c) {
			next = &item{name: name, version: version, content: c}
			s.have.put(next)
		} else if n.m.Kind == decode.DeltaResponse {
			n.same = append(n.same, it)
		}
		next.stamp = k.stamp
		n.resolved = append(n.resolved, next)
		switch {
		case it == nil:
			n.added = append(n.added, next)
		case it.content.sameAs(c):
			n.again++
		default:
			n.changed, n.before = append(n.changed, next), append(n.before, it)
		}
	}
}

// resolveBulk enters many resources where there were none, sharing what other
// clients have got in the same words. It does nothing if a name comes twice.
func (k *Checker) resolveBulk(s *subscription, n *response, masked bool) bool {
	list := make([]*item, 0, len(n.m.Resources))
	key := baseKey{typ: s.key, count: len(n.m.Resources)}
	var h maphash.Hash
	h.SetSeed(k.contents.seeds[0])
	for i := range n.m.Resources {
		r := &n.m.Resources[i]
		name := decode.NormalName(r.Name)
		if name == "" || r.Empty {
			return false
		}
		it := item{name: name, content: k.contents.of(r.TypeURL, r.Body, masked)}
		switch {
		case n.m.Kind == decode.DeltaResponse:
			it.version = r.Version
		case !s.full():
			it.version = n.version
		}
		h.WriteString(it.name)
		h.WriteByte(0)
		h.WriteString(it.version)
		h.WriteByte(0)
		h.Write(it.content.facts.Hash[:])
		list = append(list, &it)
	}
	key.sum = h.Sum64()
	base := k.bases.get(key)
	if base == nil {
		base = make(map[string]*item, len(list))
		for _, it := range list {
			base[it.name] = it
		}
		if len(base) != len(list) {
			return false
		}
		k.bases.put(key, base)
	}
	for _, it := range list {
		it = base[it.name]
		it.stamp = k.stamp
		n.resolved = append(n.resolved, it)
		n.mix(k, it.name, it.content)
	}
	n.added = n.resolved
	s.have = inventory{base: base, size: len(base)}
	return true
}

// mix adds a resource to the sum of a response, in which order makes no
// difference.
func (n *response) mix(k *Checker, name string, c *content) {
	h := &c.facts.Hash
	a, b := binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:])
	if name != c.facts.Name { // else the content has it
		a ^= maphash.String(k.contents.seeds[0], name)
	}
	n.sum[0] += a * 0x9E3779B97F4A7C15
	n.sum[1] += (b ^ a>>32) * 0xC2B2AE3D27D4EB4F
}

// answer ends the waiting for what a response mentions.
func (s *subscription) answer(k *Checker, m *decode.Message) {
	if len(s.waits) == 0 {
		return
	}
	said := make(map[string]struct{})
	say := func(name string) { said[decode.NormalName(name)] = struct{}{} }
	for i := range m.Resources {
		for _, a := range m.Resources[i].Aliases {
			say(a)
		}
		if m.Resources[i].Empty {
			say(m.Resources[i].Name)
		}
	}
	for _, n := range m.Removed {
		say(n)
	}
	for i := range m.ResourceErrors {
		say(m.ResourceErrors[i].Name)
	}
	kept := s.waits[:0]
	for _, w := range s.waits {
		w.left = without(w.left, func(n string) bool {
			if it := s.have.get(n); it != nil && it.stamp == k.stamp {
				return true
			}
			_, ok := said[n]
			return ok
		})
		if len(w.left) > 0 {
			kept = append(kept, w)
		}
	}
	clear(s.waits[len(kept):])
	s.waits = kept
}

const (
	// keepDetails is how many responses keep what they consist of.
	keepDetails = 2
	// maxResponses bounds the responses that all streams remember.
	maxResponses = 1 << 18
)

// remember enters a response into the ledger of its type.
func (s *subscription) remember(k *Checker, n *response) {
	if len(s.sent) >= maxNonces || k.remembered >= maxResponses && len(s.sent) > keepDetails {
		old := s.sent[0]
		if s.byNonce[short(old.nonce)] == old {
			delete(s.byNonce, short(old.nonce))
		}
		s.sent[0] = nil
		s.sent = s.sent[1:]
		s.forgotten = true
		k.remembered--
	}
	for i := len(s.sent) - 1; i >= 0 && i >= len(s.sent)-keepDetails; i-- {
		switch o := s.sent[i]; {
		case o == s.rejected:
		case i == len(s.sent)-keepDetails:
			o.shed()
		default:
			o.resolved = nil
		}
	}
	if n.nonce != "" {
		key := short(n.nonce)
		n.reused = s.byNonce[key]
		s.byNonce[key] = n
	}
	if n.m.Kind == decode.SotwResponse && len(s.versions) < maxNonces {
		s.versions[short(n.version)] = struct{}{}
	}
	s.sent = append(s.sent, n)
	k.remembered++
}

// shed lets go of what only recent responses need.
func (n *response) shed() {
	n.resolved, n.added, n.changed, n.before, n.removed, n.heartbeats = nil, nil, nil, nil, nil, nil
	n.m = &decode.Message{Kind: n.m.Kind}
	n.same, n.nameless, n.timed, n.misnamed = nil, nil, nil, nil
}

// bases shares the inventories that clients begin with. They are kept for two
// generations of maxBaseItems resources.
type bases struct {
	young, old map[baseKey]map[string]*item
	items      int
}

type baseKey struct {
	typ   string
	count int
	sum   uint64
}

const maxBaseItems = 1 << 17

func (b *bases) get(key baseKey) map[string]*item {
	if base := b.young[key]; base != nil {
		return base
	}
	base := b.old[key]
	if base != nil {
		b.put(key, base)
	}
	return base
}

func (b *bases) put(key baseKey, base map[string]*item) {
	if b.items >= maxBaseItems {
		b.old, b.young, b.items = b.young, nil, 0
	}
	if b.young == nil {
		b.young = make(map[baseKey]map[string]*item)
	}
	b.young[key] = base
	b.items += len(base)
}
