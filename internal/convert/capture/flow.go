package capture

import (
	"slices"
	"time"
)

const (
	// maxAhead is how many bytes of a direction wait for some before them, and
	// maxPieces in how many pieces.
	maxAhead  = 4 << 20
	maxPieces = 4096
	// maxWait is how much later, by the capture, a segment may be than one that
	// follows it.
	maxWait = 2 * time.Second
)

// flow puts what one end of a TCP connection sends in order. Sequence numbers are
// compared by their distance (RFC 9293 3.4).
type flow struct {
	begun bool
	first uint32    // of the first byte
	next  uint32    // of the byte that comes next
	ahead []piece   // by their numbers; none is wholly in the one before
	bytes int       // in them
	since time.Time // when the first of them came
	ended bool      // by FIN, whose number is end
	end   uint32
}

type piece struct {
	seq  uint32
	data []byte
}

// before says how far a is before b.
func before(a, b uint32) int { return int(int32(b - a)) }

// begin says where the bytes begin.
func (f *flow) begin(seq uint32) { f.begun, f.first, f.next = true, seq, seq }

// take takes a segment, and gives to feed what is in order, in the pieces in which
// it came.
func (f *flow) take(at time.Time, seq uint32, data []byte, feed func([]byte)) {
	switch n := before(f.next, seq); {
	case n <= 0:
		if -n < len(data) {
			feed(data[-n:])
			f.next = seq + uint32(len(data))
		}
		f.drain(feed)
	case len(data) > 0:
		f.keep(at, seq, data)
	}
}

// keep lets a piece wait.
func (f *flow) keep(at time.Time, seq uint32, data []byte) {
	if len(f.ahead) == 0 {
		f.since = at
	}
	i, _ := slices.BinarySearchFunc(f.ahead, seq, func(p piece, seq uint32) int { return -before(p.seq, seq) })
	if i > 0 && before(seq+uint32(len(data)), f.ahead[i-1].seq+uint32(len(f.ahead[i-1].data))) >= 0 ||
		i < len(f.ahead) && f.ahead[i].seq == seq && len(f.ahead[i].data) >= len(data) {
		return // it came again
	}
	f.ahead = slices.Insert(f.ahead, i, piece{seq, slices.Clone(data)})
	f.bytes += len(data)
}

// drain gives what has come into order.
func (f *flow) drain(feed func([]byte)) {
	i := 0
	for ; i < len(f.ahead); i++ {
		p := f.ahead[i]
		n := before(f.next, p.seq)
		if n > 0 {
			break
		}
		f.bytes -= len(p.data)
		if -n < len(p.data) {
			feed(p.data[-n:])
			f.next = p.seq + uint32(len(p.data))
		}
	}
	f.ahead = slices.Delete(f.ahead, 0, i)
	if len(f.ahead) == 0 {
		f.ahead = nil
	}
}

// full says that no more is to wait.
func (f *flow) full(at time.Time) bool {
	return f.bytes > maxAhead || len(f.ahead) > maxPieces || len(f.ahead) > 0 && at.Sub(f.since) > maxWait
}

// skip gives up on what is missing before the first piece that waits: it says to
// lost how much that is, and goes on with what waits.
func (f *flow) skip(at time.Time, lost func(n int), feed func([]byte)) {
	if len(f.ahead) == 0 {
		return
	}
	lost(before(f.next, f.ahead[0].seq))
	f.next, f.since = f.ahead[0].seq, at
	f.drain(feed)
}

// over says that all came, up to the FIN.
func (f *flow) over() bool { return f.ended && before(f.next, f.end) <= 0 }
