//go:build unix

package recorder

import (
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// nowhere is a file that keeps nothing.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nowhere) Truncate(int64) error                   { return nil }
func (nowhere) Close() error                           { return nil }

func BenchmarkAppend(b *testing.B) {
	l, err := start("nowhere", nowhere{}, Options{QueueBytes: 1 << 50, NoTicks: true})
	if err != nil {
		b.Fatal(err)
	}
	e := message(1, "payload")
	var spare []record
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		l.Append(e)
		if n++; n%1000 == 0 { // what the writer does, without the writing
			l.mu.Lock()
			spare = l.queue.take(spare)[:0]
			l.mu.Unlock()
		}
	}
	b.StopTimer()
	_ = l.Close()
}

// reportCPU adds what the whole process spent, which says more than the clock
// where others use the machine too.
func reportCPU(b *testing.B, from time.Duration) {
	b.ReportMetric(float64(cpuTime()-from)/float64(b.N), "cpu-ns/op")
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func benchmarkWriter(b *testing.B, payload session.Chunks) {
	l, err := start("nowhere", nowhere{}, Options{QueueBytes: 1 << 50, NoTicks: true})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	e := message(1, "")
	e.Message.Data, e.Message.Size = payload, payload.Len()
	batch := make([]record, 0, 1000)
	b.SetBytes(payload.Len())
	b.ReportAllocs()
	from := cpuTime()
	for b.Loop() {
		l.seq++
		e.Seq, e.Time = l.seq, l.now()
		batch = append(batch, record{entry: e})
		if len(batch) == cap(batch) || payload.Len() > flushBytes {
			l.w.write(batch)
			batch = batch[:0]
		}
	}
	l.w.write(batch)
	reportCPU(b, from)
}

func BenchmarkWriter1K(b *testing.B)    { benchmarkWriter(b, chunked(clusters(1100))) }
func BenchmarkWriter4500K(b *testing.B) { benchmarkWriter(b, chunked(clusters(4_500_000))) }
