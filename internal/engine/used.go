package engine

import (
	"hash/maphash"
	"slices"
)

// used is which nonces, or versions, were used. It holds hashes with a key that no
// peer knows, the newest MaxNonces of them.
type used struct {
	seed maphash.Seed
	ring []uint64
	next int
	// maybe has a bit for each hash that was added since the ring was full
	// last, so that most questions need no search; nil while there are few.
	maybe *[256]uint64
}

// fewUsed is how many hashes are searched one by one.
const fewUsed = 32

// MaxNonces is how many responses of a type on a stream are known by their
// nonces. The newest of them, and those without a verdict, are known in full.
const (
	MaxNonces = 1024
	keepSent  = 16
)

func (u *used) hash(s string) uint64 { return maphash.String(u.seed, s) }

func (u *used) Has(s string) bool { return len(u.ring) > 0 && u.has(u.hash(s)) }

// add enters the hash of a string.
func (u *used) add(h uint64) {
	if len(u.ring) < MaxNonces {
		u.ring = append(u.ring, h)
	} else {
		u.ring[u.next] = h
		if u.next = (u.next + 1) % MaxNonces; u.next == 0 {
			u.maybe = nil
		}
	}
	switch {
	case u.maybe != nil:
		u.mark(h)
	case len(u.ring) > fewUsed:
		u.maybe = new([256]uint64)
		for _, o := range u.ring {
			u.mark(o)
		}
	}
}

func (u *used) mark(h uint64) { u.maybe[h>>56] |= 1 << (h & 63) }

func (u *used) has(h uint64) bool {
	return (u.maybe == nil || u.maybe[h>>56]&(1<<(h&63)) != 0) && slices.Contains(u.ring, h)
}

// Full says that still older ones may have been forgotten.
func (u *used) Full() bool { return len(u.ring) == MaxNonces }
