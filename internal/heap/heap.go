// Package heap says how seldom the heap is collected, and gives memory back.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// roomyHeap is what a heap may grow to before it is collected, as far as a
// heapGrowth allows. A small heap is mostly the descriptors of all types, and each
// collection marks all of it.
const roomyHeap = 64 << 20

// CollectLess suits a process that forwards: it collects seldom while the heap
// is small, and takes no more memory for that than is worth it once many
// connections and streams live in it. GOGC says otherwise.
func CollectLess() { collect(heapGrowth{most: 200, least: 25}) }

// Lean suits a command that reads through a whole recording, where what it keeps
// may be large, and it has time: it collects as usual while the heap is small, and
// twice as often once much lives in it.
func Lean() { collect(heapGrowth{most: 100, least: 50}) }

// Keeping suits a command that keeps a row of each entry: most of what lives has no
// pointers, a collection passes over it, and so more of them cost little.
func Keeping() { collect(heapGrowth{most: 100, least: 25}) }

// heapGrowth is by how many percent the heap may grow before it is collected.
type heapGrowth struct{ most, least int }

func collect(g heapGrowth) {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(g.most)
	g.afterCollection(g.most)
}

// afterCollection adapts the growth after each collection from now on. percent
// is what it is now.
func (g heapGrowth) afterCollection(percent int) {
	// It must have a pointer, or it would share its place with others.
	type marker struct{ _ *byte }
	runtime.AddCleanup(&marker{}, func(percent int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if wanted := g.of(live[0].Value.Uint64()); wanted != percent {
			percent = wanted
			debug.SetGCPercent(percent)
		}
		g.afterCollection(percent)
	}, percent)
}

// of is the growth of a heap of which this much lives.
func (g heapGrowth) of(live uint64) int {
	percent := 100*roomyHeap/int64(max(live, 1<<20)) - 100
	// In steps, since each change stops the program for a moment.
	return int(min(max(percent/25*25, int64(g.least)), int64(g.most)))
}

// GiveBack gives the memory that nothing uses back to the system, which an idle
// process would not do for minutes. It collects twice: what lies in a sync.Pool
// lives through one collection, and two goroutines that ask at the same time share
// one.
func GiveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
