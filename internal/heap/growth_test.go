package heap

import "testing"

// A small heap may grow by most, a large one by least, and between in steps.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		g    heapGrowth
		live uint64
		want int
	}{
		{heapGrowth{200, 25}, 0, 200},
		{heapGrowth{200, 25}, 1 << 20, 200},
		{heapGrowth{200, 25}, 21 << 20, 200},
		{heapGrowth{200, 25}, 22 << 20, 175},
		{heapGrowth{200, 25}, 32 << 20, 100},
		{heapGrowth{200, 25}, 51 << 20, 25},
		{heapGrowth{200, 25}, 64 << 20, 25},
		{heapGrowth{200, 25}, 1 << 40, 25},
		{heapGrowth{100, 50}, 32 << 20, 100},
		{heapGrowth{100, 50}, 40 << 20, 50},
		{heapGrowth{100, 50}, 36 << 20, 75},
		{heapGrowth{100, 50}, 1 << 30, 50},
	} {
		if got := c.g.of(c.live); got != c.want {
			t.Errorf("%+v with %d MiB: %d, not %d", c.g, c.live>>20, got, c.want)
		}
	}
}
