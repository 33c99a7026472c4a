package chunk

import (
	"slices"
	"unsafe"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// cachedNames is a list of names, and the chunk that it was read from.
type cachedNames struct {
	chunk []byte
	names []string // immutable
}

// nameBytes is how many bytes a name takes beside its own.
const nameBytes = 24

// request reads a request in chunks that are whole fields, as a Splitter cuts
// them. A list of names that comes again is read once: acknowledgements repeat
// it. It returns false of other requests.
func (c *Cache) request(kind decode.Kind, data session.Chunks) (decode.Message, bool) {
	m := decode.Message{Kind: kind}
	for _, piece := range data {
		var names []string
		if kind == decode.SotwRequest {
			names = c.names(piece)
		}
		switch {
		case names == nil:
			m.Read(piece)
		case m.Names == nil:
			m.Names = slices.Clip(names)
		default:
			m.Names = append(m.Names, names...)
		}
		// What is wrong may be so because of the cut, and locators come
		// after all names, wherever they stand.
		if len(m.Problems) > 0 || len(m.Names) > maxItems || m.Locators != (decode.Locators{}) {
			return m, false
		}
	}
	return m, true
}

// names is what a chunk says if it is a list of resource_names and nothing else,
// or nil.
func (c *Cache) names(piece []byte) []string {
	if len(piece) < minRun || piece[0] != 3<<3|2 {
		return nil
	}
	at := unsafe.SliceData(piece)
	if have, ok := c.lists.Get(at); ok && len(have.chunk) == len(piece) {
		return have.names
	}
	var names []string
	for f := protoscan.Of(piece); f.Next(); {
		b, ok := f.Bytes()
		if !ok || f.Num != 3 || len(names) == maxItems {
			return nil
		}
		names = append(names, string(b))
		if f.Off == len(piece) {
			names = slices.Clip(names)
			if cost, limit := int64(2*len(piece)+len(names)*nameBytes), c.bytes()/2; cost <= limit/8 {
				c.lists.Put(at, cachedNames{piece, names}, cost, limit)
			}
			return names
		}
	}
	return nil
}
