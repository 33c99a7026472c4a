package blocks

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// inPlace makes messages of chunks that stay where they are in memory: as a
// Transform does that gives what it gave before, all edits that it may meet
// included.
func inPlace(rng *rand.Rand, op byte, c session.Chunks, n int) session.Chunks {
	c = slices.Clone(c)
	at := func() int { return rng.IntN(len(c)) }
	fresh := func() []byte { return fmt.Appendf(nil, "%s, number %d", clusterText(rng.IntN(500)), n) }
	switch op % 9 {
	case 1:
		c[at()] = fresh()
	case 2:
		i := at()
		c = slices.Delete(c, i, min(i+1+rng.IntN(12), len(c)))
	case 3:
		i := at()
		c = slices.Insert(c, i, c[at()], fresh(), c[at()])
	case 4:
		rng.Shuffle(len(c), func(a, b int) { c[a], c[b] = c[b], c[a] })
	case 5:
		c[at()] = fmt.Appendf(nil, "nonce %d", n)
	case 6: // the beginning of another chunk, in the same place
		if i := at(); len(c[i]) > 100 {
			c[i] = c[i][:len(c[i])-rng.IntN(3)]
		}
	case 7:
		c = append(c[rng.IntN(10):], nil, fresh())
	case 8:
		for range 30 {
			c[at()] = fresh()
		}
	}
	if len(c) < 2*longRow {
		c = append(c, resources(longRow)...)
	}
	return c[:min(len(c), 400)]
}

// A chunk that is known by where it is, is recorded as one that is known by what
// it is: the file has the same bytes.
func FuzzLately(f *testing.F) {
	f.Add(uint64(1), []byte{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 18, 27, 0x40, 0x80, 0x41, 0xc0, 0})
	f.Add(uint64(2), bytes.Repeat([]byte{0, 0x43, 1, 0x82, 5}, 12))
	f.Add(uint64(3), bytes.Repeat([]byte{4, 0, 6}, 12))
	f.Fuzz(func(t *testing.T, seed uint64, ops []byte) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var failed error
		var left [2]int // calls of each hook until it panics
		var files [2]failing
		var logs [2]*Writer
		for i := range logs {
			files[i].err = &failed
			var err error
			logs[i], err = New(&files[i], &format.FileHeader{Created: time.Unix(1, 0)}, func(chunk []byte) []byte {
				if left[i]--; left[i] == 0 {
					panic("the hook failed")
				}
				if len(chunk) > 100 && chunk[57]%7 == 0 {
					chunk = bytes.Clone(chunk)
					chunk[60] = '*'
				}
				return chunk
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		all := make([]session.Chunks, 12)
		for i := range all {
			all[i] = resources(100 + 10*i)
		}
		at := 0
		for n, op := range ops[:min(len(ops), 100)] {
			if op&0xc0 != 0 {
				at = rng.IntN(len(all))
			}
			all[at] = inPlace(rng, op&0x3f, all[at], n)
			failed = nil
			if rng.IntN(10) == 0 {
				failed = syscall.ENOSPC
			}
			left[0] = rng.IntN(300)
			left[1] = left[0]
			for i, b := range logs {
				c := slices.Clone(all[at])
				for k := range c {
					if i == 1 {
						c[k] = bytes.Clone(c[k])
					}
				}
				e := response(c)
				e.Seq, e.Time = session.Seq(n+1), time.Unix(int64(n), 0)
				_, err := b.Measure(&e)
				if p := (*PanicError)(nil); err != nil && !errors.As(err, &p) {
					t.Fatal(err)
				}
				b.Add(&e, nil)
				if n%3 == 0 {
					_ = b.Commit()
				}
			}
			checkLately(t, &logs[0].Known)
		}
		failed = nil
		for _, b := range logs {
			if err := b.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := b.Finish(1000); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(files[0].b, files[1].b) {
			t.Error("the files differ")
		}
	})
}

// failing is a file in memory that fails when it is told to.
type failing struct {
	memory
	err *error
}

func (m *failing) WriteAt(p []byte, at int64) (int, error) {
	if *m.err != nil {
		return 0, *m.err
	}
	return m.memory.WriteAt(p, at)
}

// checkLately looks whether each row tells the truth, and how much is held.
func checkLately(t *testing.T, c *contents) {
	t.Helper()
	if len(c.lately.rows) > maxRows {
		t.Errorf("%d rows", len(c.lately.rows))
	}
	for _, r := range c.lately.rows {
		if len(r.chunks) != len(r.ids) {
			t.Fatalf("%d chunks, %d contents", len(r.chunks), len(r.ids))
		}
		for i, chunk := range r.chunks {
			if id := int(r.ids[i]); id == none != (chunk == nil) {
				t.Fatalf("content %d is %q", id, chunk)
			} else if id != none {
				if _, found := c.find(chunk); found != id {
					t.Fatalf("content %d is taken for %d", found, id)
				}
			}
		}
	}
}

// What is kept alive is bounded, and what comes again stays while others come
// once.
func TestLatelyIsBounded(t *testing.T) {
	var never error
	b, err := New(&failing{err: &never}, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	give := func(c session.Chunks) {
		e := response(c)
		e.Seq, e.Time = b.Last+1, time.Unix(1, 0)
		if _, err := b.Measure(&e); err != nil {
			t.Fatal(err)
		}
		b.Add(&e, nil)
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, r := range b.Known.lately.rows {
			sum += r.chunks.Len()
		}
		if n := len(b.Known.lately.rows); sum > maxRowBytes || n > maxRows {
			t.Fatalf("%d bytes in %d rows", sum, n)
		}
	}
	often := resources(100)
	give(often)
	give(often)
	row := b.Known.lately.rows[0]
	for i := range 20 {
		c := make(session.Chunks, 100)
		for k := range c {
			c[k] = noise(1000 << (i % 7))
			c[k][0], c[k][1] = byte(i), byte(k)
		}
		give(c)
		give(often)
		if !slices.Contains(b.Known.lately.rows, row) || !row.used {
			t.Fatalf("after %d others it is forgotten", i)
		}
	}
	if !reflect.DeepEqual(row.chunks, often) {
		t.Error("the row is another")
	}
}

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if grow := int(at) + len(p) - len(m.b); grow > 0 {
		m.b = append(m.b, make([]byte, grow)...)
	}
	return copy(m.b[at:], p), nil
}

func (m *memory) Truncate(n int64) error { m.b = m.b[:n]; return nil }
func (m *memory) Close() error           { return nil }

func clusterText(i int) string {
	return fmt.Sprintf("outbound|8080||service-%06d.namespace-%03d.svc.cluster.local %0200d", i, i%200, i)
}

// resources are n chunks as a Transform would make them of a response.
func resources(n int) session.Chunks {
	c := make(session.Chunks, n)
	for i := range c {
		c[i] = []byte(clusterText(i))
	}
	return c
}

func response(c session.Chunks) session.Entry {
	return session.Entry{
		Kind: session.KindMessage, Side: session.Server, Conn: 1, Stream: 1,
		Message: &session.Message{Data: c, Size: c.Len(), WireSize: c.Len()},
	}
}

// noise is n bytes that cannot be compressed.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}
