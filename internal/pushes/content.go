package pushes

import (
	"hash/maphash"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/engine"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	maxBodies   = 1 << 17 // contents of which it is known what they are but for their name
	maxContents = 64      // different contents of one resource in one push
)

// changed is what became of one resource in a push, over all clients.
type changed struct {
	resourceKey
	version                 string
	seq                     session.Seq
	added, changed, removed int               // clients
	is, was                 map[[16]byte]bool // contents
	body, old               uint64            // but for the name, of what it is and was; 0: not known
}

// wholeKey is all there is of a type, as clients get it first, and whole the
// changes that it brought each of them.
type wholeKey struct {
	typ string
	sum [2]uint64
	n   int
}

type whole struct {
	clients int
	changes []*changed
}

// content enters what a response changes of what its client has, and what not.
func (g *Grouper) content(p *push, in *incoming) {
	n, t := in.n, p.types[in.sub.Type]
	t.Resources += n.Count
	if in.sub.Lost {
		p.head.Unsure = true
		return
	}
	news := len(n.Added) + len(n.Changed)
	if news+len(n.Removed)+len(n.Nameless) == 0 && !n.WasFirst {
		p.head.Idle++
		p.head.IdleBytes += n.Size
	}
	resources := in.change.Message.Resources
	if n.WasFirst && n.Was == 0 && len(n.Added) > 0 && len(n.Added) == n.Count {
		key := wholeKey{in.sub.Type, n.Sum, n.Count}
		if w := p.wholes[key]; w != nil {
			w.clients++
			return
		}
		w := &whole{}
		p.wholes[key] = w
		g.weigh(p, 1)
		g.bodiesOf(n, resources, nil)
		for _, it := range n.Added {
			if ch := g.change(p, in, it); ch != nil {
				ch.added++
				w.changes = append(w.changes, ch)
			}
		}
		return
	}
	var fresh map[string]bool
	if news > 0 {
		fresh = make(map[string]bool, news)
		for it := range n.AddedOrChanged() {
			fresh[it.Name] = true
		}
	}
	again, size := g.bodiesOf(n, resources, fresh)
	t.Again += again
	t.AgainSize += size
	for _, it := range n.Added {
		if ch := g.change(p, in, it); ch != nil {
			ch.added++
		}
	}
	for i, it := range n.Changed {
		if ch := g.change(p, in, it); ch != nil {
			ch.changed++
			ch.had(n.Before[i])
		}
		g.follows(in.sub.Type, n.Before[i], it)
	}
	for _, it := range n.Removed {
		ch := g.at(p, resourceKey{in.sub.Type, it.Name}, n.Seq)
		if ch == nil {
			continue
		}
		ch.removed++
		ch.had(it)
		if it.Content != nil {
			ch.old, _ = g.bodies.Get(it.Content.Facts.Hash)
		}
	}
}

// at is the entry for what becomes of a resource, nil if there is no room.
func (g *Grouper) at(p *push, key resourceKey, seq session.Seq) *changed {
	ch := p.changes[key]
	if ch == nil {
		if len(p.changes) >= maxChanges {
			g.leave(p, &p.moreChanges, maphash.Comparable(g.seed, key))
			return nil
		}
		ch = &changed{resourceKey: key, seq: seq, is: make(map[[16]byte]bool), was: make(map[[16]byte]bool)}
		p.changes[key] = ch
		g.weigh(p, 1)
	}
	return ch
}

// change is at for a resource that was sent.
func (g *Grouper) change(p *push, in *incoming, it *engine.Resource) *changed {
	ch := g.at(p, resourceKey{in.sub.Type, it.Name}, in.n.Seq)
	if ch == nil || it.Content == nil {
		return ch
	}
	ch.version = it.Version
	if len(ch.is) < maxContents {
		ch.is[it.Content.Facts.Hash] = true
	}
	ch.body, _ = g.bodies.Get(it.Content.Facts.Hash)
	return ch
}

func (ch *changed) had(it *engine.Resource) {
	if it.Content != nil && len(ch.was) < maxContents {
		ch.was[it.Content.Facts.Hash] = true
	}
}

// bodiesOf remembers what the resources that are fresh are but for their name, of
// a nil map all; it counts the others and their bytes.
func (g *Grouper) bodiesOf(n *engine.Response, resources []decode.Resource, fresh map[string]bool) (again int, size int64) {
	all := len(resources) > 0 && fresh == nil && n.WasFirst && n.Was == 0
	hashes := make(map[string][16]byte, len(fresh))
	for it := range n.AddedOrChanged() {
		if it.Content != nil {
			hashes[it.Name] = it.Content.Facts.Hash
		}
	}
	for i := range resources {
		r := &resources[i]
		name := decode.NormalName(r.Name)
		if !all && !fresh[name] {
			again++
			size += int64(len(r.Body))
			continue
		}
		hash, known := hashes[name]
		if !known {
			continue
		}
		if _, met := g.bodies.Get(hash); !met {
			g.bodies.Put(hash, g.nameless(r.Body), 1, maxBodies)
		}
	}
	return again, size
}

// nameless is a hash of a resource without its name, which is field 1 of all types
// that have one; 0 if there is nothing else, or it cannot be read.
func (g *Grouper) nameless(body []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(g.seed)
	more := false
	s := protoscan.Of(body)
	for s.Next() {
		if s.Num != 1 {
			_, _ = h.Write(s.Raw())
			more = true
		}
	}
	if !more || s.Err != "" {
		return 0
	}
	return h.Sum64()
}
