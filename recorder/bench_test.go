//go:build unix

package recorder

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/queue"
	"github.com/xdsproxy/xdsproxy/session"
)

// nowhere is a file that keeps nothing.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }
func (nowhere) Truncate(int64) error                   { return nil }
func (nowhere) Close() error                           { return nil }

func BenchmarkAppend(b *testing.B) {
	for _, conns := range []uint64{1, 50, 5000} {
		b.Run(fmt.Sprint(conns), func(b *testing.B) { benchmarkAppend(b, conns) })
	}
}

// benchmarkAppend is of entries of so many connections, in turns.
func benchmarkAppend(b *testing.B, conns uint64) {
	l, err := start("nowhere", nowhere{}, Options{QueueBytes: 1 << 50, NoTicks: true})
	if err != nil {
		b.Fatal(err)
	}
	e := message(1, "payload")
	var spare []queue.Record
	n := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		e.Conn = session.ConnID(n%conns + 1)
		l.Append(e)
		if n++; n%1000 == 0 { // what the writer does, without the writing
			l.mu.Lock()
			batch := l.queue.Take(spare)
			l.queue.Release(batch)
			l.mu.Unlock()
			spare = batch[:0]
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

// benchmarkWriter measures the writer without a reader in the same process, and
// with one, for whom it keeps a tail in memory.
func benchmarkWriter(b *testing.B, next func() session.Chunks) {
	b.Run("unread", func(b *testing.B) { benchmarkWriterFor(b, 0, next) })
	b.Run("read", func(b *testing.B) { benchmarkWriterFor(b, 1, next) })
}

func benchmarkWriterFor(b *testing.B, readers int32, next func() session.Chunks) {
	l, err := start("nowhere", nowhere{}, Options{QueueBytes: 1 << 50, NoTicks: true})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	l.tail.readers.Store(readers)
	e := message(1, "")
	payload := next()
	batch := make([]queue.Record, 0, 1000)
	b.SetBytes(payload.Len())
	b.ReportAllocs()
	from := cpuTime()
	for b.Loop() {
		l.seq++
		e.Seq, e.Time = l.seq, l.now()
		payload = next()
		m := *e.Message
		m.Data, m.Size = payload, payload.Len()
		e.Message = &m
		batch = append(batch, queue.Record{Entry: e})
		if len(batch) == cap(batch) || payload.Len() > flushBytes {
			l.w.write(batch)
			batch = batch[:0]
		}
	}
	l.w.write(batch)
	reportCPU(b, from)
}

// BenchmarkWriter1K is of small messages that repeat each other.
func BenchmarkWriter1K(b *testing.B) {
	c := chunked(clusters(1100))
	benchmarkWriter(b, func() session.Chunks { return c })
}

// BenchmarkWriter1KDistinct is of messages of which none repeats another.
func BenchmarkWriter1KDistinct(b *testing.B) {
	n := uint64(0)
	ring := make([][]byte, 2000)
	for i := range ring {
		ring[i] = clusters(1100)
	}
	benchmarkWriter(b, func() session.Chunks {
		p := ring[n%2000]
		n++
		binary.LittleEndian.PutUint64(p[100:], n)
		return session.Chunks{p}
	})
}

// BenchmarkWriter4500K is of a message that repeats one before, as it comes
// from a socket.
func BenchmarkWriter4500K(b *testing.B) {
	c := chunked(clusters(4_500_000))
	benchmarkWriter(b, func() session.Chunks { return c })
}

// BenchmarkWriterPush is of a push of 20,000 resources of which one changes,
// each a chunk of its own.
func BenchmarkWriterPush(b *testing.B) {
	text := bytes.Repeat([]byte("resource"), 30)[:225]
	c := make(session.Chunks, 20_000)
	for i := range c {
		c[i] = bytes.Clone(text)
		binary.LittleEndian.PutUint64(c[i][10:], uint64(i))
	}
	n := 0
	benchmarkWriter(b, func() session.Chunks {
		n++
		i := n * 7919 % len(c)
		c[i] = bytes.Clone(c[i])
		binary.LittleEndian.PutUint64(c[i][100:], uint64(n))
		return c
	})
}
