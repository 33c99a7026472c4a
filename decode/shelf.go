package decode

import (
	"bytes"
	"slices"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/recent"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xds"
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
	pointers  []*byte // of the message at hand
	// What the response before had: most have the same.
	typeURL, controlPlane string
	rawControlPlane       []byte
}

// shelfKey is where a resource is, and as what it was read.
type shelfKey struct {
	at   *byte
	kind Kind
}

type shelved struct {
	chunk    []byte
	resource Resource
}

// Batch is the resources of a response. Responses with the same resources in
// the same memory have the same Batch.
type Batch struct {
	Resources []Resource // immutable
	// Again says that they came more than once.
	Again bool
	Places
	problems  []string
}

// Places are where the resources of a batch are.
type Places struct {
	kind     Kind
	pointers []*byte
}

// Same says whether a position has the same resource, in the same memory, as in
// another batch.
func (p *Places) Same(o *Places, i int) bool {
	return p.kind == o.kind && i < len(p.pointers) && i < len(o.pointers) && p.pointers[i] == o.pointers[i]
}

type batchKey struct {
	kind  Kind
	count int
	sum   uint64
}

const (
	maxShelved = 32 << 20 // bytes of a message of which anything is kept
	// Bytes that a resource takes beside its own, on the shelf and in a batch.
	shelvedBytes, batchedBytes = 320, 272
	// minBatch is from how many resources on a batch is worth its while.
	minBatch = 1
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
func (s *Shelf) Peek(m xds.Method, side session.Side, contentType string, data session.Chunks) (Message, *Batch) {
	kind, sure := kindOf(m, side)
	if len(data) < 2 || !sure || kind == Other || FormOf(m, contentType) == FormJSON {
		return Peek(m, side, contentType, data.Bytes()), nil
	}
	if kind == SotwRequest || kind == DeltaRequest {
		out, ok := s.request(kind, data)
		if !ok {
			out = Peek(m, side, contentType, data.Bytes())
		}
		return out, nil
	}
	pointers := s.pointers[:0]
	sum, rest := uint64(len(data)), 0
	large := data.Len() > maxShelved // then nothing of it is kept
	for _, c := range data {
		if !isResource(c) {
			rest += len(c)
			continue
		}
		p := unsafe.SliceData(c)
		pointers = append(pointers, p)
		sum = (sum ^ uint64(uintptr(unsafe.Pointer(p)))) * 0x9E3779B97F4A7C15
		sum ^= sum >> 29
	}
	s.pointers = pointers
	s.most = max(s.most-s.most/64, data.Len()+int64(len(pointers))*shelvedBytes)
	if len(pointers) < minBatch || rest > 1<<20 {
		return Peek(m, side, contentType, data.Bytes()), nil
	}
	p := peeker{Message: Message{Kind: kind}}
	if !s.envelope(&p, data) && !p.wholeEnvelope(data, rest) {
		return Peek(m, side, contentType, data.Bytes()), nil
	}
	key := batchKey{kind: kind, count: len(pointers), sum: sum}
	b, known := s.batches.Get(key)
	if known = known && slices.Equal(b.pointers, pointers); known {
		b.Again = true
	} else {
		b = s.batch(kind, data, pointers, !large)
		if large {
			s.pointers = nil
		} else {
			s.batches.Put(key, b, int64(len(pointers)+4)*batchedBytes, max(s.bytes()/2, 2*s.most))
		}
	}
	p.Resources = b.Resources
	p.Problems = append(p.Problems, b.problems...)
	p.typeOfFile(m)
	if large {
		return p.Message, nil
	}
	return p.Message, b
}

// envelope reads all but the resources, of a response that has nothing beside
// them but version, type, nonce and control plane, as most have. It returns false of others.
func (s *Shelf) envelope(p *peeker, data session.Chunks) bool {
	var version, typeURL, nonce, plane []byte
	planeField := protowire.Number(6)
	if p.Kind == DeltaResponse {
		planeField = 7
	}
	for _, c := range data {
		if isResource(c) {
			continue
		}
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
				plane = b
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
		if name := p.first(plane, 1); len(p.Problems) > 0 {
			p.Problems = nil
			return false
		} else {
			s.rawControlPlane, s.controlPlane = bytes.Clone(plane), name
		}
	}
	p.ControlPlane = s.controlPlane
	p.Version, p.TypeURL, p.Nonce = string(version), s.typeURL, string(nonce)
	return true
}

// wholeEnvelope reads all but the resources. It returns false if a chunk is not
// whole fields, or a resource is too small to be a chunk of its own: then the
// order of resources cannot be told.
func (p *peeker) wholeEnvelope(data session.Chunks, size int) bool {
	rest := make([]byte, 0, size)
	for _, c := range data {
		if isResource(c) {
			continue
		}
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
	if p.Kind == DeltaResponse {
		p.deltaResponse(rest)
	} else {
		p.sotwResponse(rest)
	}
	return true
}

// batch reads the resources that were not read before.
func (s *Shelf) batch(kind Kind, data session.Chunks, pointers []*byte, keep bool) *Batch {
	n := min(len(pointers), maxItems)
	b := &Batch{Resources: make([]Resource, 0, n), Places: Places{kind, slices.Clone(pointers)}}
	one := peeker{Message: Message{Kind: kind}}
	for _, c := range data {
		if !isResource(c) || len(b.Resources) == n {
			continue
		}
		p := shelfKey{unsafe.SliceData(c), kind}
		if have, ok := s.resources.Get(p); ok && len(have.chunk) == len(c) {
			b.Resources = append(b.Resources, have.resource)
			continue
		}
		one.Problems = nil
		if kind == DeltaResponse {
			one.deltaResponse(c)
		} else {
			one.sotwResponse(c)
		}
		if len(one.Resources) == 0 {
			b.Resources = append(b.Resources, Resource{})
			continue
		}
		if len(b.Resources) > 0 && one.Resources[0].TypeURL == b.Resources[0].TypeURL {
			one.Resources[0].TypeURL = b.Resources[0].TypeURL // one copy is enough
		}
		b.Resources = append(b.Resources, one.Resources[0])
		if len(one.Problems) > 0 {
			for _, p := range one.Problems {
				if len(b.problems) < maxProblems {
					b.problems = append(b.problems, p)
				}
			}
			continue // what is not sound is read again, to be told of again
		}
		if !keep {
			continue
		}
		s.resources.Put(p, shelved{c, one.Resources[0]}, int64(len(c)+shelvedBytes), max(s.bytes()*3/2, 2*s.most))
	}
	return b
}
