package engine

import (
	"hash/maphash"
	"slices"
)

// past is which nonces, or versions, were used. It holds hashes with a key that no
// peer knows, the newest maxNonces of them.
type past struct {
	seed maphash.Seed
	ring []uint64
	next int
	// maybe has a bit for each hash that was added since the ring was full
	// last, so that most questions need no search; nil while there are few.
	maybe *[64]uint64
}

// fewPast is how many hashes are searched one by one.
const fewPast = 32

// maxNonces is how many responses of a type on a stream are known by their
// nonces. The newest of them, and those without a verdict, are known in full.
const (
	MaxNonces = 1024
	keepSent  = 16
)

func (p *past) add(s string) {
	h := maphash.String(p.seed, s)
	if len(p.ring) < MaxNonces {
		p.ring = append(p.ring, h)
	} else {
		p.ring[p.next] = h
		if p.next = (p.next + 1) % MaxNonces; p.next == 0 {
			p.maybe = nil
		}
	}
	switch {
	case p.maybe != nil:
		p.mark(h)
	case len(p.ring) > fewPast:
		p.maybe = new([64]uint64)
		for _, o := range p.ring {
			p.mark(o)
		}
	}
}

func (p *past) mark(h uint64) { p.maybe[h>>58] |= 1 << (h & 63) }

func (p *past) Has(s string) bool {
	if len(p.ring) == 0 {
		return false
	}
	h := maphash.String(p.seed, s)
	return (p.maybe == nil || p.maybe[h>>58]&(1<<(h&63)) != 0) && slices.Contains(p.ring, h)
}

// full says that still older ones may have been forgotten.
func (p *past) Full() bool { return len(p.ring) == MaxNonces }
