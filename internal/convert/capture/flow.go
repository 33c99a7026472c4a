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
	// follows it, and maxAcked than what says that it has arrived.
	maxWait  = 2 * time.Second
	maxAcked = 200 * time.Millisecond
)

// flow puts what one end of a TCP connection sends in order. Sequence numbers are
// compared by their distance (RFC 9293 3.4).
type flow struct {
	begun bool
	first uint32    // of the first byte
	next  uint32    // of the byte that comes next
	acked uint32    // up to which the other end has all
	ahead []piece   // that wait, by their numbers
	bytes int       // in them
	since time.Time // when it showed that bytes are missing; zero: none are
	ended bool      // by FIN, whose number is end
	end   uint32
}

// piece is what a segment brought.
type piece struct {
	at   time.Time
	nth  uint64 // packet of the file
	seq  uint32
	ack  uint32 // up to where its sender had what the other end sent
	data []byte
}

// before says how far a is before b.
func before(a, b uint32) int { return int(int32(b - a)) }

// begin says where the bytes begin.
func (f *flow) begin(seq uint32) { f.begun, f.first, f.next, f.acked = true, seq, seq, seq }

// keep lets a piece wait.
func (f *flow) keep(p piece) {
	i, _ := slices.BinarySearchFunc(f.ahead, p.seq, func(p piece, seq uint32) int { return -before(p.seq, seq) })
	if i > 0 && before(p.end(), f.ahead[i-1].end()) >= 0 ||
		i < len(f.ahead) && f.ahead[i].seq == p.seq && len(f.ahead[i].data) >= len(p.data) {
		return // it came again
	}
	p.data = slices.Clone(p.data)
	f.ahead = slices.Insert(f.ahead, i, p)
	f.bytes += len(p.data)
}

func (p *piece) end() uint32 { return p.seq + uint32(len(p.data)) }

// fresh is what of a piece comes next.
func (f *flow) fresh(seq uint32, data []byte) []byte {
	if n := before(seq, f.next); n > 0 {
		data = data[min(n, len(data)):]
	}
	f.next += uint32(len(data))
	return data
}

// pop takes the first piece that waits, which is in order.
func (f *flow) pop() (time.Time, []byte) {
	p := f.ahead[0]
	f.ahead[0] = piece{}
	if f.ahead = f.ahead[1:]; len(f.ahead) == 0 {
		f.ahead = nil
	}
	f.bytes -= len(p.data)
	return p.at, f.fresh(p.seq, p.data)
}

// ready says that the first piece that waits is in order.
func (f *flow) ready() bool { return len(f.ahead) > 0 && before(f.next, f.ahead[0].seq) <= 0 }

// missing is how many bytes have to come before those that wait, or before those
// that the other end has.
func (f *flow) missing() int {
	switch {
	case !f.begun:
		return 0
	case len(f.ahead) > 0:
		return max(before(f.next, f.ahead[0].seq), 0)
	case f.ended:
		return max(before(f.next, f.end), 0)
	}
	return max(before(f.next, f.acked), 0)
}

// look notes since when bytes are missing, and says whether they will not come.
func (f *flow) look(now time.Time) (late bool) {
	n := f.missing()
	switch {
	case n == 0:
		f.since = time.Time{}
		return false
	case f.since.IsZero():
		f.since = now
	}
	wait := maxWait
	if before(f.next, f.acked) >= n {
		wait = maxAcked
	}
	return now.Sub(f.since) > wait
}

// full says that no more is to wait.
func (f *flow) full() bool { return f.bytes > maxAhead || len(f.ahead) > maxPieces }

// over says that all came, up to the FIN.
func (f *flow) over() bool { return f.ended && before(f.next, f.end) <= 0 }
