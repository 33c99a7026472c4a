package check

import (
	"container/heap"
	"time"
)

const (
	// maxTimers bounds the timers that run at one time. What would need another
	// is not watched.
	maxTimers = 1 << 18
	// patience and maxAgain bound what one entry makes up for. Many timers set
	// the next one when they fire, each some seconds later. That is followed
	// through the silence before an entry for as long as patience, which is twice
	// the longest that a log writes nothing while nothing happens; and no more
	// than maxAgain timers are followed that others have set meanwhile. Beyond
	// that, where a clock was set or someone made up a time, each timer that is
	// due fires once, and what it sets waits for the entries that follow.
	patience = 2 * time.Hour
	maxAgain = 1 << 20
)

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
	now   time.Time // of the last run
	floor time.Time // no timer is set to an earlier time
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
	if at.Before(t.floor) {
		at = t.floor
	}
	t.order++
	heap.Push(t, timer{at: at, order: t.order, fire: fire})
}

// leap puts off all timers by a time that did not pass.
func (t *timers) leap(d time.Duration) {
	if d <= 0 {
		return
	}
	for i := range t.list {
		t.list[i].at = t.list[i].at.Add(d)
	}
	t.now = t.now.Add(d)
}

// run fires, in order, all timers whose time is over. Timers that these set are
// included, within patience.
func (t *timers) run(now time.Time) {
	horizon, last := t.now.Add(patience), t.order
	for again := 0; len(t.list) > 0 && t.list[0].at.Before(now); {
		next := heap.Pop(t).(timer)
		if next.order > last {
			again++
		}
		if next.at.After(horizon) || again > maxAgain {
			t.floor = now
		}
		next.fire(next.at)
	}
	t.now, t.floor = now, time.Time{}
}
