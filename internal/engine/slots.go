package engine

// Slots are what those who look at a stream, or at a type on it, remember of
// it, each in a slot of its own. It goes with the stream.
type Slots []any

// Slot returns what a slot holds, and makes it on first use.
func Slot[T any](m *Slots, i int) *T {
	for len(*m) <= i {
		*m = append(*m, nil)
	}
	v, made := (*m)[i].(*T)
	if !made {
		v = new(T)
		(*m)[i] = v
	}
	return v
}
