package chunk

import (
	"slices"
	"unsafe"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

// shelvedNames is a list of names, and the chunk that it was read from.
type shelvedNames struct {
	chunk []byte
	names []string // immutable
}

// shelvedName is how many bytes a name takes beside its own.
const shelvedName = 24

// request reads a request in chunks that are whole fields, as a Splitter cuts
// them. A list of names that comes again is read once: acknowledgements repeat
// it. It returns false of other requests.
func (s *Shelf) request(kind decode.Kind, data session.Chunks) (decode.Message, bool) {
	m := decode.Message{Kind: kind}
	for _, c := range data {
		var names []string
		if kind == decode.SotwRequest {
			names = s.names(c)
		}
		switch {
		case names == nil:
			m.Read(c)
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
func (s *Shelf) names(c []byte) []string {
	if len(c) < minRun || c[0] != 3<<3|2 {
		return nil
	}
	at := unsafe.SliceData(c)
	if have, ok := s.lists.Get(at); ok && len(have.chunk) == len(c) {
		return have.names
	}
	var names []string
	for f := protoscan.Of(c); f.Next(); {
		b, ok := f.Bytes()
		if !ok || f.Num != 3 || len(names) == maxItems {
			return nil
		}
		names = append(names, string(b))
		if f.Off == len(c) {
			names = slices.Clip(names)
			if cost, limit := int64(2*len(c)+len(names)*shelvedName), s.bytes()/2; cost <= limit/8 {
				s.lists.Put(at, shelvedNames{c, names}, cost, limit)
			}
			return names
		}
	}
	return nil
}
