// Package shortname writes names in fewer columns than they have, so that names
// which are shown together can still be told apart. It knows how Istio, Consul and
// Envoy Gateway make names, and nothing of what they are names of. Names must be
// printable.
package shortname

import (
	"cmp"
	"slices"
	"strconv"
)

// Set is names that are shown together. What it has answered it answers again, so
// that a row looks the same wherever it is scrolled to. One goroutine uses it at a
// time. The zero value knows no names, and keeps apart those that it is asked for.
type Set struct {
	names []keyed
	// common[i] is how many bytes the keys of i-1 and i have in common; nearer[0][i]
	// is the last place before i, nearer[1][i] the first one after it, where it is
	// less.
	common []int32
	nearer [2][]int32

	short map[request]string
	taken map[request]string // the name, by what is shown for it
}

// keyed is a name by what tells most of it.
type keyed struct{ key, name string }

type request struct {
	text    string
	columns int
}

// maxAnswers bounds the answers that are remembered.
const maxAnswers = 1 << 14

// New makes a set of the names of a list. It takes as long as sorting them.
func New(names []string) *Set {
	s := &Set{names: make([]keyed, len(names))}
	for i, n := range names {
		s.names[i] = keyed{keyOf(n), n}
	}
	slices.SortFunc(s.names, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	s.names = slices.CompactFunc(s.names, func(a, b keyed) bool { return a.key == b.key })
	n := len(s.names)
	s.common = make([]int32, n+1) // nothing is before the first, nor after the last
	for i := 1; i < n; i++ {
		s.common[i] = int32(commonBytes(s.names[i-1].key, s.names[i].key))
	}
	s.nearer = [2][]int32{make([]int32, n+1), make([]int32, n+1)}
	for i := 1; i <= n; i++ {
		at := int32(i - 1)
		for at > 0 && s.common[at] >= s.common[i] {
			at = s.nearer[0][at]
		}
		s.nearer[0][i] = at
	}
	for i := n - 1; i >= 0; i-- {
		at := int32(i + 1)
		for at < int32(n) && s.common[at] >= s.common[i] {
			at = s.nearer[1][at]
		}
		s.nearer[1][i] = at
	}
	return s
}

// Has says whether the set is of these names, in whatever order.
func (s *Set) Has(names []string) bool {
	if s == nil || len(s.names) != len(names) {
		return false
	}
	for _, n := range names {
		if _, is := s.find(keyOf(n)); !is {
			return false
		}
	}
	return true
}

func (s *Set) find(key string) (int, bool) {
	return slices.BinarySearchFunc(s.names, key, func(e keyed, key string) int { return cmp.Compare(e.key, key) })
}

// Fit is a name in at most so many columns, the whole of it if that fits. Two names
// are never the same, unless there are no columns to number them.
func (s *Set) Fit(name string, columns int) string {
	switch {
	case columns < 1:
		return ""
	case s == nil:
		return Alone(name, columns)
	}
	ask := request{name, columns}
	if short, is := s.short[ask]; is {
		return short
	}
	if s.short == nil || len(s.short) >= maxAnswers {
		s.short, s.taken = make(map[request]string), make(map[request]string)
	}
	w := newWord(name)
	short := s.apart(w, columns)
	s.short[ask], s.taken[request{short, columns}] = short, name
	return short
}

// Alone is a name in at most so many columns that is beside no other one.
func Alone(name string, columns int) string {
	if columns < 1 {
		return ""
	}
	return newWord(name).fit(nil, columns)
}

// apart is what is shown for a name that nothing is shown for yet.
func (s *Set) apart(w *word, columns int) string {
	need := s.partings(w)
	for tried := map[int]bool{}; ; {
		short := w.fit(need, columns)
		other, is := s.taken[request{short, columns}]
		if !is {
			return short
		}
		at := w.cellOf(commonBytes(w.key, keyOf(other)))
		if w.width <= columns || tried[at] {
			break
		}
		tried[at] = true
		need = append([]int{at}, slices.DeleteFunc(need, func(n int) bool { return n == at })...)
	}
	for n := 2; ; n++ {
		number := "(" + strconv.Itoa(n) + ")"
		short := number
		if room := columns - len(number); room > 0 {
			short = w.cut(need, room) + number
		} else if room < 0 {
			return w.fit(need, columns)
		}
		if _, is := s.taken[request{short, columns}]; !is {
			return short
		}
	}
}

// partings are the cells where a name parts from another one of the set, the last
// one first.
func (s *Set) partings(w *word) []int {
	i, is := s.find(w.key)
	if !is {
		return nil
	}
	var at []int
	for j := int32(i); s.common[j] > 0; j = s.nearer[0][j] {
		at = append(at, int(s.common[j]))
	}
	for j := int32(i + 1); s.common[j] > 0; j = s.nearer[1][j] {
		at = append(at, int(s.common[j]))
	}
	if len(s.names) > 1 {
		at = append(at, 0)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	slices.Reverse(at)
	cells := make([]int, 0, len(at))
	for _, b := range at {
		if c := w.cellOf(b); !slices.Contains(cells, c) {
			cells = append(cells, c)
		}
	}
	return cells
}

func commonBytes(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
