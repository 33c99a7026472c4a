package index

import (
	"github.com/xdsproxy/xdsproxy/internal/fold"
	"github.com/xdsproxy/xdsproxy/session"
)

// folds are the rows that only repeat what another says; see package fold.
type folds struct {
	folder *fold.Folder
	rows   []uint32 // their positions, ascending
	under  []*fold.Run
	heads  map[session.Seq]*fold.Run
}

// maxHeads bounds how many rows have something folded under them. What comes then
// stands for itself.
const maxHeads = 1 << 18

// Folded is a row that only repeats what another says. Head is the entry of that
// one, 0 if it has not come yet.
type Folded struct {
	Row  uint32
	Head session.Seq
}

// add notes where the row that is added next stands.
func (f *folds) add(row int, at fold.Place) {
	if at.Under == nil {
		return
	}
	head := at.Under.Head()
	if _, known := f.heads[head]; !known && head != 0 {
		if len(f.heads) >= maxHeads {
			return
		}
		f.heads[head] = at.Under.Same()
	}
	f.rows, f.under = append(f.rows, uint32(row)), append(f.under, at.Under)
}

// Folds appends to dst the rows that are folded, but for the first so many.
func (x *Index) Folds(dst []Folded, from int) []Folded {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := from; i < len(x.folds.rows); i++ {
		dst = append(dst, Folded{x.folds.rows[i], x.folds.under[i].Head()})
	}
	return dst
}

// Again is how many times what is folded under an entry came again.
func (x *Index) Again(head session.Seq) (rounds uint64, is bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	run, is := x.folds.heads[head]
	if !is {
		return 0, false
	}
	return run.Rounds(), true
}
