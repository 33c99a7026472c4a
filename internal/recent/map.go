// Package recent has a map that forgets what was not used for long. It knows
// nothing of what it holds.
package recent

// generations is how many parts a Map has: the more, the less is forgotten at a
// time.
const generations = 4

// Map holds so much as it is told, in whatever unit its user counts. The zero
// Map is empty. It is not safe for concurrent use.
type Map[K comparable, V any] struct {
	parts [generations]map[K]entry[V] // the newest first
	cost  [generations]int64
}

type entry[V any] struct {
	value V
	cost  int64
}

// Get finds a value, which counts as a use of it.
func (m *Map[K, V]) Get(k K) (v V, ok bool) {
	for i, part := range &m.parts {
		e, ok := part[k]
		if !ok {
			continue
		}
		if i > 0 {
			delete(part, k)
			m.cost[i] -= e.cost
			m.parts[0][k] = e
			m.cost[0] += e.cost
		}
		return e.value, true
	}
	return v, false
}

// Put enters a value that costs something. Where all together would cost more
// than limit, the part that was not used for longest is forgotten. What is used between
// any few Puts stays, however much that is.
func (m *Map[K, V]) Put(k K, v V, cost, limit int64) {
	if m.parts[0] == nil || m.cost[0]+cost > limit/generations {
		copy(m.parts[1:], m.parts[:])
		copy(m.cost[1:], m.cost[:])
		m.parts[0], m.cost[0] = make(map[K]entry[V]), 0
	}
	if old, ok := m.parts[0][k]; ok {
		m.cost[0] -= old.cost
	}
	m.parts[0][k] = entry[V]{v, cost}
	m.cost[0] += cost
}

// Cost is what all that is held costs.
func (m *Map[K, V]) Cost() (sum int64) {
	for _, c := range m.cost {
		sum += c
	}
	return sum
}
