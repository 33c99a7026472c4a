package compare

import (
	"bytes"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/recent"
)

const (
	// maxContents bounds the contents of one recording that are kept to be compared, in
	// bytes.
	maxContents = 256 << 20
	// maxMet bounds those of which it is known that they were kept once.
	maxMet = 1 << 18
)

// contents are those of resources, by their hash. Those that were not sent for longest
// go first; the last few stay, however large.
type contents struct {
	limit  int64 // bytes
	byHash recent.Map[[16]byte, *decode.Resource]
	met    map[[16]byte]struct{}
}

func (k *contents) keep(hash [16]byte, r *decode.Resource) {
	if r == nil || k.get(hash) != nil {
		return
	}
	r = &decode.Resource{Name: r.Name, TypeURL: r.TypeURL, Body: bytes.Clone(r.Body)}
	k.byHash.Put(hash, r, int64(len(r.Body)), k.limit)
	if k.met == nil {
		k.met = make(map[[16]byte]struct{})
	}
	if len(k.met) < maxMet {
		k.met[hash] = struct{}{}
	}
}

// lost says whether a content was kept once and is not there any more, or may have been.
func (k *contents) lost(hash [16]byte) bool {
	_, met := k.met[hash]
	return k.get(hash) == nil && (met || len(k.met) >= maxMet)
}

// get is nil for what was not kept.
func (k *contents) get(hash [16]byte) *decode.Resource {
	r, _ := k.byHash.Get(hash)
	return r
}

// see keeps what a response brings of the resource of a name; without a name what has
// masks in it.
func (k *contents) see(c *check.Change, name string) {
	if c.Response == nil {
		return
	}
	name = decode.NormalName(name)
	known := c.Response.Resolved // in the order of the resources, of which some are not in it
	for i := range c.Message.Resources {
		r := &c.Message.Resources[i]
		if len(known) == 0 || known[0].Name != decode.NormalName(r.Name) {
			continue
		}
		it := known[0]
		known = known[1:]
		if it.Content != nil && !r.Empty && (it.Name == name || name == "" && mask.Within(r.Body)) {
			k.keep(it.Content.Facts.Hash, r)
		}
	}
}
