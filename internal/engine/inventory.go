package engine

import (
	"iter"
	"maps"

	"github.com/xdsproxy/xdsproxy/session"
)

// Resource is one resource as it was sent. Inventories share it.
type Resource struct {
	Name    string      // normalized
	Version string      // of the resource; of a named type in the state of the world that of the response; else ""
	Content *Content    // nil where only the name and version are known
	TTL     bool        // it has one
	Stamp   uint64      // of the response that had it last, of whichever stream: see Engine.Stamp
	Seq     session.Seq // of an entry that has its content
}

// inventory is the resources of one type that one side has, by name. Most of
// it is a base that inventories share: a thousand clients with the same twenty
// thousand clusters hold them once.
type inventory struct {
	base map[string]*Resource // shared, never written to
	own  map[string]*Resource // what differs from base; nil for what is not there
	bulk *bulk                // that base is of, if any
	cold *cold                // that it is, once its stream has ended; nothing else is there then
	size int
}

func (v *inventory) Len() int { return v.size }

func (v *inventory) Get(name string) *Resource {
	if v.cold != nil {
		return v.cold.get(name)
	}
	if it, ok := v.own[name]; ok {
		return it
	}
	return v.base[name]
}

func (v *inventory) put(it *Resource) {
	if v.Get(it.Name) == nil {
		v.size++
	}
	v.set(it.Name, it)
}

func (v *inventory) remove(name string) {
	if v.Get(name) == nil {
		return
	}
	v.size--
	if v.base[name] == nil {
		delete(v.own, name)
		return
	}
	v.set(name, nil)
}

func (v *inventory) set(name string, it *Resource) {
	if it != nil && v.base[name] == it {
		delete(v.own, name)
		return
	}
	if v.own == nil {
		v.own = make(map[string]*Resource)
	}
	v.own[name] = it
	if len(v.own) > 64 && len(v.own) > len(v.base)/2 {
		v.base, v.own, v.bulk = maps.Collect(v.All()), nil, nil
	}
}

// All yields names and items, in no order.
func (v *inventory) All() iter.Seq2[string, *Resource] {
	return func(yield func(string, *Resource) bool) {
		if v.cold != nil {
			for i := range v.cold.list {
				if it := &v.cold.list[i]; !yield(it.name, it.resource()) {
					return
				}
			}
			return
		}
		for name, it := range v.base {
			if _, differs := v.own[name]; !differs && !yield(name, it) {
				return
			}
		}
		for name, it := range v.own {
			if it != nil && !yield(name, it) {
				return
			}
		}
	}
}

// clone returns an inventory that changes independently.
func (v *inventory) clone() inventory {
	if v.cold != nil {
		return inventory{own: maps.Collect(v.All()), size: v.size}
	}
	return inventory{base: v.base, bulk: v.bulk, own: maps.Clone(v.own), size: v.size}
}

// is says whether it is what a bulk has, and nothing else.
func (v *inventory) is(b *bulk) bool { return v.bulk == b && len(v.own) == 0 }
