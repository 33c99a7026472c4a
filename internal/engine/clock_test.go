package engine

import (
	"math"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// A time that cannot be is a problem of its entry, and nobody goes by it.
func TestTimesThatCannotBe(t *testing.T) {
	day := time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	years := func(n int) time.Time { return day.AddDate(n, 0, 0) }
	k := New(Options{})
	for i, step := range []struct {
		at, now time.Time
		problem string
	}{
		{time.Unix(0, math.MaxInt64), time.Time{}, "its time is after 2100, and is passed over"},
		{day, day, ""},
		{time.Time{}, day, ""},
		{time.Unix(0, math.MinInt64), day, "its time is before 1970, and is passed over"},
		{time.Unix(0, math.MaxInt64), day, "its time is after 2100, and is passed over"},
		{years(9), years(9), ""},
		{day, years(9), ""}, // time never goes back
		{years(10), years(9), "its time is 10 years after that of the entry before, and is passed over"},
		{years(10).Add(time.Second), years(10).Add(time.Second), ""}, // but the clock was set, and all say so
		{years(-40), years(10).Add(time.Second), "its time is 50 years before that of the entry before, and is passed over"},
	} {
		e := session.Entry{Seq: session.Seq(i + 1), Time: step.at, Kind: session.KindTime}
		if got := k.TimeAt(&e); !got.Equal(step.now) {
			t.Errorf("%d: the time will be %v, not %v", i, got, step.now)
		}
		if k.Step(&e); !k.Now.Equal(step.now) {
			t.Errorf("%d: the time is %v, not %v", i, k.Now, step.now)
		}
		New(Options{}).Step(&e) // who looks again says nothing twice
		switch {
		case step.problem == "" && len(e.Problems) > 0,
			step.problem != "" && (len(e.Problems) != 1 || e.Problems[0] != step.problem):
			t.Errorf("%d: %q, not %q", i, e.Problems, step.problem)
		}
	}
}
