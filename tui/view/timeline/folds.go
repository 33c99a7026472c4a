package timeline

import (
	"slices"
	"sort"

	"github.com/xdsproxy/xdsproxy/session"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/key"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// folds are the rows that the list leaves out, since they only repeat what another
// one says: see package fold. Under a filter a row is left out only if that other
// one is in the list, and never if the filter names entries themselves.
type folds struct {
	all    []index.Folded       // ascending
	hidden []uint32             // of them those that the list of all rows leaves out
	open   map[session.Seq]bool // heads of what a person unfolded
	shown  []uint32             // rows of a filtered list that are not left out
	looked int                  // how many rows that the filter took were looked at
	of     *filtered            // it
}

// unsettled is how near the end a row may stand whose head has not come yet; until
// then it stands for itself.
const unsettled = 256

// update takes what has come.
func (f *folds) update(scr view.Screen, asked *filtered) {
	if scr.Log().NoFold {
		return
	}
	x := scr.Log().Index
	from, n := len(f.all), x.Len()
	f.all = x.Folds(f.all, from)
	for i, r := range f.all[from:] {
		if r.Head == 0 && n-int(r.Row) < unsettled {
			f.all = f.all[:from+i]
			break
		}
		if !f.open[r.Head] {
			f.hidden = append(f.hidden, r.Row)
		}
	}
	if asked != f.of || asked != nil && len(asked.rows) < f.looked {
		f.of, f.shown, f.looked = asked, nil, 0
	}
	if asked == nil {
		return
	}
	for _, row := range asked.rows[f.looked:] {
		if head := f.head(row); head == 0 || f.open[head] || asked.each || !asked.has(x, head) {
			f.shown = append(f.shown, row)
		}
	}
	f.looked = len(asked.rows)
}

// has says whether the filter took an entry.
func (a *filtered) has(x *index.Index, seq session.Seq) bool {
	i := x.Find(seq)
	r, ok := x.Row(i)
	_, is := slices.BinarySearch(a.rows, uint32(i))
	return is && ok && r.Seq == seq
}

// list is the rows of a filtered list.
func (f *folds) list(asked *filtered) []uint32 {
	if f.of != asked {
		return asked.rows
	}
	return f.shown
}

// head is the entry that a row is folded under, 0 if it stands for itself.
func (f *folds) head(row uint32) session.Seq {
	i := sort.Search(len(f.all), func(i int) bool { return f.all[i].Row >= row })
	if i == len(f.all) || f.all[i].Row != row {
		return 0
	}
	return f.all[i].Head
}

// before is how many rows are left out before a row.
func (f *folds) before(row int) int {
	i, _ := slices.BinarySearch(f.hidden, uint32(row))
	return i
}

// row is the row at a place of the list.
func (f *folds) row(place int) int {
	// Of those that are left out, so many come before it as have no more rows
	// before them than the list has.
	return place + sort.Search(len(f.hidden), func(i int) bool { return int(f.hidden[i])-i > place })
}

// leavesOut says whether the list of all rows has no place for one.
func (f *folds) leavesOut(row int) bool {
	_, is := slices.BinarySearch(f.hidden, uint32(row))
	return is
}

// set unfolds what is folded under an entry, or folds it again.
func (f *folds) set(head session.Seq, open bool) {
	if f.open == nil {
		f.open = make(map[session.Seq]bool)
	}
	if delete(f.open, head); open {
		f.open[head] = true
	}
	f.hidden = f.hidden[:0]
	for _, r := range f.all {
		if !f.open[r.Head] {
			f.hidden = append(f.hidden, r.Row)
		}
	}
	f.of = nil
}

// under is the entry that one is folded under, if the list leaves it out for that.
func (v *View) under(scr view.Screen, seq session.Seq) (session.Seq, bool) {
	i := scr.Log().Index.Find(seq)
	if r, ok := scr.Log().Index.Row(i); !ok || r.Seq != seq {
		return 0, false
	}
	head := v.folds.head(uint32(i))
	if head == 0 || v.folds.open[head] || v.asked != nil && (v.asked.each || !v.asked.has(scr.Log().Index, head)) {
		return 0, false
	}
	return head, true
}

// fold unfolds or folds what belongs to a row.
func (v *View) fold(scr view.Screen, r *index.Row, a key.Action) {
	head := r.Seq
	if _, is := scr.Log().Index.Again(head); !is {
		i := scr.Log().Index.Find(r.Seq)
		head = v.folds.head(uint32(i))
	}
	switch {
	case head == 0 || scr.Log().NoFold:
		scr.Say("nothing is folded here")
		return
	case v.asked != nil && v.asked.each:
		scr.Say("nothing is folded here: the filter names entries")
		return
	}
	open := !v.folds.open[head]
	switch {
	case a == key.Right && !open:
		scr.Say("this is unfolded already")
		return
	case a == key.Left && open:
		scr.Say("this is folded already")
		return
	}
	v.folds.set(head, open)
	v.folds.update(scr, v.asked)
	if v.At = head; open {
		scr.Say("unfolded; space folds it again")
	}
	v.Settle(scr)
}

// again is how many times came again what is folded under a row; 0 where the list
// folds nothing.
func (v *View) again(scr view.Screen, seq session.Seq) uint64 {
	if scr.Log().NoFold || v.asked != nil && v.asked.each {
		return 0
	}
	n, _ := scr.Log().Index.Again(seq)
	return n
}
