// Package ranges reads an object by ranges, with few requests: none asks for more than
// is likely to be wanted, and what is kept in memory of the answers is bounded. The
// package does not know what the bytes are.
package ranges

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// chunk is what is kept and let go of as one. Requests begin and end at
	// multiples of it.
	chunk = 64 << 10
	// most is the longest request, which is also how far is read ahead at most.
	most = 1 << 20
	// keep is how much of one object is in memory.
	keep = 4 << 20
)

// Options say how an object is read. The zero value is good.
type Options struct {
	Name string // for errors
	// Temporary says of which errors the same request may be tried again; nil: of
	// none.
	Temporary func(error) bool
	// Wait is told when a request takes long, or is tried again, once; may be nil.
	Wait func(why error)
	// Pause is how long the first wait between two tries is, Slow how long a request
	// may take before Wait is told; 250 ms and 10 s if 0.
	Pause, Slow time.Duration
	// Tries is how often a request is tried; 5 if 0.
	Tries int
	// Count is told how many bytes a request gave; may be nil.
	Count func(n int)
}

// File is an object that is read. It does not change its size.
type File struct {
	ctx   context.Context
	src   io.ReaderAt
	close func() error
	size  int64
	o     Options

	mu     sync.Mutex
	chunks map[int64]*held // by their number
	clock  uint64          // of uses
	next   int64           // where the last request ended
	window int64           // how much the next request reads if it goes on there
	from   int64           // what was said to be read next
	to     int64

	requests, fetched int64
}

type held struct {
	b    []byte
	used uint64
}

// New reads src, which has size bytes and is let go of by close, until ctx ends.
func New(ctx context.Context, src io.ReaderAt, size int64, close func() error, o Options) *File {
	if o.Pause == 0 {
		o.Pause = 250 * time.Millisecond
	}
	if o.Slow == 0 {
		o.Slow = 10 * time.Second
	}
	if o.Tries == 0 {
		o.Tries = 5
	}
	return &File{ctx: ctx, src: src, close: close, size: size, o: o, chunks: make(map[int64]*held), next: -1}
}

// Size is that of the object.
func (f *File) Size() int64 { return f.size }

// Close lets go of the object.
func (f *File) Close() error {
	f.Park()
	return f.close()
}

// Park lets go of what is in memory.
func (f *File) Park() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.chunks)
}

// Expect says that n bytes from at on are read next: they are fetched at once.
func (f *File) Expect(at, n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.from, f.to = at, min(at+max(n, 0), f.size)
}

// Fetched is how many requests were made, and how many bytes came.
func (f *File) Fetched() (requests, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests, f.fetched
}

// ReadAt reads as io.ReaderAt has it.
func (f *File) ReadAt(p []byte, at int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at < 0 {
		return 0, errors.New("there is nothing before the beginning")
	}
	end := at + int64(len(p))
	for n < len(p) {
		pos := at + int64(n)
		if pos >= f.size {
			return n, io.EOF
		}
		h := f.chunks[pos/chunk]
		if h == nil {
			if err := f.fetch(pos, min(end, f.size)); err != nil {
				return n, err
			}
			h = f.chunks[pos/chunk]
		}
		f.clock++
		h.used = f.clock
		n += copy(p[n:], h.b[pos%chunk:])
	}
	return n, nil
}

// fetch gets the chunk that pos is in, and what of those behind it is wanted up to
// end, expected, or likely.
func (f *File) fetch(pos, end int64) error {
	first := pos / chunk * chunk
	if f.from <= pos && pos < f.to {
		end = max(end, f.to)
	}
	switch {
	case first == f.next:
		f.window = min(2*f.window, most)
		end = max(end, first+f.window)
	case f.next >= 0 && first+2*chunk > f.size && f.chunks[first/chunk-1] == nil && first > 0:
		f.window = chunk
		first -= chunk // who looks at the end is interested in what is before it
	default:
		f.window = chunk
	}
	end = min((end+chunk-1)/chunk*chunk, max(pos/chunk*chunk+chunk, first+most), f.size)
	for c := pos/chunk + 1; c*chunk < end; c++ {
		if f.chunks[c] != nil {
			end = c * chunk
		}
	}
	b := make([]byte, end-first)
	if err := f.get(b, first); err != nil {
		return err
	}
	f.next = end
	f.shed(int64(len(b)))
	f.clock++
	for at := first; at < end; at += chunk {
		// Each on its own, so that who keeps one does not keep all.
		f.chunks[at/chunk] = &held{b: append([]byte(nil), b[at-first:min(at+chunk, end)-first]...), used: f.clock}
	}
	return nil
}

// shed makes room for n bytes: what was not used for longest goes.
func (f *File) shed(n int64) {
	for int64(len(f.chunks))*chunk+n > keep && len(f.chunks) > 0 {
		oldest, least := int64(-1), uint64(0)
		for i, h := range f.chunks {
			if oldest < 0 || h.used < least {
				oldest, least = i, h.used
			}
		}
		delete(f.chunks, oldest)
	}
}

// get makes a request, and tries again what may work another time.
func (f *File) get(b []byte, at int64) error {
	pause := f.o.Pause
	for try := 1; ; try++ {
		err := f.request(b, at)
		if err == nil {
			return nil
		}
		if f.ctx.Err() != nil {
			return f.ctx.Err()
		}
		if try == f.o.Tries || f.o.Temporary == nil || !f.o.Temporary(err) {
			return err
		}
		f.wait(err)
		select {
		case <-f.ctx.Done():
			return f.ctx.Err()
		case <-time.After(pause):
		}
		pause *= 2
	}
}

func (f *File) wait(why error) {
	if f.o.Wait != nil {
		f.o.Wait(why)
	}
}

func (f *File) request(b []byte, at int64) error {
	if err := f.ctx.Err(); err != nil {
		return err
	}
	slow := time.AfterFunc(f.o.Slow, func() { f.wait(errSlow) })
	defer slow.Stop()
	f.requests++
	n, err := f.src.ReadAt(b, at)
	f.fetched += int64(n)
	if f.o.Count != nil {
		f.o.Count(n)
	}
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		err = fmt.Errorf("%d bytes came from byte %d on, not %d: %w", n, at, len(b), io.ErrUnexpectedEOF)
		if f.o.Name != "" {
			err = fmt.Errorf("cannot read %s: %w", f.o.Name, err)
		}
		return err
	}
	return err
}

var errSlow = errors.New("it has not answered yet")
