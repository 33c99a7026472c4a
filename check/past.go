package check

import "hash/maphash"

// past is which nonces were used long ago. It holds hashes with a key that no
// peer knows, the newest maxNonces of them.
type past struct {
	ring []uint64
	next int
}

// maxNonces is how many responses of a type on a stream are known by their
// nonces. The newest of them, and those without a verdict, are known in full.
const (
	maxNonces = 1024
	keepSent  = 16
)

func (p *past) add(seed maphash.Seed, nonce string) {
	h := maphash.String(seed, nonce)
	if len(p.ring) < maxNonces {
		p.ring = append(p.ring, h)
		return
	}
	p.ring[p.next] = h
	p.next = (p.next + 1) % maxNonces
}

func (p *past) has(seed maphash.Seed, nonce string) bool {
	if len(p.ring) == 0 {
		return false
	}
	h := maphash.String(seed, nonce)
	for _, o := range p.ring {
		if o == h {
			return true
		}
	}
	return false
}

// full says that still older ones may have been forgotten.
func (p *past) full() bool { return len(p.ring) == maxNonces }
