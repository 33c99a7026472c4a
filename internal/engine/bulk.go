package engine

import (
	"encoding/binary"
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/recent"
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

// bulks finds what was worked out before: by the batch, or by the contents. Of
// both so many bytes are kept, or what two of the largest responses need.
type bulks struct {
	byBatch recent.Map[*decode.Batch, *bulk]
	bySum   recent.Map[bulkKey, *bulk]
	limit   int64 // bytes
	most    int64 // bytes of the largest responses, fading
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
		if b, ok := k.bulks.byBatch.Get(batch); ok {
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
	known, met := k.bulks.bySum.Get(key)
	if !met {
		b.base = make(map[string]*Resource, len(b.items))
		for _, it := range b.items {
			b.base[it.Name] = it
		}
		if len(b.base) != len(b.items) {
			return nil // a name comes twice
		}
		k.bulks.keep(nil, key, b)
		known = b
	}
	if batch != nil && (delta || s.Full()) {
		k.bulks.keep(batch, key, known)
	}
	return known
}

// keep enters what was worked out for a batch, unless that is nil, or else by
// its contents.
func (b *bulks) keep(batch *decode.Batch, key bulkKey, one *bulk) {
	cost := int64(len(one.items)+16) * bulkItemBytes
	b.most = max(b.most-b.most/64, cost)
	limit := max(b.limit, 2*b.most)
	if batch != nil {
		b.byBatch.Put(batch, one, cost, limit)
		return
	}
	b.bySum.Put(key, one, cost, limit)
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
