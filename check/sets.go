package check

import "slices"

// put adds to a map that is made when it is first needed.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[key] = value
}

// nameSet makes a set of a list.
func nameSet(list []string) map[string]struct{} {
	set := make(map[string]struct{}, len(list))
	for _, n := range list {
		set[n] = struct{}{}
	}
	return set
}

// without is a copy of a list without what is gone.
func without[T any](list []T, gone func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), gone)
}

// keepLast appends to a list that keeps no more than its last few.
func keepLast[T any](list []T, v T, most int) []T {
	list = append(list, v)
	return slices.Delete(list, 0, max(len(list)-most, 0))
}

// nameMemory is a bounded set of names. Once it is full it knows nothing any
// more, which is not the same as being empty.
type nameMemory struct {
	set  map[string]struct{}
	full bool
}

func (m *nameMemory) add(name string) {
	if len(m.set) >= maxContentNames {
		m.set, m.full = nil, true
	}
	if !m.full {
		put(&m.set, name, struct{}{})
	}
}

func (m *nameMemory) has(name string) bool {
	_, ok := m.set[name]
	return ok
}
