package engine

import (
	"encoding/binary"
	"hash/maphash"
	"maps"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/internal/engine/survey"
	"github.com/xdsproxy/xdsproxy/internal/recent"
)

// bulk is the resources of a response, worked out once for all clients that
// get them and for every time that they come again. It is immutable, but for
// the stamps of its items and whether it is shared.
type bulk struct {
	places   chunk.Places // of what it was made of
	items    []*Resource  // in order
	base     map[string]*Resource
	sum      [2]uint64
	peculiar survey.Peculiar
	shared   bool  // it was sent more than once
	cold     *cold // the same for streams that have ended
}

// bulks finds what was worked out before: by the batch, by the contents, or by
// what the client had. Of each so many bytes are kept, or what two of the largest
// responses need.
type bulks struct {
	byBatch recent.Map[batchKey, *bulk]
	bySum   recent.Map[bulkKey, *bulk]
	moves   recent.Map[moveKey, *move]
	limit   int64 // bytes
	most    int64 // bytes of the largest responses, fading
}

// batchKey is a batch, and the version that its response gives to resources.
type batchKey struct {
	batch   *chunk.Batch
	version string
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
func (k *Engine) bulkOf(s *Subscription, n *Response, batch *chunk.Batch, masked bool) *bulk {
	few := len(n.Message.Resources) < minBulk || s.Have.Len() > 0
	switch {
	case len(n.Message.Resources) == 0, batch == nil && few:
		return nil
	case batch == nil:
		return k.makeBulk(s, n, nil, masked)
	}
	key := batchKey{batch: batch}
	// In the state of the world the items of a named type have the version of
	// their response: these are worth sharing if another client gets them, too.
	named := n.Kind == decode.SotwResponse && !s.Full()
	if named {
		key.version = n.Version
	}
	b, met := k.bulks.byBatch.Get(key)
	switch {
	case met:
		b.shared = true
		return b
	case named && few && !batch.Again:
		return nil
	}
	if b = k.makeBulk(s, n, batch, masked); b != nil {
		k.bulks.byBatch.Put(key, b, k.bulks.cost(b), max(k.bulks.limit, 2*k.bulks.most))
	}
	return b
}

// makeBulk works out the resources of a response. What the client has from
// another bulk, and gets again, is the same Resource.
func (k *Engine) makeBulk(s *Subscription, n *Response, batch *chunk.Batch, masked bool) *bulk {
	resources := n.Message.Resources
	b := &bulk{items: make([]*Resource, 0, len(resources))}
	if batch != nil {
		b.places = batch.Places
	}
	if b.peculiar = survey.Of(resources); !b.peculiar.None() {
		return nil
	}
	delta := n.Kind == decode.DeltaResponse
	key := bulkKey{typ: s.Key, delta: delta, count: len(resources), wrapped: b.peculiar.Wrapped}
	from := s.Have.only()
	for i := range resources {
		r := &resources[i]
		was := from.at(&b.places, i) // the same bytes
		name := ""
		if was != nil {
			name = was.Name
		} else if name = decode.NormalName(r.Name); name == "" || r.Empty {
			return nil
		}
		version := ""
		switch {
		case delta:
			version = r.Version
		case !s.Full():
			version = n.Version
		}
		var c *Content
		if was != nil {
			c = was.Content
		} else {
			c, was = k.Contents.Of(r.TypeURL, r.Body, masked), from.named(name)
		}
		if was == nil || was.Content != c || was.Version != version {
			was = &Resource{Name: name, Version: version, Content: c}
		}
		key.mix(k, was)
		mix(&b.sum, k, was)
		b.items = append(b.items, was)
	}
	if known, ok := k.bulks.bySum.Get(key); ok {
		return known
	}
	if b.base = b.byName(from); len(b.base) != len(b.items) {
		return nil // a name comes twice
	}
	k.bulks.bySum.Put(key, b, k.bulks.cost(b), max(k.bulks.limit, 2*k.bulks.most))
	return b
}

// byName are the items of a bulk that has nearly all of them from another.
func (b *bulk) byName(from *bulk) map[string]*Resource {
	alike := from != nil && len(from.items) == len(b.items)
	for i := 0; alike && i < len(b.items); i++ {
		alike = from.items[i] == b.items[i] || from.items[i].Name == b.items[i].Name
	}
	if !alike {
		base := make(map[string]*Resource, len(b.items))
		for _, it := range b.items {
			base[it.Name] = it
		}
		return base
	}
	base := maps.Clone(from.base)
	for i, it := range b.items {
		if from.items[i] != it {
			base[it.Name] = it
		}
	}
	return base
}

// cost is what a bulk takes, about.
func (b *bulks) cost(one *bulk) int64 {
	cost := int64(len(one.items)+16) * bulkItemBytes
	b.most = max(b.most-b.most/64, cost)
	return cost
}

// at is the item at a position of a bulk, if others have the same bytes there.
func (b *bulk) at(places *chunk.Places, i int) *Resource {
	if b == nil || i >= len(b.items) || !b.places.Same(places, i) {
		return nil
	}
	return b.items[i]
}

func (b *bulk) named(name string) *Resource {
	if b == nil {
		return nil
	}
	return b.base[name]
}

// mix adds a resource to the sum of a key, in which order makes a difference. It
// hangs on seeds that no peer knows.
func (key *bulkKey) mix(k *Engine, it *Resource) {
	v := it.Content.raw[0] ^ it.Content.raw[1]*0x9E3779B97F4A7C15
	if it.Name != it.Content.Facts.Name { // else the content has it
		v ^= maphash.String(k.Contents.Seeds[0], it.Name) * 0xC2B2AE3D27D4EB4F
	}
	if it.Version != "" {
		v += maphash.String(k.Contents.Seeds[1], it.Version)
	}
	key.sum = (key.sum ^ v) * 0x9E3779B97F4A7C15
	key.sum ^= key.sum >> 29
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
