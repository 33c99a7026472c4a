package timeline

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/xdsproxy/xdsproxy/internal/render"
	"github.com/xdsproxy/xdsproxy/tui/index"
	"github.com/xdsproxy/xdsproxy/tui/view"
)

// order is the rows of the list by another column than their numbers. It is not
// kept from one run to the next: a timeline begins as one.
type order struct {
	by     index.Column
	turned bool

	rows  []uint32  // positions in the index; nil: not put in order yet
	asked *filtered // the filter that they are of
	of    int       // how many there were
	made  time.Time
	took  time.Duration
	busy  bool
	stamp int // grows when another order is asked for
}

// orders are the columns to sort by, with their titles.
func orders() []string {
	return []string{"SEQ", "CLIENT", "TYPE", "WHAT", "VERSION", "RES", "SIZE", "ACK ms"}
}

// plain says whether the rows are as they came.
func (o *order) plain() bool { return o.by == index.BySeq && !o.turned }

func (o *order) String() string {
	s := orders()[o.by]
	if o.turned {
		s += ", turned"
	}
	return s
}

// sortBy puts the list in another order.
func (v *View) sortBy(scr view.Screen, by index.Column, turned bool) tea.Cmd {
	v.Hold(scr)
	v.order = order{by: by, turned: turned, busy: v.order.busy, stamp: v.order.stamp + 1}
	if v.order.plain() {
		scr.Say("sorted: as they came")
		v.Settle(scr)
		return nil
	}
	if n := v.total(scr); n > index.MostOrdered {
		v.order = order{stamp: v.order.stamp}
		scr.Say("%s rows are too many to sort, the most is %s: filter first", render.Number(int64(n)), render.Number(index.MostOrdered))
		return nil
	}
	scr.Say("sorted: %s", v.order.String())
	return v.arrange(scr)
}

// SortBy sorts by the column with a title; false if there is none.
func (v *View) SortBy(scr view.Screen, title string) (tea.Cmd, bool) {
	i := slices.Index(orders(), title)
	if i < 0 {
		return nil, false
	}
	return v.sortBy(scr, index.Column(i), false), true
}

// arranged is the order that a command has made.
type arranged struct {
	rows  []uint32
	asked *filtered
	of    int
	stamp int
	took  time.Duration
}

// arrange puts the rows in order beside the loop, if they are other ones than those
// that were. While more come, it takes a fifth of the time at most.
func (v *View) arrange(scr view.Screen) tea.Cmd {
	o := &v.order
	n := v.listed(scr)
	if o.plain() || o.busy || o.rows != nil && o.asked == v.asked && (o.of == n || scr.Now().Sub(o.made) < max(view.Judgement, 4*o.took)) {
		return nil
	}
	if n > index.MostOrdered {
		return v.sortBy(scr, o.by, o.turned) // which says so
	}
	o.busy, o.made = true, scr.Now()
	var rows []uint32
	if v.asked != nil {
		rows = append([]uint32{}, v.folds.list(v.asked)...)
	} else if len(v.folds.hidden) > 0 {
		rows = make([]uint32, 0, n)
		for i := range scr.Log().Index.Len() {
			if !v.folds.leavesOut(i) {
				rows = append(rows, uint32(i))
			}
		}
	}
	x, by, turned, asked, stamp := scr.Log().Index, o.by, o.turned, v.asked, o.stamp
	return view.Answer(v, func() any {
		begin := time.Now()
		return arranged{x.Order(by, rows, turned), asked, n, stamp, time.Since(begin)}
	})
}

// took takes an order that was made, if it is still wanted.
func (v *View) took(scr view.Screen, a arranged) tea.Cmd {
	o := &v.order
	if o.busy = false; a.stamp == o.stamp && a.asked == v.asked {
		first := o.rows == nil
		o.rows, o.asked, o.of, o.took = a.rows, a.asked, a.of, a.took
		if first { // who sorts wants to see the first of them
			v.win.At, v.At = 0, 0
		}
		v.Settle(scr)
	}
	return v.arrange(scr)
}

// listed is how many rows there are to sort.
func (v *View) listed(scr view.Screen) int {
	if v.asked != nil {
		return len(v.folds.list(v.asked))
	}
	return scr.Log().Index.Len() - len(v.folds.hidden)
}

// picked are the positions of the rows that are shown; false if they are all that
// the index has.
func (v *View) picked() ([]uint32, bool) {
	switch o := &v.order; {
	case o.rows != nil && o.asked == v.asked:
		return o.rows, true
	case v.asked != nil:
		return v.folds.list(v.asked), true
	}
	return nil, false
}

// sorted says whether what is shown is in another order.
func (v *View) sorted() bool { return v.order.rows != nil && v.order.asked == v.asked }
