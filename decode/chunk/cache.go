package chunk

import (
	"bytes"
	"slices"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// Cache reads messages as Peek does, and remembers what resources consist of
// by where their bytes are: of a message that comes in chunks, one for each
// resource, only those are read that were not there before. A response that
// repeats twenty thousand resources costs a glance at as many pointers, and a
// request that repeats a list of names one at the list.
//
// Chunks must never change once they were given. A Cache keeps some of them from
// being collected, twice Bytes of them or what the largest messages need. It is
// not safe for concurrent use.
type Cache struct {
	// Bytes is a half of what is kept of what was met last; 0: 16 MiB.
	Bytes int64
	most  int64 // bytes of the largest messages, fading

	resources recent.Map[resourceKey, cached]
	batches   recent.Map[batchKey, *Batch]
	lists     recent.Map[*byte, cachedNames]
	// Of the message at hand: where its resources are, and the other chunks.
	pointers []*byte
	rest     session.Chunks
	last     [2]*Batch // the newest first: mostly one of them comes again
	// What the response before had: most have the same.
	typeURL, controlPlane string
	rawControlPlane       []byte
}

// resourceKey is where a resource is, and as what it was read.
type resourceKey struct {
	at   *byte
	kind decode.Kind
}

type cached struct {
	chunk    []byte
	resource decode.Resource
}

// Batch is the resources of a response. Responses with the same resources in
// the same memory have the same Batch.
type Batch struct {
	Resources []decode.Resource // immutable
	// Again says that they came more than once.
	Again bool
	Places
	problems []string
}

// Places are where the resources of a batch are.
type Places struct {
	kind     decode.Kind
	pointers []*byte
}

// Same says whether a position has the same resource, in the same memory, as in
// another batch.
func (p *Places) Same(o *Places, i int) bool {
	return p.kind == o.kind && i < len(p.pointers) && i < len(o.pointers) && p.pointers[i] == o.pointers[i]
}

type batchKey struct {
	kind  decode.Kind
	count int
	sum   uint64
}

const (
	maxShelved = 32 << 20 // bytes of a message of which anything is kept
	// Bytes that a resource takes beside its own, in the cache and in a batch.
	resourceBytes, batchedBytes = 320, 272
	// maxItems and maxProblems bound what is read of one message, as Peek does.
	maxItems, maxProblems = 1 << 20, 16
)

func (c *Cache) bytes() int64 {
	if c.Bytes == 0 {
		return 16 << 20
	}
	return max(c.Bytes, 0)
}

// Held is how many bytes are kept, about.
func (c *Cache) Held() int64 { return c.resources.Cost() + c.batches.Cost() + c.lists.Cost() }

// Peek is Peek, of a message in chunks. The batch is nil if the message was
// read as a whole.
func (c *Cache) Peek(m xds.Method, side session.Side, contentType string, data session.Chunks) (decode.Message, *Batch) {
	kind, _ := decode.KindOf(m, side, nil) // Other where the method does not say
	if len(data) < 2 || kind == decode.Other || m.Variant == xds.VariantFile || decode.FormOf(m, contentType) == decode.FormJSON {
		return decode.Peek(m, side, contentType, data.Bytes()), nil
	}
	if kind == decode.SotwRequest || kind == decode.DeltaRequest {
		out, ok := c.request(kind, data)
		if !ok {
			out = decode.Peek(m, side, contentType, data.Bytes())
		}
		return out, nil
	}
	defer c.forget()
	b := c.lately(kind, data)
	var key batchKey
	if b == nil {
		key = c.survey(kind, data)
		c.most = max(c.most-c.most/64, data.Len()+int64(len(c.pointers))*resourceBytes)
	}
	out := decode.Message{Kind: kind}
	size := c.rest.Len()
	switch {
	case b == nil && (len(c.pointers) == 0 || len(c.pointers) > maxItems), size > 1<<20, !c.envelope(&out) && !wholeEnvelope(&out, c.rest, size):
		return decode.Peek(m, side, contentType, data.Bytes()), nil
	}
	kept := true
	if b == nil {
		b, kept = c.take(key, data)
	} else {
		b.Again = true
	}
	out.Resources = b.Resources
	out.Problems = append(out.Problems, b.problems...)
	if !kept {
		return out, nil
	}
	return out, b
}

// lately is one of the last batches, if a message has its resources, in the same
// memory; else nil. It leaves the other chunks in rest.
func (c *Cache) lately(kind decode.Kind, data session.Chunks) *Batch {
	for i, b := range c.last {
		if b != nil && b.kind == kind && c.has(data, b.pointers) {
			c.last[i], c.last[0] = c.last[0], b
			return b
		}
	}
	return nil
}

func (c *Cache) has(data session.Chunks, pointers []*byte) bool {
	c.rest = c.rest[:0]
	n := 0
	for _, piece := range data {
		switch {
		case n < len(pointers) && unsafe.SliceData(piece) == pointers[n]:
			n++
		case isResource(piece):
			return false
		default:
			c.rest = append(c.rest, piece)
		}
	}
	return n == len(pointers)
}

// survey finds the resources of a message and leaves them in pointers, the other
// chunks in rest.
func (c *Cache) survey(kind decode.Kind, data session.Chunks) batchKey {
	c.pointers, c.rest = c.pointers[:0], c.rest[:0]
	sum := uint64(len(data))
	for _, piece := range data {
		if !isResource(piece) {
			c.rest = append(c.rest, piece)
			continue
		}
		p := unsafe.SliceData(piece)
		c.pointers = append(c.pointers, p)
		sum = (sum ^ uint64(uintptr(unsafe.Pointer(p)))) * 0x9E3779B97F4A7C15
		sum ^= sum >> 29
	}
	return batchKey{kind: kind, count: len(c.pointers), sum: sum}
}

// take finds the batch of the message that was surveyed, or makes it. Of one that
// is too large nothing is kept.
func (c *Cache) take(key batchKey, data session.Chunks) (b *Batch, kept bool) {
	large := data.Len() > maxShelved
	b, known := c.batches.Get(key)
	if known = known && slices.Equal(b.pointers, c.pointers); known {
		b.Again = true
	} else {
		b = c.batch(key.kind, data, c.pointers, !large)
	}
	if large {
		c.pointers = nil
		return b, false
	}
	if !known {
		c.batches.Put(key, b, int64(len(c.pointers)+4)*batchedBytes, max(c.bytes()/2, 2*c.most))
	}
	c.last[1], c.last[0] = c.last[0], b
	return b, true
}

// forget lets go of the message at hand.
func (c *Cache) forget() { clear(c.rest) }

// envelope reads all but the resources, of a response that has nothing beside
// them but version, type, nonce and control plane, as most have. It returns false of others.
func (c *Cache) envelope(m *decode.Message) bool {
	var version, typeURL, nonce, plane []byte // of the control plane the whole field
	planeField := protowire.Number(6)
	if m.Kind == decode.DeltaResponse {
		planeField = 7
	}
	for _, piece := range c.rest {
		f := protoscan.Of(piece)
		for f.Next() {
			b, ok := f.Bytes()
			switch {
			case !ok:
				return false
			case f.Num == 1:
				version = b
			case f.Num == 4:
				typeURL = b
			case f.Num == 5:
				nonce = b
			case f.Num == planeField:
				plane = f.Raw()
			default:
				return false
			}
		}
		if f.Err != "" {
			return false
		}
	}
	if string(typeURL) != c.typeURL {
		c.typeURL = string(typeURL)
	}
	if !bytes.Equal(plane, c.rawControlPlane) {
		one := decode.Message{Kind: m.Kind}
		if one.Read(plane); len(one.Problems) > 0 {
			return false
		}
		c.rawControlPlane, c.controlPlane = bytes.Clone(plane), one.ControlPlane
	}
	m.ControlPlane = c.controlPlane
	m.Version, m.TypeURL, m.Nonce = string(version), c.typeURL, string(nonce)
	return true
}

// wholeEnvelope reads all but the resources. It returns false if a chunk is not
// whole fields, or a resource is too small to be a chunk of its own: then the
// order of resources cannot be told.
func wholeEnvelope(m *decode.Message, chunks session.Chunks, size int64) bool {
	rest := make([]byte, 0, size)
	for _, c := range chunks {
		s := protoscan.Of(c)
		for s.Next() {
			if s.Num == 2 {
				return false
			}
		}
		if s.Err != "" {
			return false
		}
		rest = append(rest, c...)
	}
	m.Read(rest)
	return true
}

// batch reads the resources that were not read before.
func (c *Cache) batch(kind decode.Kind, data session.Chunks, pointers []*byte, keep bool) *Batch {
	b := &Batch{Resources: make([]decode.Resource, 0, len(pointers)), Places: Places{kind, slices.Clone(pointers)}}
	one := decode.Message{Kind: kind}
	for _, piece := range data {
		if !isResource(piece) {
			continue
		}
		p := resourceKey{unsafe.SliceData(piece), kind}
		if have, ok := c.resources.Get(p); ok && len(have.chunk) == len(piece) {
			b.Resources = append(b.Resources, have.resource)
			continue
		}
		one.Problems, one.Resources = nil, b.Resources // behind those before, whose number a problem has
		one.Read(piece)
		b.Resources = one.Resources
		r := &b.Resources[len(b.Resources)-1] // a chunk is one field
		if r.TypeURL == b.Resources[0].TypeURL {
			r.TypeURL = b.Resources[0].TypeURL // one copy is enough
		}
		if len(one.Problems) > 0 {
			b.problems = append(b.problems, one.Problems[:min(len(one.Problems), maxProblems-len(b.problems))]...)
			continue // what is not sound is read again, to be told of again
		}
		if keep {
			c.resources.Put(p, cached{piece, *r}, int64(len(piece)+resourceBytes), max(c.bytes()*3/2, 2*c.most))
		}
	}
	return b
}
