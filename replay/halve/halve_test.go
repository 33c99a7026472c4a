package halve

import (
	"context"
	"errors"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// honest answers by culprit sets. With hinting it names what it rejects.
func honest(sets [][]int, hinting bool) Oracle {
	return func(_ context.Context, t Trial) (Answer, error) {
		var a Answer
		for _, s := range sets {
			if subset(s, t.Set) {
				a.Rejected = true
				if hinting {
					a.Hints = append(a.Hints, s...)
				}
			}
		}
		return a, nil
	}
}

// random culprit sets of a number of suspects; apart: they share no member.
func random(r *rand.Rand, n, most int, apart bool) [][]int {
	var sets [][]int
	perm := r.Perm(n)
	for range r.IntN(most + 1) {
		var s []int
		for range 1 + r.IntN(3)*r.IntN(2) {
			c := r.IntN(n)
			if apart {
				if len(perm) == 0 {
					break
				}
				c, perm = perm[0], perm[1:]
			}
			if !slices.Contains(s, c) {
				s = append(s, c)
			}
		}
		if len(s) == 0 {
			continue
		}
		slices.Sort(s)
		sets = append(sets, s)
	}
	// Only the smallest count.
	var smallest [][]int
	for i, s := range sets {
		if !slices.ContainsFunc(sets[:i], func(o []int) bool { return slices.Equal(o, s) }) &&
			!slices.ContainsFunc(sets, func(o []int) bool { return len(o) < len(s) && subset(o, s) }) {
			smallest = append(smallest, s)
		}
	}
	slices.SortFunc(smallest, slices.Compare)
	return smallest
}

func equal(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal[[]int]) }

// All sets are found that share no member, in as many trials as it takes to
// halve the suspects for each member, and a few.
func TestFindsAllSetsApart(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		n := 1 + r.IntN(700)
		sets := random(r, n, 6, true)
		for _, hinting := range []bool{false, true} {
			got, err := Find(t.Context(), n, honest(sets, hinting))
			if err != nil {
				t.Fatal(err)
			}
			if got.Accepted != (len(sets) == 0) || !equal(got.Sets, sets) || got.Rest == got.Accepted || got.Fickle != nil || got.Odd != nil {
				t.Fatalf("of %d, %v: %+v", n, sets, got)
			}
			most, ways := 1, 1
			for _, s := range sets {
				most += 2 + len(s)*(bits.Len(uint(n))+1)
				ways *= len(s)
			}
			if ways > 1 {
				most += min(ways, extra) // other sets might share members with these
			}
			if got.Trials > most {
				t.Fatalf("of %d, %v: %d trials, more than %d", n, sets, got.Trials, most)
			}
		}
	}
}

// Sets that share members are found, too, and all of them.
func TestFindsSetsThatShare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	shared := 0
	for range 800 {
		n := 2 + r.IntN(8)
		sets := random(r, n, 4, false)
		got, err := Find(t.Context(), n, honest(sets, r.IntN(2) == 0))
		if err != nil {
			t.Fatal(err)
		}
		if got.Curtailed {
			continue
		}
		if !equal(got.Sets, sets) {
			t.Fatalf("of %d, %v: %+v", n, sets, got)
		}
		for i, s := range sets {
			for _, o := range sets[:i] {
				if !disjoint(s, o) {
					shared++
				}
			}
		}
	}
	if shared < 10 {
		t.Errorf("only %d sets shared members", shared)
	}
}

func TestTrials(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		sets [][]int
		hint bool
		most int
	}{
		{"two of five hundred", 500, [][]int{{123}, {377}}, false, 24},
		{"two that are named", 500, [][]int{{123}, {377}}, true, 8},
		{"a pair", 500, [][]int{{123, 377}}, false, 24},
		{"one of a hundred thousand", 100000, [][]int{{99999}}, false, 20},
		{"the only one", 1, [][]int{{0}}, false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Find(t.Context(), c.n, honest(c.sets, c.hint))
			if err != nil || !equal(got.Sets, c.sets) || got.Trials > c.most {
				t.Errorf("%+v, %v; want %v in at most %d trials", got, err, c.sets, c.most)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	got, err := Find(t.Context(), 10, honest(nil, false))
	if err != nil || !got.Accepted || got.Trials != 1 || got.Rest {
		t.Errorf("%+v, %v", got, err)
	}
}

// What is rejected by itself and accepted with what it needs is told from a
// client that does not know what it wants.
func TestOdd(t *testing.T) {
	got, err := Find(t.Context(), 64, func(_ context.Context, tr Trial) (Answer, error) {
		needs := slices.Contains(tr.Set, 60) && !slices.Contains(tr.Set, 3)
		return Answer{Rejected: needs || slices.Contains(tr.Set, 31)}, nil
	})
	if err != nil || got.Fickle != nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if !slices.ContainsFunc(got.Sets, func(s []int) bool { return slices.Equal(s, []int{31}) }) {
		t.Errorf("%+v", got)
	}
}

// Answers that contradict each other and their own repetition end the search.
func TestFickle(t *testing.T) {
	ended := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		got, err := Find(t.Context(), 100, func(context.Context, Trial) (Answer, error) {
			return Answer{Rejected: r.IntN(2) == 0}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if got.Fickle != nil {
			ended++
		}
	}
	if ended < 50 {
		t.Errorf("only %d of 200 random clients were found out", ended)
	}
}

// With an error, what was found before is kept.
func TestError(t *testing.T) {
	broken := errors.New("broken")
	ask := honest([][]int{{1}, {50}}, false)
	n := 0
	got, err := Find(t.Context(), 100, func(ctx context.Context, tr Trial) (Answer, error) {
		if n++; n > 12 {
			return Answer{}, broken
		}
		return ask(ctx, tr)
	})
	if !errors.Is(err, broken) || !equal(got.Sets, [][]int{{1}}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Whatever is answered, the search ends, and what it found was rejected.
func FuzzFind(f *testing.F) {
	f.Add(uint8(1), []byte{1})
	f.Add(uint8(20), []byte{0xff, 0x0f, 0x55})
	f.Add(uint8(200), []byte{1, 0, 1, 1, 0, 0, 1})
	f.Fuzz(func(t *testing.T, n uint8, answers []byte) {
		if n == 0 || len(answers) == 0 || len(answers) > 1<<10 {
			return
		}
		at := 0
		rejected := map[string]bool{}
		got, err := Find(t.Context(), int(n), func(_ context.Context, tr Trial) (Answer, error) {
			b := answers[at/8%len(answers)]
			a := Answer{Rejected: b&(1<<(at%8)) != 0, Hints: []int{int(b), -1 + int(n)/2, 1000}}
			at++
			if a.Rejected {
				rejected[newBitset(tr.Set).key()] = true
			}
			return a, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range got.Sets {
			if !rejected[newBitset(s).key()] {
				t.Errorf("%v was never rejected", s)
			}
		}
	})
}
