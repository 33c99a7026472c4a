package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// prefixLen is the length of gRPC's message prefix: one byte that says whether
// the message is compressed, four for its length.
const prefixLen = 5

// maxChunk is the largest piece that a message is kept in, in bytes.
const maxChunk = session.BufferSize

// recv assembles what one side sends on one stream. It belongs to the
// direction's goroutine.
type recv struct {
	stream *stream
	// lingers is set once the other side has reset the stream: a message is
	// still followed to its end, but nothing waits for that.
	lingers  bool
	resetAt  time.Time
	framing  framing
	encoding string
	http     int // :status of a response

	prefix  [prefixLen]byte
	nprefix int
	inside  bool // counted in half.partial

	start      time.Time // of the message's first byte
	compressed bool
	size       int64 // of the message; -1: until the end of the stream
	got        int64
	kept       int64 // bytes in chunks
	chunks     session.Chunks
	first      [1][]byte // where chunks begins, so that one chunk allocates no list
	taken      int64     // of the budget
	hash       hash.Hash // not nil: the message is not kept whole
}

// data takes the next bytes of the stream's DATA.
func (r *recv) data(h *half, at time.Time, p []byte) {
	for len(p) > 0 {
		if r.framing != framingGRPC {
			if r.framing == framingLost {
				if !h.regains(p) {
					return
				}
				h.find(r)
			}
			if r.framing == framingBody || !r.sniff(p) {
				r.bodyData(h, at, p)
				return
			}
		}
		if r.nprefix < prefixLen {
			if r.nprefix == 0 {
				r.start = at
				r.enter(h)
			}
			k := copy(r.prefix[r.nprefix:], p)
			r.nprefix += k
			p = p[k:]
			if r.nprefix < prefixLen {
				return
			}
			r.compressed = r.prefix[0]&1 != 0
			r.begin(int64(binary.BigEndian.Uint32(r.prefix[1:])))
		}
		k := int(min(r.size-r.got, int64(len(p))))
		r.keep(h, p[:k])
		p = p[k:]
		if r.got == r.size {
			r.emit(h, at, "")
		}
	}
}

// sniff decides the framing of a stream whose headers are unknown, by whether
// its first byte can begin a length-prefixed message.
func (r *recv) sniff(p []byte) bool {
	if p[0] <= 1 {
		r.framing = framingGRPC
		return true
	}
	r.framing = framingBody
	return false
}

func (r *recv) bodyData(h *half, at time.Time, p []byte) {
	if !r.inside {
		r.start = at
		r.enter(h)
		r.compressed = r.encoding != "" && r.encoding != "identity"
		r.begin(-1)
	}
	r.keep(h, p)
}

func (r *recv) enter(h *half) {
	r.inside = true
	if !r.lingers {
		h.partial++
	}
}

// begin starts a message of the given size, or of unknown size if it is -1.
func (r *recv) begin(size int64) {
	r.size, r.got = size, 0
	if size > maxMessage {
		r.hash = sha256.New()
	}
}

// keep stores the next bytes of the message, or only their hash if it is too
// large.
func (r *recv) keep(h *half, p []byte) {
	r.got += int64(len(p))
	if r.hash == nil && r.size < 0 && r.got > maxMessage {
		r.overflow(h)
	}
	if r.hash != nil {
		r.hash.Write(p)
		// What is kept is the beginning: nothing is added behind a hole.
		if room := keepPrefix - r.kept; room > 0 && r.kept == r.got-int64(len(p)) {
			r.store(h, p[:min(room, int64(len(p)))])
		}
		return
	}
	if rest := r.store(h, p); len(rest) > 0 {
		r.overflow(h)
		r.hash.Write(rest)
	}
}

// store copies p into chunks and returns what the budget had no room for. What
// it allocates is bounded by what has arrived: a chunk is no larger than all
// bytes of the message so far.
func (r *recv) store(h *half, p []byte) (rest []byte) {
	if n := len(r.chunks); n > 0 {
		last := r.chunks[n-1]
		k := min(cap(last)-len(last), len(p))
		r.chunks[n-1] = append(last, p[:k]...)
		r.kept += int64(k)
		p = p[k:]
	}
	if len(p) == 0 {
		return nil
	}
	size := max(int64(len(p)), min(r.got, maxChunk))
	if r.size >= 0 {
		size = min(size, r.size-r.got+int64(len(p)))
	}
	if !h.tap.cfg.Memory.take(size) {
		return p
	}
	chunk := h.tap.cfg.Buffers.Get(size)
	if more := int64(cap(chunk)) - size; more > 0 {
		if h.tap.cfg.Memory.take(more) {
			size += more
		} else {
			chunk = make([]byte, 0, size)
		}
	}
	r.taken += size
	r.kept += int64(len(p))
	if r.chunks == nil {
		r.chunks = r.first[:0]
	}
	r.chunks = append(r.chunks, append(chunk, p...))
	return nil
}

// overflow gives up on keeping the message whole: from here on its bytes are
// hashed, and of what was kept only the beginning stays.
func (r *recv) overflow(h *half) {
	r.hash = sha256.New()
	chunks, taken := r.chunks, r.taken
	r.chunks, r.taken, r.kept = nil, 0, 0
	for _, c := range chunks {
		r.hash.Write(c)
		if room := keepPrefix - r.kept; room > 0 {
			c = append([]byte(nil), c[:min(room, int64(len(c)))]...)
			r.chunks = append(r.chunks, c)
			r.kept += int64(len(c))
			r.taken += int64(cap(c))
		}
	}
	h.tap.cfg.Memory.give(taken - r.taken)
}

// emit appends the message, or what there is of it if problem is not empty.
func (r *recv) emit(h *half, at time.Time, problem string) {
	// One allocation for the message and the list of its usually only chunk.
	box := &struct {
		m     session.Message
		first [1][]byte
	}{}
	m := &box.m
	if len(r.chunks) == 1 {
		box.first[0] = r.chunks[0]
		m.Data = box.first[:]
	} else {
		m.Data = r.chunks
	}
	m.WireSize = r.got // of what was announced, that which came
	m.Size = m.WireSize
	if r.compressed {
		m.Encoding, m.Compressed = r.encoding, true
	}
	e := h.entry(at, r.stream, session.KindMessage)
	e.Message = m
	if !r.start.Equal(at) {
		e.Start = r.start
	}
	switch {
	case problem != "":
		m.Truncated = true
		e.Problems = []string{problem}
	case r.hash != nil:
		m.Truncated = true
		e.Problems = []string{fmt.Sprintf("message of %d bytes is too large to keep whole", m.WireSize)}
	}
	if m.Truncated {
		if r.hash == nil {
			r.hash = sha256.New()
			for _, c := range r.chunks {
				r.hash.Write(c)
			}
		}
		m.Hash = r.hash.Sum(nil)
	}
	h.tap.append(e)
	r.release(h)
}

// release makes ready for the next message.
func (r *recv) release(h *half) {
	h.tap.cfg.Memory.give(r.taken)
	r.taken, r.chunks, r.first[0], r.hash = 0, nil, nil, nil
	r.nprefix, r.size, r.got, r.kept = 0, 0, 0, 0
	r.inside = false
	if !r.lingers {
		h.partial--
	}
}

// finish is called at the regular end of the stream.
func (r *recv) finish(h *half, at time.Time) {
	if r.inside && r.size < 0 {
		r.emit(h, at, "")
		return
	}
	r.abort(h, at, "the stream ended")
}

// abort is called where no more bytes of the stream will come.
func (r *recv) abort(h *half, at time.Time, reason string) {
	if !r.inside {
		return
	}
	if r.size < 0 {
		r.emit(h, at, fmt.Sprintf("%s after %d bytes of a body", reason, r.got))
		return
	}
	if r.nprefix < prefixLen {
		r.emit(h, at, fmt.Sprintf("%s inside a message's length prefix", reason))
		return
	}
	r.emit(h, at, fmt.Sprintf("%s after %d bytes of a message that was announced with %d", reason, r.got, r.size))
}
