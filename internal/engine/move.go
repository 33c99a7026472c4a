package engine

import (
	"slices"

	"github.com/xdsproxy/xdsproxy/decode"
)

// move is what a response that has one bulk changes of a client that has another,
// and nothing else: worked out for the first client, and the same for all that
// are told the same at the same place. It is immutable.
type move struct {
	added, changed, before, removed, same, reissued []*Resource
	again                                           int
}

type moveKey struct {
	from, to     *bulk
	delta, whole bool // what is left out is taken away
}

// moved enters what a response with the resources of a bulk changes, if that is
// known, and says so.
func (k *Engine) moved(s *Subscription, n *Response, b *bulk) bool {
	from := s.Have.only()
	if from == nil || len(n.Message.Removed) > 0 {
		return false
	}
	m, ok := k.bulks.moves.Get(moveKey{from, b, n.Kind == decode.DeltaResponse, s.Whole()})
	if !ok {
		return false
	}
	n.Added, n.Changed, n.Before, n.Removed = m.added, m.changed, m.before, m.removed
	n.Same, n.Reissued, n.again = m.same, m.reissued, m.again
	s.Have = b.inventory()
	return true
}

// settleBulk lets a client have a bulk in place of the same resources one by one,
// and remembers what a response has changed if the client had only another bulk.
func (k *Engine) settleBulk(s *Subscription, n *Response, from, to *bulk) {
	if s.Have.is(to) || s.Have.Len() != len(to.base) {
		return
	}
	for i, it := range to.items {
		if (from == nil || i >= len(from.items) || from.items[i] != it) && s.Have.Get(it.Name) != it {
			return
		}
	}
	s.Have = to.inventory()
	if from == nil || !to.shared || len(n.Message.Removed) > 0 {
		return
	}
	m := &move{
		added: slices.Clip(n.Added), changed: slices.Clip(n.Changed), before: slices.Clip(n.Before), removed: slices.Clip(n.Removed),
		same: slices.Clip(n.Same), reissued: slices.Clip(n.Reissued), again: n.again,
	}
	k.bulks.moves.Put(moveKey{from, to, n.Kind == decode.DeltaResponse, s.Whole()}, m,
		k.bulks.cost(from)+k.bulks.cost(to), 2*max(k.bulks.limit, 2*k.bulks.most))
}

func (b *bulk) inventory() inventory { return inventory{base: b.base, bulk: b, size: len(b.base)} }

// only is the bulk that is all there is in an inventory, nil if there is none.
func (v *inventory) only() *bulk {
	if len(v.own) > 0 {
		return nil
	}
	return v.bulk
}
