package engine

import (
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
)

// content is what one resource consists of. Equal contents of one type are
// mostly the same pointer; sameAs decides.
type Content struct {
	Facts *decode.Facts
	raw   [2]uint64
}

// sameAs says whether two contents mean the same. Contents are compared after
// decoding, so that the order of map entries makes no difference.
func (c *Content) SameAs(d *Content) bool {
	return c == d || c != nil && d != nil && (c.raw == d.raw || c.Facts.Hash == d.Facts.Hash)
}

// contents decodes each distinct content once. Its keys are hashes with seeds
// that a peer cannot know.
type contents struct {
	inspector  *decode.Inspector
	Seeds      [2]maphash.Seed
	young, old map[[2]uint64]*Content
	// Each of the two generations takes so many bytes, or what two of the
	// largest responses need. What was forgotten is decoded once more when it
	// comes again.
	limit     int64
	most      int64 // bytes of the largest responses, fading
	cost, was int64 // of the generations
}

func newContents(limit int64) contents {
	return contents{
		limit:     limit,
		inspector: decode.NewInspector(),
		Seeds:     [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		young:     make(map[[2]uint64]*Content),
	}
}

func (s *contents) Of(typeURL string, body []byte, masked bool) *Content {
	key := [2]uint64{maphash.Bytes(s.Seeds[0], body), maphash.Bytes(s.Seeds[1], body)}
	key[0] ^= maphash.String(s.Seeds[1], typeURL)
	if c := s.young[key]; c != nil {
		return c
	}
	c := s.old[key]
	if c == nil {
		c = &Content{Facts: s.inspector.Inspect(typeURL, body, masked), raw: key}
	}
	cost := c.bytes()
	if s.cost += cost; s.cost > max(s.limit, 2*s.most) {
		s.old, s.young, s.cost, s.was = s.young, make(map[[2]uint64]*Content), cost, s.cost-cost
	}
	s.young[key] = c
	return c
}

// again is a content of which the hashes are known: with all that is known of
// it, if it was met lately.
func (s *contents) again(raw [2]uint64, hash [16]byte) *Content {
	if c := s.young[raw]; c != nil {
		return c
	}
	if c := s.old[raw]; c != nil {
		return c
	}
	return &Content{Facts: &decode.Facts{Hash: hash}, raw: raw}
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
	for _, list := range [][]string{f.Unknown, f.Invalid, f.GRPCProblems} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	return int64(n)
}
