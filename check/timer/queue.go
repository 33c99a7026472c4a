// Package timer keeps what has to be looked at once a time has passed. It reads no
// clock: time is what Run is told.
package timer

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

// Queue holds timers. The zero one has none.
type Queue struct {
	list  byTime
	order uint64
	now   time.Time // of the last run
	floor time.Time // no timer is set to an earlier time
}

// byTime is a heap, with the next timer on top.
type byTime []timer

func (t byTime) Len() int { return len(t) }
func (t byTime) Less(i, j int) bool {
	if t[i].at.Equal(t[j].at) {
		return t[i].order < t[j].order
	}
	return t[i].at.Before(t[j].at)
}
func (t byTime) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *byTime) Push(v any)   { *t = append(*t, v.(timer)) }
func (t *byTime) Pop() any {
	n := len(*t) - 1
	v := (*t)[n]
	(*t)[n] = timer{}
	*t = (*t)[:n]
	return v
}

// Set calls fire when the time is later than at.
func (q *Queue) Set(at time.Time, fire func(now time.Time)) {
	if len(q.list) >= maxTimers {
		return
	}
	if at.Before(q.floor) {
		at = q.floor
	}
	q.order++
	heap.Push(&q.list, timer{at: at, order: q.order, fire: fire})
}

// Leap puts off all timers by a time that did not pass.
func (q *Queue) Leap(d time.Duration) {
	if d <= 0 {
		return
	}
	for i := range q.list {
		q.list[i].at = q.list[i].at.Add(d)
	}
	q.now = q.now.Add(d)
}

// Run fires, in order, all timers whose time is over. Timers that these set are
// included, within patience.
func (q *Queue) Run(now time.Time) {
	horizon, last := q.now.Add(patience), q.order
	for again := 0; len(q.list) > 0 && q.list[0].at.Before(now); {
		next := heap.Pop(&q.list).(timer)
		if next.order > last {
			again++
		}
		if next.at.After(horizon) || again > maxAgain {
			q.floor = now
		}
		next.fire(next.at)
	}
	q.now, q.floor = now, time.Time{}
}
