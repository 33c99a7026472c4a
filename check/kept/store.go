// Package kept is a bounded store of things that have a rank and are in groups. It
// knows nothing of what they are, and reads no clock: the same calls keep the same.
package kept

import (
	"container/list"
	"iter"
	"time"
)

// Limits bound a Store.
type Limits struct {
	All   int // things
	Group int // things of one group
	// Age is how long a thing was not used when it may give way to one that ranks
	// no higher. Without it things that are used in turn would push each other out.
	Age time.Duration
}

// Store keeps things under keys. When there is no room for a new one, an old one is
// forgotten for it: of the lowest rank, that which was used longest ago. It must not
// be copied.
type Store[T any] struct {
	limits Limits
	things map[string]*thing[T]
	all    list.List   // in the order in which they came
	ranks  []list.List // of each rank, in the order in which they were last used
	groups map[string]*group
	number int // of the newest group

	forgotten, refused uint64
}

type thing[T any] struct {
	value                  *T
	key                    string
	rank                   int
	used                   time.Time
	group                  *group
	inAll, inRank, inGroup *list.Element
}

// group has a number that no other group ever has. It ends with its last thing.
type group struct {
	key    string
	number int
	things list.List // in the order in which they were last used
	more   bool      // than are kept
}

// New returns an empty Store for things that rank from 0 to ranks-1.
func New[T any](ranks int, l Limits) *Store[T] {
	return &Store[T]{limits: l, things: make(map[string]*thing[T]), ranks: make([]list.List, ranks), groups: make(map[string]*group)}
}

// Get returns what is kept under a key, or nil.
func (s *Store[T]) Get(key string) *T {
	if t := s.things[key]; t != nil {
		return t.value
	}
	return nil
}

// Len is how many things are kept.
func (s *Store[T]) Len() int { return len(s.things) }

// Forgotten is how many things were forgotten for others.
func (s *Store[T]) Forgotten() uint64 { return s.forgotten }

// Refused is how often a thing was not kept because all others had to stay. What a
// full group refuses is not counted: More tells of it.
func (s *Store[T]) Refused() uint64 { return s.refused }

// All goes through what is kept, in the order in which it came.
func (s *Store[T]) All() iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for e := s.all.Front(); e != nil && yield(e.Value.(*thing[T]).value); e = e.Next() {
		}
	}
}

// More says whether a group had more things than are kept.
func (s *Store[T]) More(in string) bool {
	g := s.groups[in]
	return g != nil && g.more
}

// Add keeps a thing under a key that is not used, and returns the number of its
// group. It says whether there was room.
func (s *Store[T]) Add(key, in string, rank int, at time.Time, v *T) (number int, room bool) {
	g := s.groups[in]
	if g != nil && g.things.Len() >= s.limits.Group {
		g.more = true
		oldest := g.things.Front().Value.(*thing[T])
		if at.Sub(oldest.used) < s.limits.Age {
			return 0, false
		}
		s.forget(oldest)
	}
	if s.Len() >= s.limits.All {
		gone := s.least(rank, at)
		if gone == nil {
			if s.refused++; g != nil {
				g.more = true
			}
			return 0, false
		}
		s.forget(gone)
	}
	t := &thing[T]{value: v, key: key, rank: rank, used: at}
	s.things[key] = t
	t.inAll, t.inRank = s.all.PushBack(t), s.ranks[rank].PushBack(t)
	return s.join(t, in), true
}

// Room says whether a thing of a rank would be kept, but for the room in its group.
func (s *Store[T]) Room(rank int, at time.Time) bool {
	return s.Len() < s.limits.All || s.least(rank, at) != nil
}

// Use says that a thing was used. What was used before is by the order of the calls.
func (s *Store[T]) Use(key string, at time.Time) {
	t := s.things[key]
	t.used = at
	s.ranks[t.rank].MoveToBack(t.inRank)
	t.group.things.MoveToBack(t.inGroup)
}

// Move puts a thing that was just used into another group and rank. It stays, even if
// the group is full. The number is that of the group.
func (s *Store[T]) Move(key, in string, rank int) (number int) {
	t := s.things[key]
	s.ranks[t.rank].Remove(t.inRank)
	t.rank, t.inRank = rank, s.ranks[rank].PushBack(t)
	s.leave(t)
	return s.join(t, in)
}

// least is what has to go for a thing of a rank, nil if nothing has.
func (s *Store[T]) least(rank int, at time.Time) *thing[T] {
	for r := range s.ranks {
		if e := s.ranks[r].Front(); e != nil {
			if t := e.Value.(*thing[T]); r < rank || at.Sub(t.used) >= s.limits.Age {
				return t
			}
		}
	}
	return nil
}

func (s *Store[T]) forget(t *thing[T]) {
	delete(s.things, t.key)
	s.all.Remove(t.inAll)
	s.ranks[t.rank].Remove(t.inRank)
	t.group.more = true
	s.leave(t)
	s.forgotten++
}

func (s *Store[T]) join(t *thing[T], in string) int {
	g := s.groups[in]
	if g == nil {
		s.number++
		g = &group{key: in, number: s.number}
		s.groups[in] = g
	}
	t.group, t.inGroup = g, g.things.PushBack(t)
	return g.number
}

func (s *Store[T]) leave(t *thing[T]) {
	g := t.group
	if g.things.Remove(t.inGroup); g.things.Len() == 0 {
		delete(s.groups, g.key)
	}
}
