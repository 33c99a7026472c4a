// Package halve finds which of many suspects are the cause, by trials of some of
// them at a time.
//
// A trial is rejected if all members of a culprit set are in it. Find looks for
// the smallest such sets: a set of one, or of several that are rejected only
// together. It assumes that what is rejected is also rejected together with
// more, notices where that is not so, and then says so.
//
// The package knows nothing of xDS, starts no goroutine, and reads no clock.
package halve

import (
	"context"
	"math/bits"
	"slices"
)

// Trial is a question: are these rejected, together?
type Trial struct {
	Set []int // of the suspects, ascending
	// Left is how many are still suspected of being what is looked for.
	Left int
	// Again says that the answer to this was doubted: one from memory is none.
	Again bool
}

// Answer is what a trial told.
type Answer struct {
	Rejected bool
	// Hints are suspects that the answer speaks of. They are tried first.
	Hints []int
}

// Oracle makes a trial. Its error ends the search.
type Oracle func(ctx context.Context, t Trial) (Answer, error)

// Result is what was found.
type Result struct {
	// Sets are the culprit sets: each was rejected, and without any one of its
	// members was not.
	Sets [][]int
	// Trials is how many there were.
	Trials int
	// Accepted says that all suspects together are not rejected.
	Accepted bool
	// Rest says that a trial of everything but one member of each set was
	// accepted: that there is no other set which shares nothing with these.
	Rest bool
	// Fickle is a set that was accepted one time and rejected another, which
	// ended the search.
	Fickle []int
	// Odd are sets that are rejected by themselves and accepted together with
	// others, time and again.
	Odd [][]int
	// Curtailed says that sets which share a member with these were not
	// searched for to the end.
	Curtailed bool
}

// extra is how many trials are spent on culprit sets that share members with
// others.
const extra = 64

// Find looks for the culprit sets among the suspects 0 to n-1. With an error of
// the oracle it returns what was found before.
func Find(ctx context.Context, n int, ask Oracle) (Result, error) {
	f := &finder{ask: ask, n: n, known: map[string]*fact{}}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	err := f.search(ctx, all)
	for _, s := range f.Sets {
		slices.Sort(s)
	}
	slices.SortFunc(f.Sets, slices.Compare)
	return f.Result, err
}

type finder struct {
	Result
	ask   Oracle
	n     int
	known map[string]*fact
	facts []*fact

	leaves [][]int // which removed leave something that is accepted
	seen   map[string]bool
	spare  int // the trial at which the search for more sets ends; 0: not yet known
}

// fact is what is known of a set.
type fact struct {
	set  bitset
	list []int
	Answer
	odd bool // it was said already that it contradicts others
}

func (f *finder) search(ctx context.Context, all []int) error {
	whole, err := f.try(ctx, all, len(all))
	if err != nil {
		return err
	}
	if !whole.Rejected {
		f.Accepted = f.Fickle == nil
		return nil
	}
	f.seen = map[string]bool{}
	return f.visit(ctx, all, nil)
}

// visit looks for the sets that are left when some suspects are taken away: one
// member of each set that is known, in every possible way (Reiter's tree). The
// first way down finds all sets that share nothing.
func (f *finder) visit(ctx context.Context, all, without []int) error {
	for f.Fickle == nil {
		slices.Sort(without)
		id := newBitset(without).key()
		if f.seen[id] || slices.ContainsFunc(f.leaves, func(l []int) bool { return subset(l, without) }) {
			return nil
		}
		f.seen[id] = true
		if f.spare > 0 && f.Trials >= f.spare {
			f.Curtailed = true
			return nil
		}
		var culprit []int
		for _, s := range f.Sets {
			if disjoint(s, without) {
				culprit = s
				break
			}
		}
		if culprit == nil {
			rest := minus(all, without)
			if len(rest) == 0 {
				f.leaf(without)
				return nil
			}
			left, err := f.try(ctx, rest, len(rest))
			if err != nil || f.Fickle != nil {
				return err
			}
			if !left.Rejected {
				f.leaf(without)
				return nil
			}
			if culprit, err = f.smallest(ctx, rest, left.Hints); err != nil || f.Fickle != nil {
				return err
			}
			f.Sets = append(f.Sets, slices.Clone(culprit))
		}
		if len(culprit) == 1 { // there is but one way
			without = append(slices.Clone(without), culprit[0])
			continue
		}
		for _, c := range culprit {
			if err := f.visit(ctx, all, append(slices.Clone(without), c)); err != nil || f.Fickle != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// leaf enters that nothing is rejected without these.
func (f *finder) leaf(without []int) {
	f.Rest = true
	f.leaves = append(f.leaves, slices.Clone(without))
	if f.spare == 0 {
		f.spare = f.Trials + extra
	}
}

// smallest returns a smallest culprit set within a set that is rejected. In an
// order of the suspects it looks for the first one with which they are rejected:
// that is a member. Then it does the same with those before it, together with
// the members that are known.
func (f *finder) smallest(ctx context.Context, set, hints []int) ([]int, error) {
	order := slices.Clone(set)
	if hinted := both(set, hints); len(hinted) > 0 && len(hinted) < len(set) {
		a, err := f.try(ctx, hinted, len(set))
		if err != nil || f.Fickle != nil {
			return nil, err
		}
		if a.Rejected {
			order = hinted
		} else {
			order = append(slices.Clone(hinted), minus(set, hinted)...)
		}
	}
	var members []int
	for {
		// order and members together are rejected. The first low of order
		// together with the members are not, as far as is known.
		low, high := 0, len(order)
		if len(members) > 0 {
			a, err := f.try(ctx, members, len(order)+len(members))
			if err != nil || f.Fickle != nil {
				return nil, err
			}
			if a.Rejected {
				return members, nil
			}
		}
		for high-low > 1 {
			middle := low + (high-low)/2
			a, err := f.try(ctx, slices.Concat(order[:middle], members), high+len(members))
			if err != nil || f.Fickle != nil {
				return nil, err
			}
			if a.Rejected {
				high = middle
			} else {
				low = middle
			}
		}
		if high == 0 { // cannot be, unless the answers contradict each other
			return members, nil
		}
		members = append(members, order[high-1])
		order = order[:high-1]
		if len(order) == 0 {
			return members, nil
		}
	}
}

// try answers a trial, from memory if it was made before.
func (f *finder) try(ctx context.Context, set []int, left int) (Answer, error) {
	set = slices.Clone(set)
	slices.Sort(set)
	b := newBitset(set)
	if have := f.known[b.key()]; have != nil {
		return have.Answer, nil
	}
	a, err := f.trial(ctx, Trial{Set: set, Left: left})
	if err != nil {
		return a, err
	}
	now := &fact{set: b, list: set, Answer: a}
	f.known[b.key()] = now
	defer func() { f.facts = append(f.facts, now) }()
	for _, then := range f.facts {
		small, large := then, now
		if now.Rejected {
			small, large = now, then
		}
		if then.Rejected == now.Rejected || !small.set.within(large.set) || small.odd {
			continue
		}
		// The smaller one is rejected and the larger one is not. Once more.
		for _, again := range []*fact{small, large} {
			b, err := f.trial(ctx, Trial{Set: again.list, Left: left, Again: true})
			if err != nil {
				return a, err
			}
			if b.Rejected != again.Rejected {
				f.Fickle = again.list
				return a, nil
			}
		}
		small.odd = true
		f.Odd = append(f.Odd, small.list)
	}
	return a, nil
}

func (f *finder) trial(ctx context.Context, t Trial) (Answer, error) {
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	f.Trials++
	a, err := f.ask(ctx, t)
	a.Hints = slices.DeleteFunc(slices.Clone(a.Hints), func(i int) bool { return i < 0 || i >= f.n })
	return a, err
}

// bitset is a set of suspects.
type bitset []uint64

func newBitset(set []int) bitset {
	b := bitset{}
	for _, i := range set {
		for len(b) <= i/64 {
			b = append(b, 0)
		}
		b[i/64] |= 1 << (i % 64)
	}
	return b
}

func (b bitset) within(o bitset) bool {
	for i, w := range b {
		have := uint64(0)
		if i < len(o) {
			have = o[i]
		}
		if bits.OnesCount64(w&^have) > 0 {
			return false
		}
	}
	return true
}

// key is the same for the same set.
func (b bitset) key() string {
	out := make([]byte, 0, 8*len(b))
	for _, w := range b {
		for range 8 {
			out, w = append(out, byte(w)), w>>8
		}
	}
	return string(out)
}

func minus(all, some []int) []int {
	gone := newBitset(some)
	var out []int
	for _, i := range all {
		if i/64 >= len(gone) || gone[i/64]&(1<<(i%64)) == 0 {
			out = append(out, i)
		}
	}
	return out
}

// both are those of all that are in some, in the order of all.
func both(all, some []int) []int { return minus(all, minus(all, some)) }

func disjoint(a, b []int) bool { return len(both(a, b)) == 0 }

func subset(a, b []int) bool { return len(minus(a, b)) == 0 }
