package engine

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
)

// bulk is the resources of a response, worked out once for all clients that
// get them and for every time that they come again. It is immutable, but for
// the stamps of its items.
type bulk struct {
	items    []*Resource // in order
	base     map[string]*Resource
	sum      [2]uint64
	peculiar peculiar
	cold     *cold // the same for streams that have ended
}

// peculiar says which resources of a response are not plain ones.
type peculiar struct {
	// timed are the positions of resources with a TTL, misnamed of those that
	// do not say one name, and wrapped counts the envelopes.
	Timed, Misnamed []int
	Wrapped         int
	Aliased         bool // a resource has other names
	// variants says that resources come with constraints on parameters, so
	// that a name may stand for several.
	variants bool
	// typed is the position of the first payload plus one, 0 if there is none,
	// and odd are those of payloads of another type than the first.
	Typed int
	Odd   []int
}

func (p *peculiar) survey(resources []decode.Resource) {
	for i := range resources {
		r := &resources[i]
		if r.HasTTL {
			p.Timed = append(p.Timed, i)
		}
		if r.Wrapped {
			p.Wrapped++
		}
		if r.Name == "" || r.Unnamed || r.BothNames {
			p.Misnamed = append(p.Misnamed, i)
		}
		p.Aliased = p.Aliased || len(r.Aliases) > 0
		p.variants = p.variants || r.Constraints != ""
		switch {
		case r.Empty:
		case p.Typed == 0:
			p.Typed = i + 1
		case r.TypeURL != resources[p.Typed-1].TypeURL:
			p.Odd = append(p.Odd, i)
		}
	}
}

// plain says whether names, versions and contents are all there is to a
// response, but for envelopes.
func (p *peculiar) plain() bool {
	return len(p.Timed)+len(p.Misnamed)+len(p.Odd) == 0 && !p.Aliased && !p.variants
}

// bulks finds what was worked out before: by the batch, or by the contents.
// Both are kept for two generations of so many resources as limit says, or what
// two of the largest responses need.
type bulks struct {
	byBatch map[*decode.Batch]*bulk
	young   map[bulkKey]*bulk
	old     map[bulkKey]*bulk
	items   int
	was     int // in the old generation
	limit   int
	most    int // resources of the largest responses, fading
}

type bulkKey struct {
	typ            string
	delta          bool
	count, wrapped int
	sum            uint64
}

const (
	// bulkItemBytes is what a resource takes in a bulk and its table.
	bulkItemBytes = 160
	// minBulk is from how many resources on they are worth sharing where
	// nothing says that they will come again.
	minBulk = 64
)

// bulkOf returns the bulk of a response, or nil if its resources have to be
// taken one by one: because they are few, or because some are not plain.
func (k *Engine) bulkOf(s *Subscription, n *Response, batch *decode.Batch, masked bool) *bulk {
	delta := n.Message.Kind == decode.DeltaResponse
	// In the state of the world the items of a named type have the version of
	// their response, so that none is like another.
	if !delta && !s.Full() && s.Have.Len() > 0 || len(n.Message.Resources) == 0 {
		return nil
	}
	if batch != nil && (delta || s.Full()) {
		if b := k.bulks.byBatch[batch]; b != nil {
			return b
		}
	} else if len(n.Message.Resources) < minBulk || s.Have.Len() > 0 {
		return nil
	}
	return k.makeBulk(s, n, batch, delta, masked)
}

func (k *Engine) makeBulk(s *Subscription, n *Response, batch *decode.Batch, delta, masked bool) *bulk {
	b := &bulk{items: make([]*Resource, 0, len(n.Message.Resources))}
	if b.peculiar.survey(n.Message.Resources); !b.peculiar.plain() {
		return nil
	}
	key := bulkKey{typ: s.Key, delta: delta, count: len(n.Message.Resources), wrapped: b.peculiar.Wrapped}
	var h maphash.Hash
	h.SetSeed(k.Contents.Seeds[0])
	for i := range n.Message.Resources {
		r := &n.Message.Resources[i]
		name := decode.NormalName(r.Name)
		if name == "" || r.Empty {
			return nil
		}
		it := &Resource{Name: name, Content: k.Contents.Of(r.TypeURL, r.Body, masked)}
		switch {
		case delta:
			it.Version = r.Version
		case !s.Full():
			it.Version = n.Version
		}
		if i == 0 || r.TypeURL != n.Message.Resources[i-1].TypeURL {
			h.WriteString(r.TypeURL)
			h.WriteByte(1)
		}
		h.WriteString(it.Name)
		h.WriteByte(0)
		h.WriteString(it.Version)
		h.WriteByte(0)
		h.Write(it.Content.Facts.Hash[:])
		mix(&b.sum, k, it)
		b.items = append(b.items, it)
	}
	key.sum = h.Sum64()
	known := k.bulks.find(key)
	if known == nil {
		b.base = make(map[string]*Resource, len(b.items))
		for _, it := range b.items {
			b.base[it.Name] = it
		}
		if len(b.base) != len(b.items) {
			return nil // a name comes twice
		}
		k.bulks.keep(key, b)
		known = b
	}
	if batch != nil && (delta || s.Full()) {
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
	b.most = max(b.most-b.most/64, n)
	if b.items += n + 16; b.items > max(b.limit, 2*b.most) || b.young == nil {
		b.old, b.young, b.items, b.was = b.young, make(map[bulkKey]*bulk), n+16, b.items-n-16
		b.byBatch = make(map[*decode.Batch]*bulk)
	}
}

// mix adds a resource to a sum in which order makes no difference.
func mix(sum *[2]uint64, k *Engine, it *Resource) {
	h := &it.Content.Facts.Hash
	a, b := binary.LittleEndian.Uint64(h[:8]), binary.LittleEndian.Uint64(h[8:])
	if it.Name != it.Content.Facts.Name { // else the content has it
		a ^= maphash.String(k.Contents.Seeds[0], it.Name)
	}
	sum[0] += a * 0x9E3779B97F4A7C15
	sum[1] += (b ^ a>>32) * 0xC2B2AE3D27D4EB4F
}
