package check

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
)

// bulk is the resources of a response, worked out once for all clients that
// get them and for every time that they come again. It is immutable, but for
// the stamps of its items.
type bulk struct {
	items    []*item // in order
	base     map[string]*item
	sum      [2]uint64
	peculiar peculiar
}

// peculiar says which resources of a response are not plain ones.
type peculiar struct {
	// timed are the positions of resources with a TTL, misnamed of those that
	// do not say one name, and wrapped counts the envelopes.
	timed, misnamed []int
	wrapped         int
	aliased         bool // a resource has other names
	// variants says that resources come with constraints on parameters, so
	// that a name may stand for several.
	variants bool
	// typed is the position of the first payload plus one, 0 if there is none,
	// and odd are those of payloads of another type than the first.
	typed int
	odd   []int
}

func (p *peculiar) survey(resources []decode.Resource) {
	for i := range resources {
		r := &resources[i]
		if r.HasTTL {
			p.timed = append(p.timed, i)
		}
		if r.Wrapped {
			p.wrapped++
		}
		if r.Name == "" || r.Unnamed || r.BothNames {
			p.misnamed = append(p.misnamed, i)
		}
		p.aliased = p.aliased || len(r.Aliases) > 0
		p.variants = p.variants || r.Constraints != ""
		switch {
		case r.Empty:
		case p.typed == 0:
			p.typed = i + 1
		case r.TypeURL != resources[p.typed-1].TypeURL:
			p.odd = append(p.odd, i)
		}
	}
}

// plain says whether names, versions and contents are all there is to a
// response, but for envelopes.
func (p *peculiar) plain() bool {
	return len(p.timed)+len(p.misnamed)+len(p.odd) == 0 && !p.aliased && !p.variants
}

// bulks finds what was worked out before: by the batch, or by the contents.
// Both are kept for two generations of maxBulkItems resources.
type bulks struct {
	byBatch map[*decode.Batch]*bulk
	young   map[bulkKey]*bulk
	old     map[bulkKey]*bulk
	items   int
}

type bulkKey struct {
	typ            string
	delta          bool
	count, wrapped int
	sum            uint64
}

const (
	maxBulkItems = 1 << 17
	// minBulk is from how many resources on they are worth sharing where
	// nothing says that they will come again.
	minBulk = 64
)

// bulkOf returns the bulk of a response, or nil if its resources have to be
// taken one by one: because they are few, or because some are not plain.
func (k *Engine) bulkOf(s *subscription, n *response, batch *decode.Batch, masked bool) *bulk {
	delta := n.m.Kind == decode.DeltaResponse
	// In the state of the world the items of a named type have the version of
	// their response, so that none is like another.
	if !delta && !s.full() && s.have.len() > 0 || len(n.m.Resources) == 0 {
		return nil
	}
	if batch != nil && (delta || s.full()) {
		if b := k.bulks.byBatch[batch]; b != nil {
			return b
		}
	} else if len(n.m.Resources) < minBulk || s.have.len() > 0 {
		return nil
	}
	return k.makeBulk(s, n, batch, delta, masked)
}

func (k *Engine) makeBulk(s *subscription, n *response, batch *decode.Batch, delta, masked bool) *bulk {
	b := &bulk{items: make([]*item, 0, len(n.m.Resources))}
	if b.peculiar.survey(n.m.Resources); !b.peculiar.plain() {
		return nil
	}
	key := bulkKey{typ: s.key, delta: delta, count: len(n.m.Resources), wrapped: b.peculiar.wrapped}
	var h maphash.Hash
	h.SetSeed(k.contents.seeds[0])
	for i := range n.m.Resources {
		r := &n.m.Resources[i]
		name := decode.NormalName(r.Name)
		if name == "" || r.Empty {
			return nil
		}
		it := &item{name: name, content: k.contents.of(r.TypeURL, r.Body, masked)}
		switch {
		case delta:
			it.version = r.Version
		case !s.full():
			it.version = n.version
		}
		if i == 0 || r.TypeURL != n.m.Resources[i-1].TypeURL {
			h.WriteString(r.TypeURL)
			h.WriteByte(1)
		}
		h.WriteString(it.name)
		h.WriteByte(0)
		h.WriteString(it.version)
		h.WriteByte(0)
		h.Write(it.content.facts.Hash[:])
		mix(&b.sum, k, it)
		b.items = append(b.items, it)
	}
	key.sum = h.Sum64()
	known := k.bulks.find(key)
	if known == nil {
		b.base = make(map[string]*item, len(b.items))
		for _, it := range b.items {
			b.base[it.name] = it
		}
		if len(b.base) != len(b.items) {
			return nil // a name comes twice
		}
		k.bulks.keep(key, b)
		known = b
	}
	if batch != nil && (delta || s.full()) {
		if known != b {
			k.bulks.charge(len(known.items)) // a batch keeps its bytes from being collected
		}
		k.bulks.byBatch[batch] = known
	}
	return known
}

func (b *bulks) find(key bulkKey) *bulk {
	if one := b.young[key]; one != nil {
		return one
	}
	one := b.old[key]
	if one != nil {
		b.keep(key, one)
	}
	return one
}

func (b *bulks) keep(key bulkKey, one *bulk) {
	b.charge(len(one.items))
	b.young[key] = one
}

// charge begins a new generation if there is no room for n more resources in
// this one.
func (b *bulks) charge(n int) {
	if b.items += n + 16; b.items > maxBulkItems || b.young == nil {
		b.old, b.young, b.items = b.young, make(map[bulkKey]*bulk), n+16
		b.byBatch = make(map[*decode.Batch]*bulk)
	}
}

// mix adds a resource to a sum in which order makes no difference.
func mix(sum *[2]uint64, k *Engine, it *item) {
	h := &it.content.facts.Hash
	a, b := binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:])
	if it.name != it.content.facts.Name { // else the content has it
		a ^= maphash.String(k.contents.seeds[0], it.name)
	}
	sum[0] += a * 0x9E3779B97F4A7C15
	sum[1] += (b ^ a>>32) * 0xC2B2AE3D27D4EB4F
}
