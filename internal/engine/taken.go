package engine

import (
	"iter"
	"slices"
)

// TypesOf yields the types of the client that a stream belongs to: those of all
// its streams, and behind them what is left from ended ones. A client without a
// node is known by the one stream only.
func (k *Engine) TypesOf(t *Stream) iter.Seq[*Subscription] {
	if c := k.clients.byID[t.clientID()]; c != nil && slices.Contains(c.live, t) {
		return c.known()
	}
	return slices.Values(t.Order)
}

// Taken yields what the client has of the type once it accepts all that it has
// not answered: what it was sent last of each resource, but for what it rejected,
// of which it has what it had accepted before.
func (s *Subscription) Taken() iter.Seq[*Resource] {
	return func(yield func(*Resource) bool) {
		rejected := make(map[string]bool)
		for name, u := range s.open.all() {
			if u.by.Verdict != NACKed {
				continue
			}
			rejected[name] = true
			if u.accepted != nil && !yield(u.accepted) {
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
