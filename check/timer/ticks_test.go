package timer

import (
	"testing"
	"time"
)

// Ticks tell when something with a stamp was, never later, forget what is old,
// and stay small.
func TestTicks(t *testing.T) {
	var h Ticks
	start := time.Unix(1e9, 0)
	const keep = time.Minute
	for i := range 100_000 {
		now := start.Add(time.Duration(i) * 7 * time.Millisecond)
		stamp := uint64(i + 1)
		h.Note(stamp, now, keep)
		if got := h.At(stamp); got.After(now) || now.Sub(got) > tickLength {
			t.Fatalf("stamp %d was at %v, not at %v", stamp, now, got)
		}
	}
	if len(h.list) > maxTicks || len(h.list) < 1000 {
		t.Errorf("%d ticks", len(h.list))
	}
	if got := h.At(1); !got.IsZero() {
		t.Errorf("a stamp of long ago was at %v", got)
	}
}
