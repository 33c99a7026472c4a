package replay

import (
	"testing"
	"time"
)

// Streams of one client tell each other how far they have come.
func TestGroup(t *testing.T) {
	all := Groups{}
	first, second, later := all.Join(&Stream{Client: "a", Opened: 1}), all.Join(&Stream{Client: "a", Opened: 2}), all.Join(&Stream{Client: "a", Opened: 20})
	other := all.Join(&Stream{Client: "b", Opened: 3})
	expect := func(when string, behind int, owed bool) {
		t.Helper()
		if first.Behind(20) != behind || first.Owed(20) != owed {
			t.Errorf("%s: %d are behind, owed %v; want %d, %v", when, first.Behind(20), first.Owed(20), behind, owed)
		}
	}
	expect("at first", 1, true)
	moved, elsewhere := first.Group.Moved(), other.Group.Moved()
	second.Reach(19)
	select {
	case <-moved:
	default:
		t.Error("nobody was told")
	}
	select {
	case <-elsewhere:
		t.Error("another client was told")
	default:
	}
	expect("when the other has come to 19", 1, true)
	first.Forgo(20)
	expect("when it was waited for in vain", 1, false)
	moved = first.Group.Moved()
	second.Reach(19)
	select {
	case <-moved:
		t.Error("it has not moved")
	default:
	}
	second.Reach(20)
	expect("when it has come to 20", 0, false)
	first.Forgo(20)
	if later.Reach(21); !first.Owed(21) {
		t.Error("one that had come as far was waited for in vain")
	}
	later.Reach(20)
	if later.Behind(21) != 2 || second.Behind(1) != 0 || first.Behind(21) != 2 || !first.Owed(21) {
		t.Errorf("%d %d %d", later.Behind(21), second.Behind(1), first.Behind(21))
	}
	for _, m := range []*Member{first, second, later} {
		m.Reach(AtEnd)
	}
	if first.Behind(1<<60) != 0 || first.Owed(1<<60) {
		t.Error("one is behind that has come to its end")
	}
	since := time.Unix(0, first.Group.quiet.Load())
	if got := first.Group.Still(since.Add(time.Minute)); got != time.Minute {
		t.Errorf("still for %s", got)
	}
}
