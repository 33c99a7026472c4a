package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

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

// percent is by how much the heap may grow now. It is only read: to set it and put it back
// would undo what is set in between.
func percent() int {
	gogc := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(gogc)
	return int(gogc[0].Value.Uint64())
}

// What a process chooses holds at once, unless who runs it has said otherwise.
func TestChoices(t *testing.T) {
	defer debug.SetGCPercent(percent())
	for _, c := range []struct {
		name   string
		choose func()
		want   int
	}{{"forwarding", CollectLess, 200}, {"reading", Lean, 100}, {"keeping", Keeping, 100}} {
		for gogc, want := range map[string]int{"": c.want, "150": 150} {
			t.Setenv("GOGC", gogc)
			debug.SetGCPercent(150)
			if c.choose(); percent() != want {
				t.Errorf("%s, GOGC=%s: %d%%, want %d", c.name, gogc, percent(), want)
			}
		}
	}
}

// A collection adapts it to what lives then.
func TestAfterCollection(t *testing.T) {
	defer debug.SetGCPercent(percent())
	debug.SetGCPercent(150)
	heapGrowth{most: 120, least: 120}.afterCollection(150)
	for end := time.Now().Add(30 * time.Second); percent() != 120; runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("it stays at %d%%", percent())
		}
	}
}
