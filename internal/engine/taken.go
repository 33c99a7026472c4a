package engine

import (
	"iter"
	"slices"
)

// TypesOf yields the types of the client that a stream belongs to, those of all
// its streams, and what is left of ended ones that still counts. Of a client that
// nobody names that stream is all that is known.
func (k *Engine) TypesOf(t *Stream) iter.Seq[*Subscription] {
	c := k.clients.byID[t.account]
	if c == nil {
		return slices.Values(t.Order)
	}
	return func(yield func(*Subscription) bool) {
		for s := range c.known() {
			if !yield(s) {
				return
			}
			if was := c.left[s.Key].sub; was != nil && was != s && s.carries() && !yield(was) {
				return
			}
		}
	}
}

// Taken yields what the client has of the type once it accepts all that it has
// not answered: what it was sent last of each resource, but for what it rejected,
// of which it has what it had accepted before.
func (s *Subscription) Taken() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		rejected := make(map[string]bool)
		for name, u := range s.open.all() {
			if rejected[name] = u.rejected(); rejected[name] && u.accepted != nil && !yield(u.accepted) {
				return
			}
		}
		for name, it := range s.Have.All() {
			if !rejected[name] && !yield(it) {
				return
			}
		}
	}
}
