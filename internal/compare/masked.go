package compare

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/engine"
)

// Each recording masks with a key of its own, so that the masks of one secret
// differ between two of them: what is masked cannot be compared, and says nothing.

// bodies are contents that hold masks, by their hash.
type bodies struct {
	byHash map[[16]byte]*decode.Resource
	bytes  int
}

// keep keeps what of a response is masked.
func (k *bodies) keep(c *check.Change) {
	if c.Response == nil {
		return
	}
	for i := range c.Message.Resources {
		r := &c.Message.Resources[i]
		if !mask.Within(r.Body) {
			continue
		}
		name := decode.NormalName(r.Name)
		for _, it := range c.Response.Resolved {
			if it.Name != name || it.Content == nil || k.byHash[it.Content.Facts.Hash] != nil {
				continue
			}
			if k.bytes += len(r.Body); k.bytes > maxSessionContents {
				return
			}
			if k.byHash == nil {
				k.byHash = make(map[[16]byte]*decode.Resource)
			}
			k.byHash[it.Content.Facts.Hash] = &decode.Resource{TypeURL: r.TypeURL, Body: slices.Clone(r.Body)}
		}
	}
}

// content is what a client holds, as far as it is kept: that of the resource that
// was named, or what has masks in it.
func (h *holder) content(of *engine.Held, name string) *decode.Resource {
	if name == "" {
		return h.masked.byHash[of.Hash]
	}
	return h.contents[of.Seq]
}

// blank takes all masks out of a tree, and says how many there were.
func blank(t *document.Tree) (n int) {
	for i := range t.Members {
		n += blank(&t.Members[i].Value)
	}
	for i := range t.Items {
		n += blank(&t.Items[i])
	}
	if t.Kind == document.String {
		text, masks := mask.Blank(t.Text)
		t.Text, n = text, n+masks
	}
	return n
}
