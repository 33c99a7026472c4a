package recorder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/session"
)

// counting counts what is read of a file.
type counting struct {
	file
	reads atomic.Int64
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	c.reads.Add(1)
	return c.file.ReadAt(b, at)
}

// liveReader is a reader of l from memory that follows, and the file below it.
func liveReader(t *testing.T, l *Log) (*Reader, *counting) {
	t.Helper()
	r := readerFrom(t, l)
	r.Follow(true)
	live := r.src.(*fileSource).file.(*liveFile)
	below := &counting{file: live.file}
	live.file = below
	return r, below
}

// next reads n entries.
func next(t *testing.T, r *Reader, n int) (out []session.Entry) {
	t.Helper()
	for range n {
		e, err := r.Next(context.Background())
		if err != nil {
			t.Fatalf("after %d entries: %v", len(out), err)
		}
		out = append(out, e)
	}
	return out
}

// hasten appends an entry and waits until it is committed.
func hasten(t *testing.T, l *Log, e session.Entry) {
	t.Helper()
	l.Append(e)
	settle(l)
}

// A reader that keeps up touches the file no more, one that starts late reads
// the older part of it, and so does one that is left behind.
func TestLiveReadersReadFromMemory(t *testing.T) {
	l := create(t, Options{NoTicks: true, Tail: 64 << 10})
	all := pushes(t, 50)
	swift, swiftly := liveReader(t, l)
	slow, slowly := liveReader(t, l)
	var got, behind []session.Entry
	for i := range 100 {
		hasten(t, l, pushAt(all, i))
		if got = append(got, next(t, swift, 1)...); i < 10 {
			behind = append(behind, next(t, slow, 1)...)
		}
	}
	if n := swiftly.reads.Load() + slowly.reads.Load(); n > 0 {
		t.Errorf("readers that kept up read the file %d times", n)
	}
	part := l.w.file.tail
	if at := part.view.Load().from; at < slow.at {
		t.Fatalf("what is held begins at %d, and the slow reader is at %d", at, slow.at)
	}
	late, lately := liveReader(t, l)
	closeLog(t, l)
	want, facts := readAll(t, l.Path())
	if len(want) != 100 || !facts.Complete {
		t.Fatalf("%d entries in the file, %+v", len(want), facts)
	}
	from := part.view.Load().from
	for r, below := range map[*Reader]*counting{slow: slowly, late: lately} {
		for r.at < from {
			behind = append(behind, next(t, r, 1)...)
		}
		n := below.reads.Load()
		if n == 0 {
			t.Error("what is no longer held was not read from the file")
		}
		rest, err := drain(r)
		if err != nil || len(rest) == 0 || below.reads.Load() != n {
			t.Errorf("%d entries that are held, %d reads of the file, %v", len(rest), below.reads.Load()-n, err)
		}
		if behind = append(behind, rest...); r == late {
			behind = behind[len(behind)-100:]
			if !reflect.DeepEqual(behind, want) {
				t.Error("the late reader gives something else than the file")
			}
			behind = nil
		}
		if f := r.Facts(); !reflect.DeepEqual(f, facts) {
			t.Errorf("facts of a live reader: %+v, of the file: %+v", f, facts)
		}
	}
	if rest, err := drain(swift); err != nil || len(rest) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("the swift reader gives something else than the file: %v", err)
	}
}

// What is read is, byte for byte, what is in the file, whatever is held of it.
func TestTailHasTheBytesOfTheFile(t *testing.T) {
	for name, limit := range map[string]int64{"little": 4 << 10, "some": 100 << 10, "all": 0, "nothing": -1} {
		t.Run(name, func(t *testing.T) {
			l := create(t, Options{NoTicks: true, Tail: limit})
			r, below := liveReader(t, l)
			live := r.src.(*fileSource).file
			all := pushes(t, 50)
			for i := range 60 {
				hasten(t, l, pushAt(all, i))
				want, err := os.ReadFile(l.Path())
				if err != nil {
					t.Fatal(err)
				}
				if n, _ := live.size(); n != int64(len(want)) {
					t.Fatalf("%d bytes are committed, %d in the file", n, len(want))
				}
				if v := l.w.file.tail.view.Load(); len(v.chunks) > l.tail.limit || limit > 0 && len(v.chunks)*l.tail.chunk > int(limit) {
					t.Fatalf("%d pieces of %d bytes are held", len(v.chunks), l.tail.chunk)
				}
				for range 30 {
					at, n := int(r.first)+rand.IntN(len(want)), rand.IntN(8<<10)
					b := make([]byte, n)
					got, err := live.ReadAt(b, int64(at))
					end := min(at+n, len(want))
					if !bytes.Equal(b[:got], want[min(at, end):end]) || (got < n) != (err != nil) || err != nil && !errors.Is(err, io.EOF) {
						t.Fatalf("%d bytes at %d of %d: %d bytes, %v", n, at, len(want), got, err)
					}
				}
			}
			if name == "all" && below.reads.Load() > 0 {
				t.Error("the file was read where all of it is held")
			}
		})
	}
}

// Ten readers of a recording in segments, some of which start late or read
// slowly, each give what the file gives.
func TestLiveReadersAcrossSegments(t *testing.T) {
	l, write := rotating(t, Options{Tail: 60_000})
	var wg sync.WaitGroup
	live := make([][]session.Entry, 10)
	facts := make([]Facts, len(live))
	const entries = 150
	for i := range live {
		wg.Go(func() {
			until(t, "enough is written", func() bool { return l.Stats().Entries >= uint64(i)*12 })
			r, err := l.Reader()
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Close()
			r.Follow(true)
			for e, err := range r.Entries(context.Background()) {
				if err != nil {
					t.Errorf("reader %d: %v", i, err)
					return
				}
				live[i] = append(live[i], e)
				if i%3 == 2 && len(live[i])%10 == 0 { // it falls behind
					ahead := min(uint64(len(live[i])+40), entries)
					until(t, "more is written", func() bool { return l.Stats().Entries >= ahead })
				}
			}
			facts[i] = r.Facts()
		})
	}
	for range entries {
		write()
	}
	closeLog(t, l)
	wg.Wait()
	want, all := readAll(t, l.Path())
	if n := len(segmentsOf(t, l.Path())); n < 4 || len(want) != entries {
		t.Fatalf("%d segments, %d entries", n, len(want))
	}
	for i := range live {
		if !reflect.DeepEqual(live[i], want) || !reflect.DeepEqual(facts[i], all) {
			t.Errorf("reader %d gives %d entries, %+v; the file %d, %+v", i, len(live[i]), facts[i], len(want), all)
		}
	}
	if n := l.tail.readers.Load(); n != 0 {
		t.Errorf("%d readers are left", n)
	}
}

// Where a write fails, or a block goes to the file piece by piece, a reader sees
// what was committed and nothing after.
func TestLiveReaderStopsAtTheCommit(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{NoTicks: true})
	r, _ := liveReader(t, l)
	r.Follow(false)
	look := func(want int) {
		t.Helper()
		got, err := drain(r)
		if err != nil || len(got) != want {
			t.Errorf("%d entries, want %d, %v", len(got), want, err)
		}
		size, _ := r.src.(*fileSource).size()
		if at := l.Stats().Bytes; r.at != at || size != at {
			t.Errorf("the reader is at %d of %d, committed is %d", r.at, size, at)
		}
	}
	hasten(t, l, message(1, "before"))
	look(1)
	f.set(l.Stats().Bytes+30, syscall.EIO) // a part is written, and stays
	hasten(t, l, message(1, "lost"))
	if n := f.size(t); n != l.Stats().Bytes+30 {
		t.Fatalf("%d bytes in the file, %d committed", n, l.Stats().Bytes)
	}
	look(0)
	f.set(plenty, nil)
	hasten(t, l, message(1, "after")) // and the gap
	until(t, "the gap is written", func() bool { return l.Stats().Gaps == 1 })
	look(2)
	hasten(t, l, message(1, string(noise(3*blocks.SpillSize))))
	look(1)
	hasten(t, l, message(1, "the last"))
	closeLog(t, l)
	look(1)
	if want, facts := readAll(t, f.Name()); len(want) != 5 || !reflect.DeepEqual(r.Facts(), facts) {
		t.Errorf("%+v; the file %+v", r.Facts(), facts)
	}
}

// A log whose file cannot be completed ends for its readers, too.
func TestLiveReaderOfWhatFailsToTheEnd(t *testing.T) {
	f := newFlaky(t)
	l := startOn(t, f, Options{})
	r, _ := liveReader(t, l)
	hasten(t, l, message(1, "there"))
	f.set(0, nil)
	l.Append(message(1, "lost"))
	if err := l.Close(); err == nil {
		t.Error("Close says that all is well")
	}
	if all, err := drain(r); err != nil || len(all) != 1 || r.Facts().Complete {
		t.Errorf("%d entries, %v, %+v", len(all), err, r.Facts())
	}
}

// A reader is woken by the commit: it does not look from time to time.
func TestLiveReaderIsWoken(t *testing.T) {
	f := newFlaky(t)
	synctest.Test(t, func(t *testing.T) {
		l, err := start(f.Name(), f, Options{NoTicks: true, SyncEvery: -1})
		if err != nil {
			t.Fatal(err)
		}
		ring, err := NewRing(Options{NoTicks: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []*Log{l, ring} {
			r, err := l.Reader()
			if err != nil {
				t.Fatal(err)
			}
			r.Follow(true)
			begun := time.Now()
			time.AfterFunc(pollEvery/3, func() { l.Append(message(1, "x")) })
			if _, err := r.Next(t.Context()); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took != pollEvery/3+flushAfter {
				t.Errorf("it came after %s", took)
			}
			begun = time.Now()
			time.AfterFunc(pollEvery/3, func() { _ = l.Close() })
			if _, err := r.Next(t.Context()); !errors.Is(err, io.EOF) || time.Since(begun) != pollEvery/3 {
				t.Errorf("the end came after %s: %v", time.Since(begun), err)
			}
			if err := errors.Join(l.Close(), r.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A log that nobody reads keeps nothing, nor does one that nobody reads any
// more.
func TestTailIsHeldForReaders(t *testing.T) {
	l := create(t, Options{NoTicks: true})
	held := func() int { return len(l.w.file.tail.view.Load().chunks) }
	hasten(t, l, message(1, "nobody"))
	if held() != 0 {
		t.Error("it is held for nobody")
	}
	r := readerFrom(t, l)
	hasten(t, l, message(1, "somebody"))
	if held() == 0 {
		t.Error("it is not held for a reader")
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	hasten(t, l, message(1, "nobody"))
	if held() != 0 || l.tail.held != 0 {
		t.Error("it is held for a reader that is gone")
	}
}
