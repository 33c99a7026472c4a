package archive

import (
	"runtime"
	"time"
)

// longAgo is a time for tests.
var longAgo = time.Date(2026, 11, 26, 1, 2, 3, 0, time.UTC)

// heapInUse is what is reachable.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
