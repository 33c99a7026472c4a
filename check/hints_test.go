package check

import (
	"fmt"
	"testing"
)

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
