package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// A small heap is mostly the descriptors of all types, and each collection
	// marks all of it: it may grow by usualGrowth percent before the next one, up
	// to roomyHeap bytes. A heap of which more lives may grow by leastGrowth
	// percent.
	usualGrowth = 200
	leastGrowth = 25
	roomyHeap   = 120 << 20
)

// collectLess suits a process that forwards: it collects seldom while the heap
// is small, and takes no more memory for that than is worth it once many
// connections and streams live in it. GOGC says otherwise.
func collectLess() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(usualGrowth)
	afterCollection(usualGrowth)
}

// afterCollection adapts the growth after each collection from now on. percent
// is what it is now.
func afterCollection(percent int) {
	// It must have a pointer, or it would share its place with others.
	type marker struct{ _ *byte }
	runtime.AddCleanup(&marker{}, func(percent int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if wanted := growth(live[0].Value.Uint64()); wanted != percent {
			percent = wanted
			debug.SetGCPercent(percent)
		}
		afterCollection(percent)
	}, percent)
}

// growth is by how many percent a heap of which this much lives may grow.
func growth(live uint64) int {
	percent := 100*roomyHeap/int64(max(live, 1<<20)) - 100
	// In steps, since each change stops the program for a moment.
	return int(min(max(percent/25*25, leastGrowth), usualGrowth))
}
