package timer

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// Timers fire when their time is over, and not at it; those of one time in the order in which they
// were set.
func TestTimersInOrder(t *testing.T) {
	var q Queue
	start := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	q.Run(start)
	var got []string
	set := func(name string, after time.Duration) {
		q.Set(start.Add(after), func(now time.Time) { got = append(got, fmt.Sprint(name, " ", now.Sub(start))) })
	}
	for i := range 40 {
		set(fmt.Sprint("same ", i), 3*time.Second)
	}
	set("later", 5*time.Second)
	set("sooner", time.Second)
	set("long ago", -time.Second)
	want := []string{"long ago -1s", "sooner 1s"}
	if q.Run(start.Add(3 * time.Second)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for i := range 40 {
		want = append(want, fmt.Sprintf("same %d 3s", i))
	}
	q.Leap(0)
	q.Leap(-time.Hour)
	if q.Run(start.Add(3*time.Second + 1)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if q.Run(start.Add(5 * time.Second)); len(got) != len(want) {
		t.Errorf("%q", got)
	}
	if q.Run(start.Add(5*time.Second + 1)); got[len(got)-1] != "later 5s" || len(q.list) > 0 {
		t.Errorf("%q", got)
	}
}

// As many timers run as may, and no more.
func TestTimersAreBounded(t *testing.T) {
	var q Queue
	start := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	fired := 0
	for range maxTimers + 2 {
		q.Set(start, func(time.Time) { fired++ })
	}
	if q.Run(start.Add(1)); fired != maxTimers {
		t.Errorf("%d timers fired", fired)
	}
}

// What a timer sets is followed as far as patience goes, and from there on waits for the next entry.
func TestTimersWithinPatience(t *testing.T) {
	start := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	for at, want := range map[time.Duration]time.Duration{patience: patience + 1, patience + 1: 24 * time.Hour} {
		var q Queue
		q.Run(start)
		var then time.Time
		q.Set(start.Add(at), func(now time.Time) {
			q.Set(now.Add(1), func(now time.Time) { then = now })
		})
		q.Run(start.Add(24 * time.Hour))
		q.Run(start.Add(24*time.Hour + 1))
		if got := then.Sub(start); got != want {
			t.Errorf("what was set %v after the last entry fires after %v, not %v", at, got, want)
		}
	}
}

// A tick is noted when twenty milliseconds have passed, and forgotten when it is older than what is
// kept, or one too many.
func TestTicksAtTheirBounds(t *testing.T) {
	start := time.Unix(1e9, 0)
	const keep = time.Minute
	for name, c := range map[string]struct {
		at   []time.Duration
		want []uint64 // the stamps that have a tick of their own
	}{
		"one":                {[]time.Duration{5}, []uint64{1}},
		"too soon":           {[]time.Duration{0, tickLength - 1}, []uint64{1}},
		"soon enough":        {[]time.Duration{0, tickLength, 2*tickLength - 1, 2 * tickLength}, []uint64{1, 2, 4}},
		"as long as is kept": {[]time.Duration{0, keep}, []uint64{1, 2}},
		"longer":             {[]time.Duration{0, keep + 1}, []uint64{2}},
		"some of them":       {[]time.Duration{0, time.Second, keep + 1, keep + time.Second + 1}, []uint64{3, 4}},
		"back in time":       {[]time.Duration{time.Second, 0}, []uint64{1}},
	} {
		var h Ticks
		for i, at := range c.at {
			h.Note(uint64(i+1), start.Add(at), keep)
		}
		var got []uint64
		for _, one := range h.list {
			got = append(got, one.stamp)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %d", name, got)
		}
	}
	var h Ticks
	for i := range maxTicks + 3 {
		h.Note(uint64(2*i+2), start.Add(time.Duration(i)*tickLength), 24*time.Hour)
		if want := min(i+1, maxTicks); len(h.list) != want {
			t.Fatalf("%d ticks of %d", len(h.list), i+1)
		}
	}
	for stamp, want := range map[uint64]int{7: -1, 8: 3, 9: 3, 10: 4, 2 * (maxTicks + 3): maxTicks + 2, 1 << 40: maxTicks + 2} {
		got := h.At(stamp)
		if want < 0 && !got.IsZero() || want >= 0 && !got.Equal(start.Add(time.Duration(want)*tickLength)) {
			t.Errorf("stamp %d was %v after the first", stamp, got.Sub(start))
		}
	}
}
