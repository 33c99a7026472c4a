package engine

import "container/list"

// past is all that is remembered of streams that have ended, of clients that
// have left, and of versions that resources had. It has a budget in bytes. When
// that is spent, what was touched least recently is let go.
//
// What something takes is reckoned by the account's own rule, in the order of
// the entries, and never asked of the runtime: the same recording forgets the
// same on every machine.
type past struct {
	budget, used int64
	recent       list.List // of *memento, the least recently touched first
	forgotten    uint64
}

// memento is one thing that is remembered of what is over.
type memento struct {
	bytes int64
	let   func() // lets go of it
	at    *list.Element
}

// DefaultPast is the budget where none is given.
const DefaultPast = 64 << 20

// Memory is what an Engine remembers beyond what lives.
type Memory struct {
	Past, Budget int64  // bytes
	Forgotten    uint64 // how often something was let go
}

// Memory says how much of the budget is spent. What the newest responses need is
// not counted, however large they are.
func (k *Engine) Memory() Memory {
	budget := max(k.o.Past, 0)
	cached := k.cache.Held() + k.Contents.met.Cost() + k.bulks.byBatch.Cost() + k.bulks.bySum.Cost()
	return Memory{Past: min(k.past.used+cached, budget), Budget: budget, Forgotten: k.past.forgotten}
}

// add remembers something. let is called when it is let go.
func (p *past) add(bytes int64, let func()) *memento {
	m := &memento{bytes: bytes, let: let}
	m.at = p.recent.PushBack(m)
	p.used += bytes
	return m
}

// touch says that something was used, and takes bytes more now.
func (p *past) touch(m *memento, more int64) {
	if m == nil || m.at == nil {
		return
	}
	m.bytes += more
	p.used += more
	p.recent.MoveToBack(m.at)
}

// drop takes something out that is no longer past, or no longer there.
func (p *past) drop(m *memento) {
	if m == nil || m.at == nil {
		return
	}
	p.recent.Remove(m.at)
	p.used -= m.bytes
	m.at = nil
}

// fit lets go of the least recent until the rest is within the budget.
func (p *past) fit() {
	for p.used > p.budget && p.recent.Len() > 0 {
		m := p.recent.Front().Value.(*memento)
		p.drop(m)
		m.let()
		p.forgotten++
	}
}

// shared is what several things that are remembered have in common: it is
// reckoned once.
type shared struct {
	refs  int
	bytes int64
}

func (p *past) hold(s *shared) {
	if s.refs++; s.refs == 1 {
		p.used += s.bytes
	}
}

func (p *past) release(s *shared) {
	if s.refs--; s.refs == 0 {
		p.used -= s.bytes
	}
}

// gone says whether it was let go.
func (m *memento) gone() bool { return m.at == nil }
