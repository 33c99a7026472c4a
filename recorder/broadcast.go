package recorder

import "sync/atomic"

// broadcast wakes those who wait for the next commit. Sending waits for nobody
// and costs one exchange of a pointer when nobody waits. The zero value is
// ready.
type broadcast struct {
	waiting atomic.Pointer[chan struct{}]
}

// next returns a channel that the next send closes. Who wants to miss nothing
// asks for it, looks, and waits then.
func (b *broadcast) next() <-chan struct{} {
	for {
		if c := b.waiting.Load(); c != nil {
			return *c
		}
		c := make(chan struct{})
		if b.waiting.CompareAndSwap(nil, &c) {
			return c
		}
	}
}

func (b *broadcast) send() {
	if b.waiting.Load() == nil {
		return // who asks from now on has yet to look
	}
	if c := b.waiting.Swap(nil); c != nil {
		close(*c)
	}
}
