package held

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"
)

// told is what was handed on of a client last: by resource, a sum of what was said.
type told struct {
	sums map[key][sha256.Size]byte
	id   string
}

// changes are the items that are to be handed on so that the reader of all knows what
// the answer says. whole asks for all; it is so where nothing was told before.
func (t *told) changes(a *answer, whole bool) (items [][]byte, all bool) {
	whole = whole || t.sums == nil || t.id != a.id
	slices.SortStableFunc(a.items, func(x, y item) int {
		return cmp.Or(cmp.Compare(x.typeURL, y.typeURL), cmp.Compare(x.name, y.name), bytes.Compare(x.sum[:], y.sum[:]))
	})
	now := make(map[key][sha256.Size]byte, len(a.items))
	for i := 0; i < len(a.items); {
		k, end := a.items[i].key, i
		sum := sha256.New()
		for ; end < len(a.items) && a.items[end].key == k; end++ {
			sum.Write(a.items[end].sum[:])
		}
		now[k] = [sha256.Size]byte(sum.Sum(nil))
		if was, is := t.sums[k]; whole || !is || was != now[k] {
			for _, it := range a.items[i:end] {
				items = append(items, it.raw)
			}
		}
		i = end
	}
	if !whole {
		var gone []key
		for k := range t.sums {
			if _, is := now[k]; !is {
				gone = append(gone, k)
			}
		}
		slices.SortFunc(gone, func(x, y key) int { return cmp.Or(cmp.Compare(x.typeURL, y.typeURL), cmp.Compare(x.name, y.name)) })
		for _, k := range gone {
			g := generic{key: k, state: doesNotExist}
			items = append(items, g.item().raw)
		}
	}
	t.sums, t.id = now, a.id
	return items, whole
}
