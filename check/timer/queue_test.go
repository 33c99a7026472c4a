package timer

import (
	"testing"
	"time"
)

// chain sets a timer that sets the next one when it fires, and counts.
func chain(q *Queue, from time.Time, each time.Duration, fired *int) {
	q.Set(from.Add(each), func(now time.Time) {
		*fired++
		chain(q, now, each, fired)
	})
}

// A silence that a log may leave is followed through, timer by timer.
func TestTimersFollowASilence(t *testing.T) {
	var q Queue
	start, fired := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC), 0
	q.Run(start)
	chain(&q, start, 10*time.Second, &fired)
	q.Run(start.Add(patience))
	if want := int(patience/(10*time.Second)) - 1; fired != want {
		t.Errorf("fired %d times in %v, not %d", fired, patience, want)
	}
}

// A leap is not: each timer that is due fires at its time, and what it sets
// waits for what follows.
func TestTimersLeap(t *testing.T) {
	var q Queue
	start, fired := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC), 0
	q.Run(start)
	chain(&q, start, 10*time.Second, &fired)
	due := start.Add(5 * patience)
	q.Set(due, func(now time.Time) {
		if !now.Equal(due) {
			t.Errorf("fired at %v, not at %v", now, due)
		}
		due = time.Time{}
	})
	most, later := int(patience/(10*time.Second))+1, start.AddDate(9, 0, 0)
	if q.Run(later); fired != most || !due.IsZero() {
		t.Errorf("fired %d times, not %d; the other is due at %v", fired, most, due)
	}
	// It goes on from there.
	if q.Run(later.Add(time.Minute)); fired != most+6 {
		t.Errorf("fired %d times in the minute after that, not 6", fired-most)
	}
}

// However short the time between them is, there is an end.
func TestTimersWithoutPause(t *testing.T) {
	var q Queue
	start, fired := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC), 0
	q.Run(start)
	chain(&q, start, time.Nanosecond, &fired)
	if q.Run(start.Add(time.Hour)); fired < maxAgain || fired > maxAgain+2 {
		t.Errorf("fired %d times", fired)
	}
}

// Time that did not pass is waited for.
func TestTimersWhileAClockIsSet(t *testing.T) {
	var q Queue
	start, fired := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC), 0
	q.Run(start)
	chain(&q, start, 10*time.Second, &fired)
	q.Leap(time.Hour)
	if q.Run(start.Add(time.Hour + 9*time.Second)); fired != 0 {
		t.Errorf("fired %d times in 9 seconds", fired)
	}
	if q.Run(start.Add(time.Hour + 11*time.Second)); fired != 1 {
		t.Errorf("fired %d times in 11 seconds", fired)
	}
}
