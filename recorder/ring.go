package recorder

import (
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
)

const (
	defaultMemory = 64 << 20
	// ringParts is how many segments a ring has: it drops one at a time.
	ringParts = 8
)

// NewRing starts a recording that is kept in memory alone, in segments of which
// the oldest are dropped when all of them exceed Options.Memory. What a single
// entry needs may exceed it. MaxSize and Keep do not apply. It has no path;
// Reader reads it.
func NewRing(o Options) (*Log, error) {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	o.MaxSize, o.Keep = max(o.Memory/ringParts, 1), 0
	r := &ring{limit: o.Memory}
	f, err := r.begin()
	if err != nil {
		return nil, err
	}
	l, err := startIn("", f, o, r)
	if err == nil {
		err = r.install(0)
	}
	return l, err
}

// ring is segments in memory.
type ring struct {
	limit int64

	mu       sync.Mutex
	parts    []*ringPart // the newest is the last
	newest   uint64      // its number
	upcoming *ringPart
}

// Hold is for who reads the log several times and has to find the same each time:
// each call of open reads from the beginning on, as Reader does. What a ring drops
// meanwhile stays in memory until open is let go; of a log in files nothing is
// held.
func (l *Log) Hold() (open func() (*Reader, error)) {
	r, is := l.store.(*ring)
	if !is {
		return l.Reader
	}
	r.mu.Lock()
	held := &ring{parts: slices.Clone(r.parts), newest: r.newest}
	r.mu.Unlock()
	return func() (*Reader, error) { return l.readerOf(held) }
}

func (r *ring) begin() (blocks.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.upcoming = new(ringPart)
	return r.upcoming, nil
}

func (r *ring) abandon(f blocks.File) { _ = f.Close() }

func (r *ring) install(uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts, r.upcoming = append(r.parts, r.upcoming), nil
	r.newest++
	return nil
}

// forget drops the oldest, so that the newest has room to grow.
func (r *ring) forget(int, func([]Old) []uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := r.limit / ringParts
	for i := len(r.parts) - 1; i >= 0; i-- {
		if n, _ := r.parts[i].size(); total+n > r.limit && i < len(r.parts)-1 {
			r.parts = append([]*ringPart(nil), r.parts[i+1:]...)
			break
		} else {
			total += n
		}
	}
	return nil
}

func (r *ring) find(from uint64) (*Reader, error) {
	r.mu.Lock()
	oldest := r.newest - uint64(len(r.parts)) + 1
	from = max(from, oldest)
	if from > r.newest {
		r.mu.Unlock()
		return nil, fs.ErrNotExist
	}
	part := r.parts[from-oldest]
	r.mu.Unlock()
	reader := newFileReader("", part, io.NopCloser(nil))
	return reader, reader.begin()
}

func (r *ring) current() (*Reader, error) {
	r.mu.Lock()
	newest := r.newest
	r.mu.Unlock()
	return r.find(newest)
}

// ringPart is a segment in memory, both as it is written and as it is read.
type ringPart struct {
	mu     sync.RWMutex
	b      []byte
	closed bool
}

func (p *ringPart) WriteAt(b []byte, at int64) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if grow := int(at) + len(b) - len(p.b); grow > 0 {
		p.b = append(p.b, make([]byte, grow)...)
	}
	return copy(p.b[at:], b), nil
}

func (p *ringPart) Truncate(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.b = p.b[:n]
	return nil
}

func (p *ringPart) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	return nil
}

func (p *ringPart) ReadAt(b []byte, at int64) (int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if at >= int64(len(p.b)) {
		return 0, io.EOF
	}
	n := copy(b, p.b[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (p *ringPart) size() (int64, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return int64(len(p.b)), nil
}

func (p *ringPart) waits() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return !p.closed
}
