package engine

import (
	"hash/maphash"
	"slices"
	"strings"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/engine/survey"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// response enters a response.
func (k *Engine) response(e *session.Entry, c *Change, whole bool) {
	t, m := c.Stream, c.Message
	s := k.subOf(t, m)
	t.Responses++
	t.Moved++
	k.Peers.unnamed = k.Peers.unnamed || t.Lost && t.Node == nil
	if t.Responses == 1 {
		t.FirstResponse = k.Now
		if of := k.Peers.ByKey[KeyOf(t)]; of != nil {
			of.Refused = 0
		}
	}
	if s == nil {
		return
	}
	n := &Response{
		On: t.ID, Seq: e.Seq, At: k.Now, Ordinal: s.Responses, Nonce: Short(m.Nonce), Version: Short(m.Version), Size: e.Message.Size,
		Kind: m.Kind, Count: len(m.Resources), WasFirst: s.Responses == 0, Was: s.Have.Len(),
		details: &k.bare,
	}
	if !k.o.Envelopes {
		n.details, k.looked = k.newDetails(), n
		n.Message, n.Wanted = m, s.Last
	}
	c.Accepted, c.None = s.accepted()
	c.Sub, c.Response = s, n
	s.Responses++
	k.Stamp = uint64(e.Seq)
	n.stamp = k.Stamp
	if whole && !k.o.Names {
		k.fill(s, n, c.batch, e.Message.Masked)
	}
	for _, it := range n.Resolved {
		delete(s.gone, it.Name)
	}
	for _, name := range m.Removed {
		if name = decode.NormalName(name); !s.Lost && s.Names.Has(name) {
			s.markGone(name, true)
		}
	}
	s.remember(k, n)
	if s.Lost && whole {
		s.heard = n
	}
}

// fill finds out what a response changes of what the client has.
func (k *Engine) fill(s *Subscription, n *Response, batch *chunk.Batch, masked bool) {
	m := n.Message
	if len(m.Resources) > 0 && !s.Facts.Envoy {
		typ := m.Resources[0].TypeURL
		n.Foreign = typ != "" && xds.TypeName(typ) != xds.TypeName(s.URL)
	}
	k.Contents.expect(len(m.Resources))
	from := s.Have.only()
	b := k.resolve(s, n, batch, masked)
	n.beating, n.pulsed = len(n.beats) > 0, n.pulse()
	s.Variants = s.Variants || n.Variants
	if n.Aliased {
		s.learnAliases(m)
	}
	if !n.moved {
		k.takeAway(s, n)
	}
	if b != nil {
		k.settleBulk(s, n, from, b)
	}
	s.retire(n.Before...)
	s.retire(n.Removed...)
	s.open.sent(n)
	if !n.pulsed {
		s.told = n
	}
	if s.Stream.Method.Variant == xds.VariantFile {
		s.open = unsettled{} // a file is read, and nobody is asked
		k.entered(s.Stream, "")
	}
	if n.refused = s.refused.again(n); !n.refused && !s.refused.outlasts(n) && !s.lasts(&s.refused) {
		s.forgive()
	}
}

// takeAway takes from what the client has what a response removes: by name, or by
// leaving it out.
func (k *Engine) takeAway(s *Subscription, n *Response) {
	if n.Kind == decode.DeltaResponse {
		for _, name := range n.Message.Removed {
			name = decode.NormalName(name)
			n.gone = append(n.gone, name)
			delete(s.aliases, name)
			if it := s.Have.Get(name); it != nil && it.Stamp != k.Stamp {
				n.Removed = append(n.Removed, it)
				s.Have.remove(it.Name)
			}
		}
		return
	}
	if !s.Whole() || n.pulse() || n.again+len(n.Changed)-n.Twice >= n.Was {
		return
	}
	for _, it := range s.Have.All() {
		if it.Stamp != k.Stamp {
			n.Removed = append(n.Removed, it)
		}
	}
	slices.SortFunc(n.Removed, func(a, b *Resource) int { return strings.Compare(a.Name, b.Name) }) // the same in each reading
	for _, it := range n.Removed {
		s.Have.remove(it.Name)
	}
}

// pulse says whether a response only prolongs what there is: that is not the
// state of the world, whatever it leaves out.
func (n *Response) pulse() bool { return n.Count > 0 && len(n.Heartbeats) == n.Count }

// resolve finds out what is new in a response and enters it into what the
// client has. Most resources of most responses were there before. It returns
// their bulk, if they have one.
func (k *Engine) resolve(s *Subscription, n *Response, batch *chunk.Batch, masked bool) *bulk {
	if b := k.bulkOf(s, n, batch, masked); b != nil {
		k.resolveBulk(s, n, b)
		return b
	}
	resources := n.Message.Resources
	n.Peculiar = survey.Of(resources)
	n.Resolved = make([]*Resource, 0, len(resources))
	version := ""
	for i := range resources {
		r := &resources[i]
		name := decode.NormalName(r.Name)
		if name == "" {
			if !r.Empty {
				n.Nameless = append(n.Nameless, k.Contents.Of(r.TypeURL, r.Body, masked))
			}
			continue
		}
		it := s.Have.Get(name)
		if it != nil && it.Stamp == k.Stamp {
			n.Twice++
		}
		if r.Empty {
			if n.Heartbeats = append(n.Heartbeats, i); n.beats == nil {
				n.beats = make(map[string]bool)
			}
			n.beats[name] = true
			if it != nil {
				if r.HasTTL && !it.TTL { // others may have it, too
					timed := *it
					if timed.TTL = true; s.Kept.Get(name) == it { // a heartbeat brings no content
						s.Kept.put(&timed)
					}
					it = &timed
					s.Have.put(it)
				}
				it.Stamp = k.Stamp
				n.again++
				n.Resolved = append(n.Resolved, it)
			}
			continue
		}
		switch {
		case n.Message.Kind == decode.DeltaResponse:
			version = r.Version
		case !s.Full():
			version = n.Version
		}
		next := &Resource{Name: name, Version: version, Content: k.Contents.Of(r.TypeURL, r.Body, masked), TTL: r.HasTTL}
		mix(&n.Sum, k, next)
		n.Resolved = append(n.Resolved, k.enter(s, n, it, next))
	}
	return nil
}

// resolveBulk enters resources that were met before, in the same words.
func (k *Engine) resolveBulk(s *Subscription, n *Response, b *bulk) {
	n.Resolved, n.Sum, n.Peculiar = b.items, b.sum, b.peculiar
	delta := n.Kind == decode.DeltaResponse
	switch {
	case s.Have.Len() == 0:
		s.Have, n.Added = b.inventory(), b.items
	case s.Have.is(b):
		n.again = len(b.items)
		if delta {
			n.Same = b.items
		}
	case k.moved(s, n, b):
		n.moved = true
	default:
		from := s.Have.only()
		for i, next := range b.items {
			if from == nil || i >= len(from.items) || from.items[i] != next {
				k.enter(s, n, s.Have.Get(next.Name), next)
				continue
			}
			if n.again++; delta {
				n.Same = append(n.Same, next)
			}
		}
	}
	for _, it := range b.items {
		if it.Stamp = k.Stamp; it.Seq == 0 {
			it.Seq = n.Seq
		}
	}
}

// enter puts next in the place of it, unless it is the same, and returns what
// is there then.
func (k *Engine) enter(s *Subscription, n *Response, it, next *Resource) *Resource {
	same := it != nil && it.Content.SameAs(next.Content)
	switch {
	case it == nil:
		n.Added = append(n.Added, next)
	case same:
		n.again++
	default:
		n.Changed, n.Before = append(n.Changed, next), append(n.Before, it)
	}
	freed := same && it.TTL && !next.TTL
	if freed {
		n.Freed++
	}
	if same && it.Version == next.Version && it.TTL == next.TTL {
		if n.Message.Kind == decode.DeltaResponse {
			n.Same = append(n.Same, it)
		}
		it.Stamp = k.Stamp
		return it
	}
	if same && !freed && it.Version != next.Version && n.Message.Kind == decode.DeltaResponse {
		n.Reissued = append(n.Reissued, next)
	}
	s.Have.put(next)
	next.Stamp, next.Seq = k.Stamp, n.Seq
	return next
}

// keepDetails is how many responses keep what they consist of.
const keepDetails = 2

// remember enters a response into the ledger of its type.
func (s *Subscription) remember(k *Engine, n *Response) {
	for len(s.Sent) >= keepSent && (s.Sent[0].Verdict != Unjudged || s.Sent[0].Nonce == "" || len(s.Sent) >= MaxNonces) {
		old, hash := s.Sent[0], s.nonceHash[0]
		s.Sent[0], s.Sent, s.nonceHash = nil, s.Sent[1:], s.nonceHash[1:]
		if old.Nonce != "" && !slices.Contains(s.nonceHash, hash) {
			s.usedNonces.add(hash)
		}
		s.unanswered = s.unanswered || old.Verdict == Unjudged && old.Nonce != ""
		s.Forgotten = s.Forgotten || s.usedNonces.Full() || old.Verdict == Unjudged
	}
	for i := len(s.Sent) - 1; i >= 0 && i >= len(s.Sent)-keepDetails; i-- {
		switch o := s.Sent[i]; {
		case o.Verdict == NACKed && o.Seq == s.refused.seq:
		case i == len(s.Sent)-keepDetails:
			k.spare = o.shed(&k.bare)
		case o.Resolved != nil:
			o.Resolved = nil
		}
	}
	hash := maphash.String(s.seed, n.Nonce) // as that of usedNonces
	if n.Nonce != "" {
		n.Reused = s.withNonce(hash, n.Nonce)
		n.ReusedPast = n.Reused == nil && s.usedNonces.has(hash)
	}
	if last := s.Newest(); n.Kind == decode.SotwResponse && (last == nil || last.Version != n.Version) && !s.Versions.Has(n.Version) {
		s.Versions.add(s.Versions.hash(n.Version))
	}
	s.Sent, s.nonceHash = append(s.Sent, n), append(s.nonceHash, hash)
}

// ByNonce is the newest response with a nonce, as Short leaves it; nil if none is
// remembered.
func (s *Subscription) ByNonce(nonce string) *Response {
	if len(s.nonceHash) == 0 { // it may be nobody's, and have no seed
		return nil
	}
	return s.withNonce(maphash.String(s.seed, nonce), nonce)
}

// withNonce is ByNonce with the hash of the nonce. It is that of one of the last
// few, nearly always, and there are at most MaxNonces.
func (s *Subscription) withNonce(hash uint64, nonce string) *Response {
	for i := len(s.nonceHash) - 1; i >= 0; i-- {
		if s.nonceHash[i] == hash && s.Sent[i].Nonce == nonce {
			return s.Sent[i]
		}
	}
	return nil
}

// Judged is the entry of the verdict, of older responses too; 0 if there is none.
func (n *Response) Judged() session.Seq { return n.judgedSeq }

// shed lets go of what only recent responses need, and returns it for another.
func (n *Response) shed(bare *details) *details {
	d := n.details
	n.JudgedBy, n.Reused, n.details = nil, nil, bare
	return d
}

// newDetails are empty, and nobody else's.
func (k *Engine) newDetails() *details {
	d := k.spare
	if k.spare = nil; d == nil || d == &k.bare {
		return &details{}
	}
	*d = details{}
	return d
}
