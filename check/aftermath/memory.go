package aftermath

import (
	"hash/maphash"
	"iter"

	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// mostServers and mostHistories bound the types of all clients of which it is
	// remembered what their server sent last, and what was replaced.
	mostServers   = 1 << 14
	mostHistories = 1 << 14
	// mostReplaced bounds the contents of all clients of which it is remembered
	// that they were replaced, and mostOfOne those that are looked at of one.
	mostReplaced = 1 << 17
	mostOfOne    = 1 << 13
)

// Memory is what is remembered of all clients. The least recent is forgotten.
type Memory struct {
	seed      maphash.Seed
	begun     bool
	replaced  replacements
	histories memories[history]
	servers   memories[given]
}

// key is a hash of some words, with a seed that no peer can know.
func (m *Memory) key(words ...string) uint64 {
	if !m.begun {
		m.seed, m.begun = maphash.MakeSeed(), true
	}
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, w := range words {
		h.WriteString(w)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// notes are what is kept with a type on a stream. What outlives the stream is held
// here so that it need not be looked up with every response.
type notes struct {
	awaiting bool // there is a timer
	history  held[history]
	asked    uint64 // what the client wants of whom given is
	given    held[given]
}

// held is what somebody has of memories, and when it was looked up.
type held[V any] struct {
	v  *V
	at uint64
}

// memories are of many clients, by a key.
type memories[V any] struct {
	by    recent.Map[uint64, *V]
	asked uint64 // how often something was looked up
}

// of is what is remembered under a key; if that is nothing, zero. Who holds it asks
// for it anew before as many others were as make it forgotten.
func (m *memories[V]) of(h *held[V], most int64, key func() uint64) *V {
	if h.v != nil && m.asked-h.at < uint64(most/4) {
		return h.v
	}
	m.asked++
	k := key()
	v, is := m.by.Get(k)
	if !is {
		v = new(V)
		m.by.Put(k, v, 1, most)
	}
	h.v, h.at = v, m.asked
	return v
}

// history is what was replaced of a type that a client has: the position of the
// last, from 1.
type history struct{ last uint64 }

// replacement is a content that a resource had, the response that replaced it, and
// where the one before it of the same history stands.
type replacement struct {
	name, was uint64
	by        session.Seq
	before    uint64
}

// replacements are those of all clients, of which the oldest are overwritten.
type replacements struct {
	ring []replacement
	n    uint64 // that there ever were
}

func (rs *replacements) add(h *history, r replacement) {
	r.before = h.last
	if at := rs.n % mostReplaced; at < uint64(len(rs.ring)) {
		rs.ring[at] = r
	} else {
		rs.ring = append(rs.ring, r)
	}
	rs.n++
	h.last = rs.n
}

// of yields a history, the last first, as far as it is remembered.
func (rs *replacements) of(h *history) iter.Seq[replacement] {
	return func(yield func(replacement) bool) {
		at := h.last
		for range mostOfOne {
			if at == 0 || at+mostReplaced <= rs.n {
				return
			}
			r := rs.ring[(at-1)%mostReplaced]
			if !yield(r) {
				return
			}
			at = r.before
		}
	}
}
