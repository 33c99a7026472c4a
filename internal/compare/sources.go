package compare

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// maxMade bounds the contents of which it is known of what they were made.
const maxMade = 1 << 16

// made are the objects of a control plane that contents were made of, by the hash
// of the content. Of most there are none.
type made map[[16]byte]sources

type sources struct {
	list []origin.Source
	more bool
}

// see notes what a response brings.
func (m made) see(c *check.Change) {
	if c.Response == nil {
		return
	}
	for it := range c.Response.AddedOrChanged() {
		if list, more := it.Sources(); len(list) > 0 && len(m) < maxMade {
			m[it.Content.Facts.Hash] = sources{list, more}
		}
	}
}

// of is what tells most: what is held says it itself.
func (m made) of(accepted *engine.Held, held *configdump.Resource) (s sources) {
	if accepted != nil {
		s = m[accepted.Hash]
	}
	if len(s.list) == 0 && held != nil {
		s.list, s.more = origin.Of(held.TypeURL, held.Body, origin.Most)
	}
	return s
}
