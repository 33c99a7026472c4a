package blocks

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Ids are given by 128 bits: what differs is told apart, however the table is
// filled, and what was taken back is new again.
func TestContents(t *testing.T) {
	var c contents
	c.reset()
	name := func(i int) []byte { return fmt.Appendf(nil, "content %d", i) }
	const n = 5 * minSlots
	for i := range n {
		sum, id := c.find(name(i))
		if id != none {
			t.Fatalf("%d is known", i)
		}
		c.add(sum, 1, i%3 == 0)
	}
	for _, i := range rand.Perm(n) {
		if _, id := c.find(name(i)); id != i || c.masked[id] != (i%3 == 0) {
			t.Fatalf("%d is %d", i, id)
		}
	}
	c.forget(n/2, n-n/2)
	for i := range n {
		if _, id := c.find(name(i)); (id != none) != (i < n/2) {
			t.Fatalf("%d is %d", i, id)
		}
	}
	if c.Bytes != n/2 {
		t.Errorf("%d bytes", c.Bytes)
	}
}
