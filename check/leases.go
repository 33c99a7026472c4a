package check

import (
	"container/heap"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"
)

const (
	// maxLeases bounds the resources of a type on a stream whose TTL is
	// watched.
	maxLeases = 1 << 12
	// maxTTL bounds a TTL that is watched; nobody waits for a longer one.
	maxTTL = 30 * 24 * time.Hour
)

// lease is a resource that a client drops unless it is prolonged.
type lease struct {
	name  string
	ttl   time.Duration
	until time.Time
	from  *engine.Response
	at    int // in the heap
}

// leases are those of one type, the one that ends first on top.
type leases struct {
	byName  map[string]*lease
	heap    leaseHeap
	watched time.Time // when the timer that was set last fires, or zero
}

func (l *leases) len() int { return len(l.heap) }

// names lists whose leases there are, in no order.
func (l *leases) names() []string {
	out := make([]string, len(l.heap))
	for i, e := range l.heap {
		out[i] = e.name
	}
	return out
}

// set enters or prolongs a lease.
func (l *leases) set(e lease) {
	if old := l.byName[e.name]; old != nil {
		e.at = old.at
		*old = e
		heap.Fix(&l.heap, old.at)
		return
	}
	if len(l.heap) >= maxLeases {
		return
	}
	if l.byName == nil {
		l.byName = make(map[string]*lease)
	}
	l.byName[e.name] = &e
	heap.Push(&l.heap, &e)
}

// pop takes the lease that ends first.
func (l *leases) pop() lease {
	e := heap.Pop(&l.heap).(*lease)
	delete(l.byName, e.name)
	return *e
}

// drop takes away the lease of a name, if there is one.
func (l *leases) drop(name string) {
	if e := l.byName[name]; e != nil {
		heap.Remove(&l.heap, e.at)
		delete(l.byName, name)
	}
}

// leaseHeap orders leases by their end, and by name where that is the same.
type leaseHeap []*lease

func (h leaseHeap) Len() int { return len(h) }
func (h leaseHeap) Less(i, j int) bool {
	if h[i].until.Equal(h[j].until) {
		return h[i].name < h[j].name
	}
	return h[i].until.Before(h[j].until)
}
func (h leaseHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i]; h[i].at, h[j].at = i, j }
func (h *leaseHeap) Push(v any)   { e := v.(*lease); e.at = len(*h); *h = append(*h, e) }
func (h *leaseHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
