package check

import (
	"container/heap"
	"time"
)

// maxTimers bounds the timers that run at one time. What would need another is
// not watched.
const maxTimers = 1 << 18

// timer is something to look at once a time has passed.
type timer struct {
	at    time.Time
	order uint64 // timers of one time fire in the order in which they were set
	fire  func(now time.Time)
}

// timers is a heap by time.
type timers struct {
	list  []timer
	order uint64
}

func (t *timers) Len() int { return len(t.list) }
func (t *timers) Less(i, j int) bool {
	a, b := &t.list[i], &t.list[j]
	if a.at.Equal(b.at) {
		return a.order < b.order
	}
	return a.at.Before(b.at)
}
func (t *timers) Swap(i, j int) { t.list[i], t.list[j] = t.list[j], t.list[i] }
func (t *timers) Push(v any)    { t.list = append(t.list, v.(timer)) }
func (t *timers) Pop() any {
	n := len(t.list) - 1
	v := t.list[n]
	t.list[n] = timer{}
	t.list = t.list[:n]
	return v
}

// set calls fire when the time is later than at.
func (t *timers) set(at time.Time, fire func(now time.Time)) {
	if len(t.list) >= maxTimers {
		return
	}
	t.order++
	heap.Push(t, timer{at: at, order: t.order, fire: fire})
}

// run fires, in order, all timers whose time is over. Timers that these set
// are included.
func (t *timers) run(now time.Time) {
	for len(t.list) > 0 && t.list[0].at.Before(now) {
		next := heap.Pop(t).(timer)
		next.fire(next.at)
	}
}
