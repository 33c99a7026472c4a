package recorder

import (
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// ringOf is a ring, and a way to write to it as to a file.
func ringOf(t *testing.T, o Options) (l *Log, write func(session.Entry)) {
	t.Helper()
	o.NoTicks = true
	l, err := NewRing(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, func(e session.Entry) {
		l.Append(e)
		settle(l)
	}
}

func readerFrom(t *testing.T, l *Log) *Reader {
	t.Helper()
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// pushAt is a push with a time and something of its own.
func pushAt(all []session.Chunks, i int) session.Entry {
	e := response(append(session.Chunks{noise(3000 + i)[i:]}, all[i%len(all)]...))
	e.Time = time.Unix(1e9+int64(i), 0).UTC()
	return e
}

// A ring, a file, and readers that were there from the start give the same
// entries.
func TestRingIsLikeAFile(t *testing.T) {
	file := create(t, Options{NoTicks: true})
	ring, write := ringOf(t, Options{})
	var wg sync.WaitGroup
	live := make([][]session.Entry, 10)
	for i := range live {
		r := readerFrom(t, []*Log{file, ring}[i%2])
		r.Follow(true)
		wg.Go(func() {
			var err error
			if live[i], err = drain(r); err != nil || !r.Facts().Complete {
				t.Errorf("reader %d: %v, %+v", i, err, r.Facts())
			}
		})
	}
	all := pushes(t, 50)
	for i := range 200 {
		e := pushAt(all, i)
		file.Append(e)
		write(e)
	}
	closeLog(t, file)
	closeLog(t, ring)
	wg.Wait()
	want, _ := readAll(t, file.Path())
	got, err := drain(readerFrom(t, ring))
	if err != nil || len(want) != 200 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d entries in the ring, %d in the file, %v", len(got), len(want), err)
	}
	for i := range live {
		if !reflect.DeepEqual(live[i], want) {
			t.Errorf("reader %d has %d entries", i, len(live[i]))
		}
	}
}

// A ring drops its oldest segments, keeps what it is told to carry, and its
// memory is bounded.
func TestRingDrops(t *testing.T) {
	const memory = 400 << 10
	var newest session.Seq
	l, write := ringOf(t, Options{
		Memory: memory, Transform: func(e *session.Entry) { newest = e.Seq },
		Carry: func() []session.Seq { return []session.Seq{1, newest} },
	})
	slow := readerFrom(t, l)
	all := pushes(t, 50)
	for i := range 400 {
		write(pushAt(all, i))
		if n := l.store.(*ring).bytes(); n > memory+memory/ringParts {
			t.Fatalf("it takes up %d bytes", n)
		}
	}
	closeLog(t, l)
	for name, r := range map[string]*Reader{"after": readerFrom(t, l), "slow": slow} {
		got, err := drain(r)
		f := r.Facts()
		if err != nil || !f.Complete || f.Lost == 0 || len(got) < 20 || got[len(got)-1].Seq != 400 || got[0].Seq != 1 {
			t.Errorf("%s: %d entries, %+v, %v", name, len(got), f, err)
		}
		if name == "after" && (!got[0].Carried || got[2].Carried || f.Lost != uint64(got[2].Seq-1)) {
			t.Errorf("%s: it begins with %d, %d, %+v", name, got[0].Seq, got[2].Seq, f)
		}
		if err := r.Seek(399); err != nil {
			t.Fatal(err)
		}
		if got, err := drain(r); err != nil || len(got) != 2 {
			t.Errorf("%s: from 399 on %d entries, %v", name, len(got), err)
		}
	}
}

func (r *ring) bytes() (total int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.parts {
		n, _ := p.size()
		total += n
	}
	return total
}

// The oldest segments go when all of them, with room for the newest to grow, exceed the memory; the newest stays.
func TestRingForgets(t *testing.T) {
	for _, tc := range []struct {
		sizes []int // the newest is the last
		left  int
	}{
		{[]int{100, 300, 300}, 3},
		{[]int{101, 300, 300}, 2},
		{[]int{900, 100, 300, 300}, 3},
		{[]int{300, 300, 701}, 1},
		{[]int{1, 700}, 1},
		{[]int{900}, 1},
	} {
		r := &ring{limit: 800}
		for _, n := range tc.sizes {
			r.parts = append(r.parts, &ringPart{b: make([]byte, n)})
		}
		newest := r.parts[len(r.parts)-1]
		if err := r.forget(0, nil); err != nil || len(r.parts) != tc.left || r.parts[len(r.parts)-1] != newest {
			t.Errorf("of %v are left %d, want %d: %v", tc.sizes, len(r.parts), tc.left, err)
		}
	}
}

// What is held stays, whatever the ring drops.
func TestRingHolds(t *testing.T) {
	l, write := ringOf(t, Options{Memory: 64 << 10})
	all := []session.Chunks{{noise(2000)}}
	for i := range 10 {
		write(pushAt(all, i))
	}
	open := l.Hold()
	for i := range 200 {
		write(pushAt(all, 10+i))
	}
	for range 2 {
		r, err := open()
		if err != nil {
			t.Fatal(err)
		}
		e, err := r.Next(t.Context())
		if err != nil || e.Seq != 1 {
			t.Errorf("it begins with entry %d, %v", e.Seq, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if e, err := readerFrom(t, l).Next(t.Context()); err != nil || e.Seq == 1 {
		t.Errorf("the ring begins with entry %d, %v: it has dropped nothing", e.Seq, err)
	}
}
