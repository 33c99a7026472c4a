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

// Shelf reads messages as Peek does, and remembers what resources consist of
// by where their bytes are: of a message that comes in chunks, one for each
// resource, only those are read that were not there before. A response that
// repeats twenty thousand resources costs a glance at as many pointers, and a
// request that repeats a list of names one at the list.
//
// Chunks must never change once they were given. A Shelf keeps some of them from
// being collected, twice Bytes of them or what the largest messages need. It is
// not safe for concurrent use.
type Shelf struct {
	// Bytes is a half of what is kept of what was met last; 0: 16 MiB.
	Bytes int64
	most  int64 // bytes of the largest messages, fading

	resources recent.Map[shelfKey, shelved]
	batches   recent.Map[batchKey, *Batch]
	lists     recent.Map[*byte, shelvedNames]
	// Of the message at hand: where its resources are, and the other chunks.
	pointers []*byte
	rest     session.Chunks
	last     [2]*Batch // the newest first: mostly one of them comes again
	// What the response before had: most have the same.
	typeURL, controlPlane string
	rawControlPlane       []byte
}

// shelfKey is where a resource is, and as what it was read.
type shelfKey struct {
	at   *byte
	kind decode.Kind
}

type shelved struct {
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
	// Bytes that a resource takes beside its own, on the shelf and in a batch.
	shelvedBytes, batchedBytes = 320, 272
	// maxItems and maxProblems bound what is read of one message, as Peek does.
	maxItems, maxProblems = 1 << 20, 16
)

func (s *Shelf) bytes() int64 {
	if s.Bytes == 0 {
		return 16 << 20
	}
	return max(s.Bytes, 0)
}

// Held is how many bytes are kept, about.
func (s *Shelf) Held() int64 { return s.resources.Cost() + s.batches.Cost() + s.lists.Cost() }

// Peek is Peek, of a message in chunks. The batch is nil if the message was
// read as a whole.
func (s *Shelf) Peek(m xds.Method, side session.Side, contentType string, data session.Chunks) (decode.Message, *Batch) {
	kind, _ := decode.KindOf(m, side, nil) // Other where the method does not say
	if len(data) < 2 || kind == decode.Other || m.Variant == xds.VariantFile || decode.FormOf(m, contentType) == decode.FormJSON {
		return decode.Peek(m, side, contentType, data.Bytes()), nil
	}
	if kind == decode.SotwRequest || kind == decode.DeltaRequest {
		out, ok := s.request(kind, data)
		if !ok {
			out = decode.Peek(m, side, contentType, data.Bytes())
		}
		return out, nil
	}
	defer s.forget()
	b := s.lately(kind, data)
	var key batchKey
	if b == nil {
		key = s.survey(kind, data)
		s.most = max(s.most-s.most/64, data.Len()+int64(len(s.pointers))*shelvedBytes)
	}
	out := decode.Message{Kind: kind}
	size := s.rest.Len()
	switch {
	case b == nil && (len(s.pointers) == 0 || len(s.pointers) > maxItems), size > 1<<20, !s.envelope(&out) && !wholeEnvelope(&out, s.rest, size):
		return decode.Peek(m, side, contentType, data.Bytes()), nil
	}
	kept := true
	if b == nil {
		b, kept = s.take(key, data)
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
func (s *Shelf) lately(kind decode.Kind, data session.Chunks) *Batch {
	for i, b := range s.last {
		if b != nil && b.kind == kind && s.has(data, b.pointers) {
			s.last[i], s.last[0] = s.last[0], b
			return b
		}
	}
	return nil
}

func (s *Shelf) has(data session.Chunks, pointers []*byte) bool {
	s.rest = s.rest[:0]
	n := 0
	for _, c := range data {
		switch {
		case n < len(pointers) && unsafe.SliceData(c) == pointers[n]:
			n++
		case isResource(c):
			return false
		default:
			s.rest = append(s.rest, c)
		}
	}
	return n == len(pointers)
}

// survey finds the resources of a message and leaves them in pointers, the other
// chunks in rest.
func (s *Shelf) survey(kind decode.Kind, data session.Chunks) batchKey {
	s.pointers, s.rest = s.pointers[:0], s.rest[:0]
	sum := uint64(len(data))
	for _, c := range data {
		if !isResource(c) {
			s.rest = append(s.rest, c)
			continue
		}
		p := unsafe.SliceData(c)
		s.pointers = append(s.pointers, p)
		sum = (sum ^ uint64(uintptr(unsafe.Pointer(p)))) * 0x9E3779B97F4A7C15
		sum ^= sum >> 29
	}
	return batchKey{kind: kind, count: len(s.pointers), sum: sum}
}

// take finds the batch of the message that was surveyed, or makes it. Of one that
// is too large nothing is kept.
func (s *Shelf) take(key batchKey, data session.Chunks) (b *Batch, kept bool) {
	large := data.Len() > maxShelved
	b, known := s.batches.Get(key)
	if known = known && slices.Equal(b.pointers, s.pointers); known {
		b.Again = true
	} else {
		b = s.batch(key.kind, data, s.pointers, !large)
	}
	if large {
		s.pointers = nil
		return b, false
	}
	if !known {
		s.batches.Put(key, b, int64(len(s.pointers)+4)*batchedBytes, max(s.bytes()/2, 2*s.most))
	}
	s.last[1], s.last[0] = s.last[0], b
	return b, true
}

// forget lets go of the message at hand.
func (s *Shelf) forget() { clear(s.rest) }

// envelope reads all but the resources, of a response that has nothing beside
// them but version, type, nonce and control plane, as most have. It returns false of others.
func (s *Shelf) envelope(m *decode.Message) bool {
	var version, typeURL, nonce, plane []byte // of the control plane the whole field
	planeField := protowire.Number(6)
	if m.Kind == decode.DeltaResponse {
		planeField = 7
	}
	for _, c := range s.rest {
		f := protoscan.Of(c)
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
	if string(typeURL) != s.typeURL {
		s.typeURL = string(typeURL)
	}
	if !bytes.Equal(plane, s.rawControlPlane) {
		one := decode.Message{Kind: m.Kind}
		if one.Read(plane); len(one.Problems) > 0 {
			return false
		}
		s.rawControlPlane, s.controlPlane = bytes.Clone(plane), one.ControlPlane
	}
	m.ControlPlane = s.controlPlane
	m.Version, m.TypeURL, m.Nonce = string(version), s.typeURL, string(nonce)
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
func (s *Shelf) batch(kind decode.Kind, data session.Chunks, pointers []*byte, keep bool) *Batch {
	b := &Batch{Resources: make([]decode.Resource, 0, len(pointers)), Places: Places{kind, slices.Clone(pointers)}}
	one := decode.Message{Kind: kind}
	for _, c := range data {
		if !isResource(c) {
			continue
		}
		p := shelfKey{unsafe.SliceData(c), kind}
		if have, ok := s.resources.Get(p); ok && len(have.chunk) == len(c) {
			b.Resources = append(b.Resources, have.resource)
			continue
		}
		one.Problems, one.Resources = nil, one.Resources[:0]
		one.Read(c)
		r := one.Resources[0] // a chunk is one field
		if len(b.Resources) > 0 && r.TypeURL == b.Resources[0].TypeURL {
			r.TypeURL = b.Resources[0].TypeURL // one copy is enough
		}
		b.Resources = append(b.Resources, r)
		if len(one.Problems) > 0 {
			b.problems = append(b.problems, one.Problems[:min(len(one.Problems), maxProblems-len(b.problems))]...)
			continue // what is not sound is read again, to be told of again
		}
		if keep {
			s.resources.Put(p, shelved{c, r}, int64(len(c)+shelvedBytes), max(s.bytes()*3/2, 2*s.most))
		}
	}
	return b
}
