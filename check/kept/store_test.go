package kept

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"
)

var start = time.Unix(1e9, 0)

func listed(s *Store[string]) string {
	var out []string
	for v := range s.All() {
		out = append(out, *v)
	}
	return fmt.Sprint(out)
}

func is(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// Things go by rank, and of one rank by when they were used last. They are listed in
// the order in which they came.
func TestWhatGoesFirst(t *testing.T) {
	s := New[string](3, Limits{All: 4, Group: 9, Age: time.Hour})
	add := func(name string, rank int, at time.Duration) bool {
		_, room := s.Add(name, "of "+name, rank, start.Add(at), &name)
		return room
	}
	for i, rank := range []int{1, 0, 0, 2} {
		is(t, "there is room", add(string(rune('a'+i)), rank, 0), true)
	}
	s.Use("b", start.Add(time.Minute))
	is(t, "room for one of the lowest rank", s.Room(0, start.Add(time.Hour-1)), false)
	is(t, "it is kept", add("e", 0, time.Hour-1), false)
	is(t, "room for a higher one", s.Room(1, start.Add(time.Hour-1)), true)
	is(t, "that is kept", add("f", 1, time.Hour-1), true)
	is(t, "what is there", listed(s), "[a b d f]")
	is(t, "that is kept", add("g", 1, time.Hour-1), true)
	is(t, "what is there", listed(s), "[a d f g]")
	is(t, "one that is old gives way", add("h", 0, time.Hour), true)
	is(t, "what is there", listed(s), "[d f g h]")
	s.Use("d", start.Add(time.Hour))
	s.Move("h", "of d", 2)
	is(t, "one that ranks higher stays", add("i", 2, time.Hour), true)
	is(t, "what is there", listed(s), "[d g h i]")
	is(t, "forgotten", s.Forgotten(), uint64(4))
	is(t, "refused", s.Refused(), uint64(1))
	is(t, "what is gone", s.Get("f"), (*string)(nil))
	is(t, "what is there", *s.Get("h"), "h")
}

// A group is bounded, has one number as long as there is something in it, and then
// never again.
func TestGroups(t *testing.T) {
	s := New[string](1, Limits{All: 3, Group: 2, Age: time.Hour})
	add := func(name, in string, at time.Duration) string {
		number, room := s.Add(name, in, 0, start.Add(at), &name)
		return fmt.Sprint(number, room, s.More(in))
	}
	is(t, "the first", add("a", "A", 0), "1 true false")
	is(t, "the second", add("b", "A", 1), "1 true false")
	is(t, "one of another group", add("c", "B", 2), "2 true false")
	is(t, "one too many", add("d", "A", time.Hour-1), "0 false true")
	is(t, "refused", s.Refused(), uint64(0))
	is(t, "one when another is old", add("e", "A", time.Hour), "1 true true")
	is(t, "what is there", listed(s), "[b c e]")
	is(t, "more of the other group", s.More("B"), false)
	is(t, "none has to go", add("f", "B", time.Hour), "0 false true")
	is(t, "refused", s.Refused(), uint64(1))
	is(t, "moved", s.Move("c", "A", 0), 1) // though that is full
	is(t, "a group that was gone", s.Move("b", "B", 0), 3)
	is(t, "more of it", s.More("B"), false)
	is(t, "what is there", listed(s), "[b c e]")
}

// Whatever happens, it holds no more than it may, and all its lists hold the same.
func TestListsAgree(t *testing.T) {
	limits := Limits{All: 20, Group: 6, Age: 50}
	for seed := range uint64(20) {
		var before string
		for range 2 { // the same calls keep the same
			r := rand.New(rand.NewPCG(seed, 1))
			s := New[string](3, limits)
			for n := range 3000 {
				name, in, rank, at := strconv.Itoa(r.IntN(40)), strconv.Itoa(r.IntN(5)), r.IntN(3), start.Add(time.Duration(n))
				switch {
				case s.Get(name) == nil:
					s.Add(name, in, rank, at, &name)
				case r.IntN(3) == 0:
					s.Use(name, at)
					s.Move(name, in, rank)
				default:
					s.Use(name, at)
				}
				ranked, grouped := 0, 0
				for i := range s.ranks {
					ranked += s.ranks[i].Len()
				}
				for _, g := range s.groups {
					if grouped += g.things.Len(); g.things.Len() == 0 {
						t.Fatal("a group is empty")
					}
				}
				if all := []int{s.Len(), s.all.Len(), ranked, grouped}; s.Len() > limits.All || slices.Min(all) != slices.Max(all) {
					t.Fatalf("seed %d, after %d: %v", seed, n, all)
				}
			}
			got := listed(s) + fmt.Sprint(s.Forgotten(), s.Refused())
			if before != "" && got != before {
				t.Errorf("seed %d: %s, and before %s", seed, got, before)
			}
			before = got
		}
	}
}
