package check

import (
	"fmt"
	"testing"
	"time"
)

// The clock tells when a response was sent, never later than it was, forgets
// what is old, and stays small.
func TestClockOfResponses(t *testing.T) {
	var h hints
	start := time.Unix(1e9, 0)
	const keep = time.Minute
	for i := range 100_000 {
		now := start.Add(time.Duration(i) * 7 * time.Millisecond)
		stamp := uint64(i + 1)
		h.tick(stamp, now, keep)
		if got := h.sent(stamp); got.After(now) || now.Sub(got) > tickLength {
			t.Fatalf("response %d was sent at %v, not at %v", stamp, now, got)
		}
	}
	if len(h.clock) > maxTicks || len(h.clock) < 1000 {
		t.Errorf("%d ticks", len(h.clock))
	}
	if got := h.sent(1); !got.IsZero() {
		t.Errorf("a response of long ago was sent at %v", got)
	}
}

// Polls are forgotten rather than kept without bound.
func TestPollsAreBounded(t *testing.T) {
	var p polls
	for i := range 3 * minPolls / pollBytes {
		p.get(fmt.Sprint("client ", i), "")
		if p.byKey.Cost() > minPolls || p.lists.Cost() > minPolls/4 {
			t.Fatalf("%d polls, %d lists", p.byKey.Cost(), p.lists.Cost())
		}
	}
	first, other := p.get("client", "a")
	if again, _ := p.get("client", "a"); again != first || other {
		t.Error("a poll is not itself")
	}
	if _, other := p.get("client", "b"); !other {
		t.Error("a second list of names is taken for the only one")
	}
}
