package check_test

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var soakLong = flag.Bool("soak", false, "TestSoak of the size that docs/reliability.md tells of; some seconds if not")

const (
	soakSamples = 12
	// The budgets for what is past. The short form has little, so that it is
	// full soon.
	soakBudget, soakShortBudget = 64 << 20, 4 << 20
	// soakNoise is by how much the heap may move although it is flat: a table
	// that grows takes twice its place.
	soakNoise = 1 << 20
)

// Who runs for weeks remembers no more for it. Whatever clients come, leave,
// come back and are told: the heap is what lives and the budget for what is
// past, and stays there.
//
// It runs alone, since it measures the heap of the process.
func TestSoak(t *testing.T) {
	for _, s := range soakScenes() {
		t.Run(s.name, func(t *testing.T) {
			size, budget := s.short, int64(soakShortBudget)
			if *soakLong {
				size, budget = s.long, soakBudget
			}
			// What a process makes once, such as descriptors, is there before.
			first := s.begin(newSoakWorld(t, newSoakChecker(budget)), soakSize{2, 2, 1})
			first.warm()
			first.round(0)
			before := heapAfterGC()
			w := newSoakWorld(t, newSoakChecker(budget))
			play := s.begin(w, size)
			r := soakRun{budget: budget, fills: s.fills, once: heapAfterGC() - before}
			play.warm()
			r.lives = heapAfterGC() - before
			for n := range size.rounds {
				play.round(n)
				if (n+1)*soakSamples/size.rounds > n*soakSamples/size.rounds {
					r.sample(heapAfterGC()-before, w)
				}
			}
			runtime.KeepAlive(play)
			r.judge(t)
			t.Logf("%d clients, %d names, %d rounds: %d entries, %d streams", size.clients, size.names, size.rounds, w.seq, w.k.Summary().Streams)
			for _, f := range w.graver {
				t.Errorf("the soak itself makes mistakes: %s %s: %s", f.Severity, f.Rule.ID, f.Message)
			}
		})
	}
}

// heapAfterGC is what the process holds, in bytes. A pool forgets what lies
// idle for two collections.
func heapAfterGC() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// soakRun is what a scene has measured.
type soakRun struct {
	budget  int64
	fills   bool
	once    int64 // the heap when everybody has connected once
	lives   int64 // and when those who stay got some pushes
	samples []soakSample
}

type soakSample struct {
	heap   int64
	memory soakMemory
	known  bool
}

func (r *soakRun) sample(heap int64, w *soakWorld) {
	m, ok := memoryOf(w.k)
	r.samples = append(r.samples, soakSample{heap, m, ok})
}

// bound is how large the heap may be: what lives, the budget, and 10 percent.
//
// What lives is the heap right after everybody has connected once and has been
// told as much as a stream knows in full. All scenes go on with as many clients
// and names as there are then, so that what is needed to judge the next entry
// never gets more. Whatever else is there is about something past: streams that
// ended, versions that were replaced, contents that nobody has. That is what
// the budget is for, be it called a cache or a history. The 10 percent are for
// what allocators and tables take beyond what is counted.
func (r *soakRun) bound() int64 { return (r.lives + r.budget) * 11 / 10 }

// settled are the samples that must be alike: those after the budget was full,
// or the later half where that is not known. While there is room in the budget
// it may be used.
func (r *soakRun) settled() []soakSample {
	later := r.samples[len(r.samples)/2:]
	if !later[0].known {
		return later
	}
	return slices.DeleteFunc(slices.Clone(r.samples), func(s soakSample) bool { return s.memory.forgotten == 0 })
}

func (r *soakRun) judge(t *testing.T) {
	t.Helper()
	fail := t.Errorf
	if !soakAsserts {
		fail = t.Logf
	}
	var most int64
	var heaps []string
	for _, s := range r.samples {
		most = max(most, s.heap)
		heaps = append(heaps, mib(s.heap))
		if s.known && (s.memory.past > s.memory.budget || s.memory.budget != r.budget) {
			fail("the past takes %s MiB, the budget is %s of %s", mib(s.memory.past), mib(s.memory.budget), mib(r.budget))
		}
	}
	last := r.samples[len(r.samples)-1]
	t.Logf("connected once %s MiB, lives %s, bound %s, most %s, at the end %s; past %s, forgotten %d", mib(r.once), mib(r.lives), mib(r.bound()), mib(most), mib(last.heap), mib(last.memory.past), last.memory.forgotten)
	t.Logf("samples in MiB: %s", strings.Join(heaps, " "))
	if most > r.bound() {
		fail("the heap grows to %s MiB, the bound is %s", mib(most), mib(r.bound()))
	}
	settled := r.settled()
	if r.fills && last.memory.forgotten == 0 {
		fail("the budget was never full, so that nothing is proven")
	}
	if len(settled) > 1 {
		byHeap := func(a, b soakSample) int { return int(a.heap - b.heap) }
		low, high := slices.MinFunc(settled, byHeap).heap, slices.MaxFunc(settled, byHeap).heap
		if high > low*11/10+soakNoise {
			fail("the heap is not flat: %s to %s MiB", mib(low), mib(high))
		}
	}
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/(1<<20)) }
