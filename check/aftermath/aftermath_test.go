package aftermath

import (
	"fmt"
	"testing"
)

// However many clients and resources there are, what is remembered of them has a
// bound. What was forgotten is not told.
func TestMemoryIsBounded(t *testing.T) {
	var m Memory
	first := m.key("client", "cluster")
	if by := m.replace(first, 1, 2, 7); by != 0 {
		t.Errorf("content that is new was replaced by %d", by)
	}
	if by := m.replace(first, 2, 1, 9); by != 7 {
		t.Errorf("content that came back was replaced by %d, not by 7", by)
	}
	for i := range 3 * mostReplaced {
		m.replace(m.key("client", fmt.Sprint(i)), 1, 2, 8)
		if m.replaced.Cost() > mostReplaced {
			t.Fatalf("%d resources are remembered", m.replaced.Cost())
		}
	}
	if by := m.replace(first, 2, 1, 9); by != 0 {
		t.Errorf("what must have been forgotten was replaced by %d", by)
	}
	for i := range 10 {
		m.replace(first, uint64(100+i), uint64(101+i), 1)
	}
	if by := m.replace(first, 0, 100, 1); by != 0 {
		t.Error("more contents of one resource are remembered than there should be")
	}
}

// What is told apart by several words is not the same as what they say together.
func TestKeys(t *testing.T) {
	var m Memory
	same := m.key("a", "bc")
	if same == m.key("ab", "c") || same != m.key("a", "bc") {
		t.Error("keys do not tell words apart")
	}
}
