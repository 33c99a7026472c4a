package engine

import (
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	"github.com/xdsproxy/xdsproxy/internal/recent"
)

// Content is what one resource consists of. Equal contents of one type are
// mostly the same pointer; sameAs decides.
type Content struct {
	Facts *inspect.Facts
	raw   [2]uint64
	kept  shared // what streams that have ended hold of it
}

// SameAs says whether two contents mean the same. Contents are compared after
// decoding, so that the order of map entries makes no difference.
func (c *Content) SameAs(d *Content) bool {
	return c == d || c != nil && d != nil && (c.raw == d.raw || c.Facts.Hash == d.Facts.Hash)
}

// contents decodes each distinct content once. Its keys are hashes with seeds
// that a peer cannot know.
type contents struct {
	inspector *inspect.Inspector
	Seeds     [2]maphash.Seed
	// met are those that were met lately: so many bytes, or what two of the
	// largest responses need. What was forgotten is decoded once more when it
	// comes again.
	met   recent.Map[[2]uint64, *Content]
	limit int64
	most  int64 // bytes of the largest responses, fading
}

func newContents(types *descriptors.Types, limit int64) contents {
	return contents{
		limit: limit, inspector: inspect.New(types), Seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
	}
}

func (s *contents) Of(typeURL string, body []byte, masked bool) *Content {
	key := [2]uint64{maphash.Bytes(s.Seeds[0], body), maphash.Bytes(s.Seeds[1], body)}
	key[0] ^= maphash.String(s.Seeds[1], typeURL)
	if c, ok := s.met.Get(key); ok {
		return c
	}
	c := &Content{Facts: s.inspector.Inspect(typeURL, body, masked), raw: key}
	s.met.Put(key, c, c.bytes(), max(s.limit, 2*s.most))
	return c
}

// expect makes room for a response with so many resources.
func (s *contents) expect(resources int) {
	s.most = max(s.most-s.most/64, int64(resources)*minContentBytes)
}

// minContentBytes is what a content takes at least, with its place in a table.
const minContentBytes = 512

// bytes are what a content takes, about.
func (c *Content) bytes() int64 {
	f := c.Facts
	n := minContentBytes + len(f.Name) + len(f.Undecodable) + len(f.ScopeKey)
	for i := range f.Refs {
		n += 80 + len(f.Refs[i].Name)
	}
	n += 128 * len(f.Sources)
	for _, list := range [][]string{f.Unknown, f.Deprecated, f.Invalid, f.Proven, f.GRPCProblems} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	return int64(n)
}

// Places says where a resource names clusters that requests go to: see
// inspect.Inspector.
func (s *contents) Places(r *decode.Resource, masked bool, clusters []string) map[string]string {
	return s.inspector.Places(r.TypeURL, r.Body, masked, clusters)
}
