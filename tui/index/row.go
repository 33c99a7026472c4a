package index

import (
	"math"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/engine"

	"github.com/xdsproxy/xdsproxy/session"
)

// Row is what is kept of an entry that has a line: 64 bytes.
type Row struct {
	Seq  session.Seq
	Time int64 // nanoseconds since 1970

	place   uint32 // where it belongs to, in the table of places
	client  uint32 // its client, in the table of words; 0: see its place
	version uint32 // in the arena; of an entry that is no message, its text
	nonce   uint32 // in the arena
	partner uint32 // how many numbers away the answer, or what is answered, is; 0: not known
	waited  uint32 // microseconds until the answer, or that the answer took; 0: not known

	accepted uint32 // how many numbers away the response is that the client had accepted last; 0: none, or not known
	before   uint32 // of a response: how many numbers away the one of its type before it is, on its stream; 0: none

	Size  uint32 // of the message, in bytes
	Count int32  // resources or names; check.Everything, or None
	typ   uint16 // in the table of words

	Kind     session.Kind
	Side     session.Side
	What     What // the foremost word
	Severity Severity
	also     uint8 // a bit for each further word
	Flags    Flags
}

// None is the Count of an entry that is about no resource.
const None = math.MinInt32

// What is a word for what a message does.
type What uint8

// The words of package check, by number, in the order of their rank.
const (
	Nothing What = iota
	NACK
	ACK
	SUB
	UNSUB
	REQ
	RESP
	DELTA
)

func (w What) String() string { return words()[w] }

func words() [8]string {
	return [...]string{"", engine.NACK, engine.ACK, engine.SUB, engine.UNSUB, engine.REQ, engine.RESP, engine.DELTA}
}

func whatOf(word string) What {
	for i, w := range words() {
		if w == word {
			return What(i)
		}
	}
	return Nothing
}

// Request says whether a client sends such messages.
func (w What) Request() bool { return w >= NACK && w <= REQ }

// Response says whether a server sends such messages.
func (w What) Response() bool { return w >= RESP }

// Severity is that of the gravest finding that an entry proves, 0 if it proves
// none, else that of check and one.
type Severity uint8

// Flags are facts about an entry.
type Flags uint8

// What is known about the entry itself.
const (
	Masked Flags = 1 << iota
	Truncated
	Troubled  // it has problems
	Uncertain // what it does is a guess
	Aside     // it is an event that matters: a gap, a note, an end with an error
	Unread    // of a row that is not in the index yet: what is known is what the entry itself says
	Bare      // its client had accepted nothing of the type before
	Pulse     // it only prolongs what there is
)

// At is when the entry was complete.
func (r *Row) At() time.Time { return time.Unix(0, r.Time) }

// Waited is how long the answer took, 0 if that is not known.
func (r *Row) Waited() time.Duration { return time.Duration(r.waited) * time.Microsecond }

// Partner is the answer to a response, or the response that an ACK or a NACK
// answers; 0 if it is not known.
func (r *Row) Partner() session.Seq {
	switch {
	case r.partner == 0:
		return 0
	case r.What.Response():
		return r.Seq + session.Seq(r.partner)
	}
	return r.Seq - session.Seq(r.partner)
}

// Also says whether the word applies beside the foremost one.
func (r *Row) Also(w What) bool { return r.also&(1<<w) != 0 }

// away is how many numbers an entry is before another, 0 if that is too far.
func away(seq, from session.Seq) uint32 {
	if seq == 0 || seq >= from || from-seq > math.MaxUint32 {
		return 0
	}
	return uint32(from - seq)
}

func saturate[N uint64 | int64](n N) uint32 {
	return uint32(min(uint64(n), math.MaxUint32))
}
