package engine

import (
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/session"
)

// bury leaves of a stream that has ended what the next one of its client is held
// against: names, versions and contents, which type stood where, and the nonces
// of its last responses.
func (k *Engine) bury(t *Stream) {
	t.Memory, t.Lasting = nil, nil
	if t.polls != nil {
		t.Types, t.polls = newTypes(), nil // they go on
	}
	bytes := int64(512 + len(t.client) + len(t.Peer) + len(t.Server))
	for _, s := range t.Order {
		bytes += k.burySub(s)
	}
	if t.Node == nil || len(t.Order) == 0 {
		for _, s := range t.Order {
			k.unbury(s)
		}
		t.Types = newTypes()
		return // nobody will ask
	}
	t.memento = k.past.add(bytes, func() { k.forgetStream(t) })
}

// burySub returns what is left of a type in bytes.
func (k *Engine) burySub(s *Subscription) int64 {
	s.Memory, s.Lasting, s.Dropped, s.Initial, s.Kept = nil, nil, nil, nil, inventory{}
	s.Versions, s.usedNonces, s.heard, s.lastEchoed = used{}, used{}, nil, nil
	s.prior, s.refusals = nil, nil
	for _, r := range []**Request{&s.First, &s.Last} {
		if *r != nil {
			*r = &Request{On: (*r).On, Seq: (*r).Seq, At: (*r).At, Ordinal: (*r).Ordinal, Verdict: (*r).Verdict, Message: &decode.Message{}}
		}
	}
	bytes := int64(768 + len(s.Key) + len(s.URL) + len(s.version) + len(s.nack))
	for _, name := range s.refused.blamed {
		bytes += int64(16 + len(name))
	}
	s.nonces = s.nonces[:0:0]
	for _, n := range s.Sent[max(0, len(s.Sent)-keepSent):] {
		if n.Nonce != "" {
			s.nonces = append(s.nonces, pastNonce{maphash.String(s.seed, n.Nonce), n.Seq})
			bytes += 16
		}
	}
	if n := s.Newest(); n != nil {
		s.Sent, s.nonceHash, s.told = []*Response{k.bareResponse(n)}, nil, nil
	}
	if s.Accepted != nil {
		s.Accepted = k.bareResponse(s.Accepted)
	}
	bytes += s.open.bury(k) + s.aliases.bytes()
	if b := s.Have.bulk; b != nil && len(s.Have.own) == 0 {
		if b.cold == nil {
			b.cold = k.chill(&s.Have)
		}
		s.Have = inventory{cold: b.cold, size: len(b.cold.list)}
	} else {
		s.Have = inventory{cold: k.chill(&s.Have), size: s.Have.size}
	}
	k.holdCold(s.Have.cold)
	k.past.hold(s.Names.shared())
	k.lists.release(s.Names.base)
	for name := range s.Names.own {
		bytes += int64(64 + len(name))
	}
	for name := range s.gone {
		bytes += int64(64 + len(name))
	}
	for name := range s.former.names {
		bytes += int64(64 + len(name))
	}
	return bytes
}

// unbury gives back what the past holds for a type.
func (k *Engine) unbury(s *Subscription) {
	if s.Have.cold != nil {
		k.releaseCold(s.Have.cold)
	}
	k.past.release(s.Names.shared())
	k.lists.drop(s.Names.base)
	s.Have, s.Names = inventory{}, names{}
}

// bareResponse is what is left of a response of a stream that has ended.
func (k *Engine) bareResponse(n *Response) *Response {
	out := *n
	out.details, out.JudgedBy, out.Reused = &k.bare, nil, nil
	if by := n.JudgedBy; by != nil {
		out.JudgedBy = &Request{Seq: by.Seq, At: by.At, Message: &decode.Message{}}
	}
	return &out
}

// forgetStream lets go of a stream that has ended.
func (k *Engine) forgetStream(t *Stream) {
	k.Peers.forget(t)
	for _, s := range t.Order {
		if of := k.clients.byID[t.account]; of != nil {
			of.let(s)
		}
		k.unbury(s)
	}
	t.Types, t.Previous, t.Lost, t.memento = newTypes(), nil, true, nil
}

// pastNonce is a nonce of a response of a stream that has ended.
type pastNonce struct {
	hash uint64
	seq  session.Seq
}

// WithNonce is the response that had a nonce, of those that are remembered; 0 if
// there is none.
func (s *Subscription) WithNonce(nonce string) session.Seq {
	if n := s.ByNonce(Short(nonce)); n != nil {
		return n.Seq
	}
	if len(s.nonces) == 0 {
		return 0
	}
	h := maphash.String(s.seed, Short(nonce))
	for _, p := range s.nonces {
		if p.hash == h {
			return p.seq
		}
	}
	return 0
}
