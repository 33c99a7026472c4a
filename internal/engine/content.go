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

// maxContents is how many distinct contents are remembered in each of two
// generations. What was forgotten is decoded once more when it comes again.
const maxContents = 1 << 15

// contents decodes each distinct content once. Its keys are hashes with seeds
// that a peer cannot know.
type contents struct {
	inspector  *decode.Inspector
	Seeds      [2]maphash.Seed
	young, old map[[2]uint64]*Content
}

func newContents() contents {
	return contents{
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
	if len(s.young) >= maxContents {
		s.old, s.young = s.young, make(map[[2]uint64]*Content)
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
