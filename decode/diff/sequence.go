package diff

import "slices"

const (
	// maxTable bounds the table of one exact alignment, in cells.
	maxTable = 1 << 20
	// maxWork bounds the tables of a whole comparison.
	maxWork = 1 << 25
)

// pairing says of each element of a new list which of the old one it is, or
// -1. old is the same the other way round.
type pairing struct{ old, new []int }

func newPairing(oldLen, newLen int) pairing {
	p := pairing{make([]int, oldLen), make([]int, newLen)}
	for i := range p.old {
		p.old[i] = -1
	}
	for i := range p.new {
		p.new[i] = -1
	}
	return p
}

func (p *pairing) join(i, j int) { p.old[i], p.new[j] = j, i }

// joinEqual pairs what is equal by hash: what both lists have in common at
// their ends, then as much as can be in one order, then the rest.
func (c *comparer) joinEqual(p pairing, a, b []uint64, ordered bool) {
	from, n, m := 0, len(a), len(b)
	for from < n && from < m && a[from] == b[from] {
		p.join(from, from)
		from++
	}
	for n > from && m > from && a[n-1] == b[m-1] {
		n--
		m--
		p.join(n, m)
	}
	if from == n || from == m {
		return
	}
	if ordered && (hasTwice(a[from:n]) || hasTwice(b[from:m])) && c.afford((n-from)*(m-from)) {
		weigh := func(i, j int) int {
			if a[from+i] == b[from+j] {
				return 1
			}
			return 0
		}
		align(n-from, m-from, weigh, func(i, j int) { p.join(from+i, from+j) })
	}
	joinByRank(p, from, n, from, m, func(i int) uint64 { return a[i] }, func(j int) uint64 { return b[j] }, false)
}

// joinByRank pairs the elements that are not paired yet and have the same key:
// the first with the first, and so on; with once, only those whose key no other
// of them has. 0 is no key.
func joinByRank(p pairing, fromOld, toOld, fromNew, toNew int, keyOld, keyNew func(int) uint64, once bool) {
	byKey := make(map[uint64][]int)
	for i := fromOld; i < toOld; i++ {
		if k := keyOld(i); p.old[i] < 0 && k != 0 {
			byKey[k] = append(byKey[k], i)
		}
	}
	if len(byKey) == 0 {
		return
	}
	count := make(map[uint64]int)
	for j := fromNew; j < toNew; j++ {
		if p.new[j] < 0 {
			count[keyNew(j)]++
		}
	}
	for j := fromNew; j < toNew; j++ {
		k := keyNew(j)
		if list := byKey[k]; p.new[j] < 0 && len(list) > 0 && (!once || len(list) == 1 && count[k] == 1) {
			p.join(list[0], j)
			byKey[k] = list[1:]
		}
	}
}

func hasTwice(list []uint64) bool {
	seen := make(map[uint64]struct{}, len(list))
	for _, h := range list {
		if _, ok := seen[h]; ok {
			return true
		}
		seen[h] = struct{}{}
	}
	return false
}

// afford says whether a table of so many cells may be filled, and counts it.
func (c *comparer) afford(cells int) bool {
	if cells > maxTable || c.work+cells > maxWork {
		c.result.Coarse = c.result.Coarse || cells > 0
		return false
	}
	c.work += cells
	return true
}

// align finds the pairs of two sequences, in one order, that weigh the most
// together. A weight of 0 is no pair.
func align(n, m int, weigh func(i, j int) int, join func(i, j int)) {
	// best[i*(m+1)+j] is the most that the elements from i and from j on give.
	best := make([]int32, (n+1)*(m+1))
	for i := n - 1; i >= 0; i-- {
		row, below := best[i*(m+1):], best[(i+1)*(m+1):]
		for j := m - 1; j >= 0; j-- {
			row[j] = max(below[j], row[j+1])
			if w := weigh(i, j); w > 0 {
				row[j] = max(row[j], below[j+1]+int32(w))
			}
		}
	}
	for i, j := 0, 0; i < n && j < m; {
		here := best[i*(m+1)+j]
		w := weigh(i, j)
		switch {
		case w > 0 && here == best[(i+1)*(m+1)+j+1]+int32(w):
			join(i, j)
			i++
			j++
		case here == best[(i+1)*(m+1)+j]:
			i++
		default:
			j++
		}
	}
}

// anchors says which elements of a new list stand in the order of the old one:
// as many as possible of those that are paired.
func anchors(p pairing) []bool {
	out := make([]bool, len(p.new))
	// tails[k] is the element that ends the best ascending sequence of k+1.
	var tails []int
	before := make([]int, len(p.new))
	for j, i := range p.new {
		if i < 0 {
			continue
		}
		k, _ := slices.BinarySearchFunc(tails, i, func(t, i int) int { return p.new[t] - i })
		before[j] = -1
		if k > 0 {
			before[j] = tails[k-1]
		}
		if k == len(tails) {
			tails = append(tails, j)
		} else {
			tails[k] = j
		}
	}
	if len(tails) > 0 {
		for j := tails[len(tails)-1]; j >= 0; j = before[j] {
			out[j] = true
		}
	}
	return out
}
