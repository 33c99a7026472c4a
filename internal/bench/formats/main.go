// formats compares ways to store a session on disk, on data that is made here:
// pushes of many clusters of which few change, and a fleet of delta streams.
//
// It prints one Markdown table for each: bytes, CPU time, memory and the time
// to show the last message of a file that nobody has read yet.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// format is one way to store messages. A batch is what is committed at once.
type format interface {
	// begin starts a new recording in memory.
	begin()
	// batch stores messages and returns the bytes for the file.
	batch(messages [][]byte) []byte
	// last returns the last message of a file, read cold.
	last(file []byte) []byte
}

func main() {
	clusters := flag.Int("clusters", 20000, "clusters in each push")
	entropy := flag.Int("entropy", 100, "random bytes in each cluster")
	pushes := flag.Int("pushes", 100, "pushes")
	only := flag.String("only", "", "run only this format")
	flag.Parse()

	data := map[string]func(yield func([][]byte) bool){
		"state of the world": stateOfTheWorld(*clusters, *entropy, *pushes),
		"delta fleet":        deltaFleet(1000, *entropy, *pushes),
	}
	for _, name := range []string{"state of the world", "delta fleet"} {
		fmt.Printf("\n### %s\n\n| format | bytes | of raw | last batch | CPU | per MB | heap in use | show last |\n|---|---|---|---|---|---|---|---|\n", name)
		for _, f := range formats {
			if *only == "" || *only == f.name {
				measure(f.name, f.make(), data[name])
			}
		}
	}
}

func measure(name string, f format, data func(func([][]byte) bool)) {
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f.begin()
	var file, wantLast []byte
	var raw, size, lastBatch int
	var cpu time.Duration
	for batch := range data {
		for _, m := range batch {
			raw += len(m)
		}
		t := cpuTime()
		out := f.batch(batch)
		cpu += cpuTime() - t
		size += len(out)
		lastBatch = len(out)
		file = append(file, out...)
		wantLast = append(wantLast[:0], batch[len(batch)-1]...)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	heap := int64(after.HeapAlloc) - int64(before.HeapAlloc) - int64(cap(file))
	runtime.KeepAlive(f)
	t := time.Now()
	got := f.last(file)
	show := time.Since(t)
	if string(got) != string(wantLast) {
		fmt.Fprintf(os.Stderr, "formats: %s does not give the last message back: %d bytes, want %d\n", name, len(got), len(wantLast))
		os.Exit(1)
	}
	fmt.Printf("| %s | %.2f MB | 1/%.0f | %.1f kB | %d ms | %.2f ms | %.0f MB | %.1f ms |\n",
		name, float64(size)/1e6, float64(raw)/float64(size), float64(lastBatch)/1e3, cpu.Milliseconds(),
		float64(cpu.Microseconds())/1e3/(float64(raw)/1e6), float64(heap)/1e6, float64(show.Microseconds())/1e3)
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
