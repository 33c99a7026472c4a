package shadow

import (
	"bytes"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/recent"
)

// mostBodies is how many bytes of contents are kept, so that it can be said in
// which fields two of them differ. What was not used for longest is let go.
const mostBodies = 64 << 20

// body is the content of a resource.
type body struct {
	typeURL string
	data    []byte
}

// bodies are contents by what the engine calls them.
type bodies struct{ kept recent.Map[[16]byte, body] }

// see keeps the contents of a response.
func (b *bodies) see(n *engine.Response) {
	if n == nil || n.Message == nil {
		return
	}
	i := 0
	for k := range n.Message.Resources {
		r := &n.Message.Resources[k]
		if r.Name == "" || r.Empty {
			continue
		}
		name := decode.NormalName(r.Name)
		for i < len(n.Resolved) && n.Resolved[i].Name != name {
			i++
		}
		if i == len(n.Resolved) {
			return
		}
		it := n.Resolved[i]
		if i++; it.Content == nil {
			continue
		}
		if _, have := b.kept.Get(it.Content.Facts.Hash); !have && len(r.Body) <= mostBodies/8 {
			b.kept.Put(it.Content.Facts.Hash, body{r.TypeURL, bytes.Clone(r.Body)}, int64(len(r.Body))+128, mostBodies)
		}
	}
}

func (b *bodies) get(s side) (body, bool) {
	if !s.There {
		return body{}, false
	}
	return b.kept.Get(s.Hash)
}
