package engine

import "iter"

// names is the set of names that a client asks for. A list that many clients
// send is held once: it is the base.
type names struct {
	base *NameList
	own  map[string]bool // what differs from base: asked for, or not
	size int
}

func (n *names) Len() int { return n.size }

func (n *names) Has(name string) bool {
	if has, ok := n.own[name]; ok {
		return has
	}
	return n.base.has(name)
}

func (n *names) add(name string) bool {
	if n.Has(name) {
		return false
	}
	n.set(name, true)
	n.size++
	return true
}

func (n *names) remove(name string) bool {
	if !n.Has(name) {
		return false
	}
	n.set(name, false)
	n.size--
	return true
}

func (n *names) set(name string, has bool) {
	if n.base.has(name) == has {
		delete(n.own, name)
		return
	}
	if n.own == nil {
		n.own = make(map[string]bool)
	}
	n.own[name] = has
}

// All yields the names, in no order.
func (n *names) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		if n.base != nil {
			for name := range n.base.index() {
				if _, differs := n.own[name]; !differs && !yield(name) {
					return
				}
			}
		}
		for name, has := range n.own {
			if has && !yield(name) {
				return
			}
		}
	}
}

// shared is what the names take that many clients may ask for.
func (n *names) shared() *shared {
	if n.base == nil {
		return &shared{}
	}
	n.base.past.bytes = int64(n.base.bytes + 96*len(n.base.Names))
	return &n.base.past
}
