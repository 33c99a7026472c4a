package inspect

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// mapEntry is one entry of a map in Inspector.canon; its key, with its tag, is
// from key to value.
type mapEntry struct{ start, key, value, end int }

// entry writes one entry of a map. An empty key is left out.
func (in *Inspector) entry(f *fieldFacts, b []byte, depth int) bool {
	if in.masked && mask.Looks(b) {
		in.strays = protowire.AppendBytes(protowire.AppendTag(in.strays, f.num, protowire.BytesType), b)
		return true
	}
	e := mapEntry{start: len(in.canon)}
	in.canon = protowire.AppendTag(in.canon, f.num, protowire.BytesType)
	e.key = len(in.canon)
	ok := in.message(f.sub, b, depth+1)
	in.canon = append(in.canon, 0)
	e.value, e.end = e.key, len(in.canon)
	if first, n := protoscan.Read(in.canon[e.key:]); n > 0 && first.Num == 1 {
		e.value += n
	}
	in.entries = append(in.entries, e)
	return ok
}

// sortEntries brings the entries of a map, which are the end of in.canon, into
// the order of their keys. Of equal keys the last counts.
func (in *Inspector) sortEntries(es []mapEntry) {
	compare := func(a, b mapEntry) int {
		return bytes.Compare(in.canon[a.key:a.value], in.canon[b.key:b.value])
	}
	sorted := true
	for i := 1; i < len(es) && sorted; i++ {
		sorted = compare(es[i-1], es[i]) < 0
	}
	if sorted {
		return
	}
	start := es[0].start
	slices.SortStableFunc(es, compare)
	in.spare = in.spare[:0]
	for i, e := range es {
		if i+1 == len(es) || compare(e, es[i+1]) != 0 {
			in.spare = append(in.spare, in.canon[e.start:e.end]...)
		}
	}
	in.canon = append(in.canon[:start], in.spare...)
}
