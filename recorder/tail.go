package recorder

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

const (
	defaultTail = 4 << 20
	// tailChunks is how many pieces what is held comes in: the oldest of them
	// is let go at once.
	tailChunks = 32
)

// tail is what the writer of a log has committed, for the readers of the same
// process: how far each of its files is whole, and, while there is such a
// reader, the last bytes of them. These are the bytes that were written to the
// file; nothing is in memory before it is there. Only the writer's goroutine
// adds to it, and it never waits for a reader: what readers look at is a view
// that does not change, and each commit puts another in its place.
type tail struct {
	chunk   int          // bytes of a piece
	limit   int          // pieces of all parts
	readers atomic.Int32 // that there are; if none, nothing is held

	mu    sync.Mutex  // of parts; nobody does anything slow with it held
	parts []*tailPart // the oldest first
	held  int         // pieces; only the writer uses it
}

// tailPart is the tail of one file, known by its header.
type tailPart struct {
	tail   *tail
	header format.FileHeader
	view   atomic.Pointer[tailView]
}

// tailView is a part after a commit. The file is whole up to end, and from from
// on chunks have its bytes, all but the last of them filled.
type tailView struct {
	from, end int64
	chunks    [][]byte
	over      bool // nothing will come any more
}

// newTail holds limit bytes, the default if 0, nothing if negative.
func newTail(limit int64) *tail {
	if limit == 0 {
		limit = defaultTail
	}
	if limit < tailChunks {
		return &tail{}
	}
	return &tail{chunk: int(limit / tailChunks), limit: tailChunks}
}

// enter says that there is another reader, until leave is called.
func (t *tail) enter() (leave func()) {
	if t == nil {
		return func() {}
	}
	t.readers.Add(1)
	return func() { t.readers.Add(-1) }
}

// begin adds a file, which has this header and is whole up to end.
func (t *tail) begin(h *format.FileHeader, end int64) *tailPart {
	if t == nil {
		return nil
	}
	p := &tailPart{tail: t, header: *h}
	p.view.Store(&tailView{from: end, end: end})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = append(t.parts, p)
	return p
}

// find returns the part of the file with this header; nil if there is none.
func (t *tail) find(h *format.FileHeader) *tailPart {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range t.parts {
		if p.header.Segment == h.Segment && p.header.Created.Equal(h.Created) {
			return p
		}
	}
	return nil
}

// drop removes a part. Who reads it goes on with the file.
func (t *tail) drop(p *tailPart) {
	if t == nil {
		return
	}
	t.held -= len(p.view.Load().chunks)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts = slices.DeleteFunc(t.parts, func(other *tailPart) bool { return other == p })
}

// wrote takes what was put at the end of the file, which is whole up to end now.
// It is nil if it is not at hand any more.
func (p *tailPart) wrote(b []byte, end int64) {
	if p == nil {
		return
	}
	t, v := p.tail, p.view.Load()
	if b == nil {
		t.held -= len(v.chunks)
		p.view.Store(&tailView{from: end, end: end})
		return
	}
	if t.limit == 0 || t.readers.Load() == 0 {
		p.view.Store(&tailView{from: end, end: end})
		t.held -= len(v.chunks)
		t.release(0)
		return
	}
	next := &tailView{from: v.from, end: end, chunks: slices.Clone(v.chunks)}
	for len(b) > 0 {
		n := len(next.chunks)
		if n == 0 || len(next.chunks[n-1]) == t.chunk {
			next.chunks = append(next.chunks, make([]byte, 0, t.chunk))
			t.held++
			n++
		}
		// What a view has of the last piece stays as it is: this is behind it.
		last := &next.chunks[n-1]
		fits := min(len(b), t.chunk-len(*last))
		*last, b = append(*last, b[:fits]...), b[fits:]
	}
	p.view.Store(next)
	t.release(t.limit)
}

// finish says that nothing will come any more.
func (p *tailPart) finish() {
	if p == nil {
		return
	}
	v := *p.view.Load()
	v.over = true
	p.view.Store(&v)
	if len(v.chunks) == 0 {
		p.tail.drop(p)
	}
}

// release lets the oldest pieces go until there are no more than limit.
func (t *tail) release(limit int) {
	for t.held > limit {
		i := slices.IndexFunc(t.parts, func(p *tailPart) bool { return len(p.view.Load().chunks) > 0 })
		if i < 0 {
			return
		}
		p := t.parts[i]
		v := *p.view.Load()
		n := min(t.held-limit, len(v.chunks))
		t.held -= n
		v.from = min(v.from+int64(n)*int64(t.chunk), v.end)
		v.chunks = slices.Clone(v.chunks[n:])
		p.view.Store(&v)
		if v.over && len(v.chunks) == 0 {
			t.drop(p)
		}
	}
}
