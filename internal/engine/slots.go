package engine

// Slots are what those who look at a stream, or at a type on it, remember of it,
// one value of a type each. They go with the stream.
type Slots []any

// Slot returns the value of a type, and makes it on first use.
func Slot[T any](m *Slots) *T {
	for _, v := range *m {
		if v, is := v.(*T); is {
			return v
		}
	}
	v := new(T)
	*m = append(*m, v)
	return v
}
