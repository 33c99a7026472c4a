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
	contents(n, func(i int, it *engine.Resource) {
		r := &n.Message.Resources[i]
		if _, have := b.kept.Get(it.Content.Facts.Hash); !have && len(r.Body) <= mostBodies/8 {
			b.kept.Put(it.Content.Facts.Hash, body{r.TypeURL, bytes.Clone(r.Body)}, int64(len(r.Body))+128, mostBodies)
		}
	})
}

// contents calls f for each resource of a response that has a name and a content,
// with its place in the message.
func contents(n *engine.Response, f func(i int, it *engine.Resource)) {
	rest := n.Resolved
	for i := range n.Message.Resources {
		r := &n.Message.Resources[i]
		if r.Name == "" || r.Empty {
			continue
		}
		for name := decode.NormalName(r.Name); len(rest) > 0 && rest[0].Name != name; { // a heartbeat
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return
		}
		if rest[0].Content != nil {
			f(i, rest[0])
		}
		rest = rest[1:]
	}
}

func (b *bodies) get(s side) (body, bool) {
	if !s.There {
		return body{}, false
	}
	return b.kept.Get(s.Hash)
}
