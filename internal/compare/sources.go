package compare

import (
	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode/origin"
	"github.com/xdsproxy/xdsproxy/internal/configdump"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
)

// maxMade bounds the contents of which it is known of what they were made.
const maxMade = 1 << 16

// made are the objects of a control plane that contents were made of, by the hash
// of the content. Of most there are none. Those that came last are known.
type made struct {
	byHash recent.Map[[16]byte, sources]
}

type sources struct {
	list []origin.Source
	more bool
}

// see notes what a response brings.
func (m *made) see(c *check.Change) {
	if c.Response == nil {
		return
	}
	if m.byHash.Cost() > maxMade/2 { // what stays as it is must not go before what comes
		for _, it := range c.Response.Resolved {
			if it.Content != nil {
				m.byHash.Get(it.Content.Facts.Hash)
			}
		}
	}
	for it := range c.Response.AddedOrChanged() {
		if list, more := it.Sources(); len(list) > 0 {
			m.byHash.Put(it.Content.Facts.Hash, sources{list, more}, 1, maxMade)
		}
	}
}

// of is what tells most: what is held says it itself.
func (m *made) of(accepted *engine.Held, held *configdump.Resource) (s sources) {
	if accepted != nil {
		s, _ = m.byHash.Get(accepted.Hash)
	}
	if len(s.list) == 0 && held != nil {
		s.list, s.more = origin.Of(held.TypeURL, held.Body, origin.Most)
	}
	return s
}
