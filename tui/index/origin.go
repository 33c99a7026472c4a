package index

import (
	"context"

	"github.com/xdsproxy/xdsproxy/session"
)

// origins are the responses by which a client got what it had of some resources
// before another one came. Which responses it accepted is what the account said
// when each of them was answered.
type origins struct {
	by       map[uint64]origin // by the hash of a name; none of those that it did not have
	state    origin            // where each response has all there is: the one that it had
	accepted Knowledge         // whether all that it had accepted is known
}

type origin struct {
	seq     session.Seq // 0: none
	verdict What
}

// Knowledge says how it is known what a client had.
type Knowledge uint8

const (
	// Known is what was seen, and is remembered.
	Known Knowledge = iota
	// Unseen is what was said when nobody looked.
	Unseen
	// LetGo is what was seen, so long ago that it is not remembered or not
	// recorded any more.
	LetGo
)

// origins finds them for names: what the client had accepted, and of what it had
// accepted nothing, what it was sent before.
func (x *Index) origins(ctx context.Context, of Row, names []uint64, whole bool) origins {
	o := origins{by: make(map[uint64]origin, len(names))}
	open := make(map[uint64]bool, len(names))
	for _, n := range names {
		open[n] = true
	}
	// take enters a response; it is false if its names are not remembered.
	take := func(r *Row, verdict What) bool {
		if whole {
			if r.Flags&Pulse == 0 && o.state.seq == 0 {
				o.state = origin{r.Seq, verdict}
			}
			return true
		}
		list, known := x.carries(r.Seq)
		if list == nil {
			return known
		}
		for n := range open {
			if list.has(n) {
				o.by[n] = origin{r.Seq, verdict}
				delete(open, n)
			}
		}
		return true
	}
	done := func() bool { return ctx.Err() != nil || o.state.seq != 0 || !whole && len(open) == 0 }
	last, none := x.Accepted(&of)
	for last != 0 && !done() {
		r, ok := x.BySeq(last)
		if !ok {
			none = false
			break
		}
		if !take(&r, x.Verdict(&r)) {
			o.accepted = LetGo
			return o
		}
		last, none = x.AcceptedBefore(r)
	}
	if !none {
		o.accepted = Unseen
	}
	for range maxSteps {
		r, ok := x.BySeq(of.Before())
		if !ok || done() {
			break
		}
		verdict := Nothing // whether it was accepted by then is not known
		if x.Verdict(&r) == NACK {
			verdict = NACK
		}
		if !take(&r, verdict) {
			break
		}
		of = r
	}
	return o
}
