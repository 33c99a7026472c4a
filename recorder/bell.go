package recorder

import "sync/atomic"

// bell wakes those who wait for the next commit. Ringing it waits for nobody
// and costs one exchange of a pointer when nobody waits. The zero value is
// ready.
type bell struct {
	waiting atomic.Pointer[chan struct{}]
}

// next returns a channel that the next ring closes. Who wants to miss nothing
// asks for it, looks, and waits then.
func (b *bell) next() <-chan struct{} {
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

func (b *bell) ring() {
	if b.waiting.Load() == nil {
		return // who asks from now on has yet to look
	}
	if c := b.waiting.Swap(nil); c != nil {
		close(*c)
	}
}
