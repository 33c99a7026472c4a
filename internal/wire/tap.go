// Package wire turns the bytes of one connection, both directions, into
// entries.
//
// A Tap is a push parser: it is handed bytes as they pass and appends what it
// understood to a Sink. It starts no goroutine, reads no clock, opens no
// socket and pulls nothing. It changes no byte and refuses none: where it
// cannot follow it says so in a note and lets the bytes go by. It decompresses
// nothing and knows nothing of xDS.
//
// HTTP/2 is RFC 9113 with HPACK of RFC 7541, gRPC's framing is "gRPC over
// HTTP2" of the gRPC project, and HTTP/1.1 (REST-JSON polling) is RFC 9112.
package wire

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Sink takes entries. Append must not block; it assigns the sequence number.
type Sink interface {
	Append(session.Entry) session.Seq
}

// Config is what a Tap needs to know about its surroundings.
type Config struct {
	Conn      session.ConnID
	Sink      Sink
	Midway    bool                    // the beginning of the connection was not seen
	NewStream func() session.StreamID // the next stream id of the session; called from both directions
	Memory    *Memory                 // shared by all taps
	Buffers   *session.Buffers        // for longer messages; nil: memory of their own
	Open      *atomic.Int64           // counts the HTTP/2 streams that are open, of all taps; nil: nobody asks
	// Sent, if not nil, is asked for the header fields with which a request of
	// the client goes on to the server; nil: as they came. It is called by Feed
	// of the client's direction, once for each Open entry, in their order, with
	// the stream id of HTTP/2 or 0. It keeps no reference to fields, and writes
	// nothing to them.
	Sent func(h2 uint32, fields []session.Field) []session.Field
}

// Tap follows one connection. Feed may be called for both directions at the
// same time, but not twice at once for one direction.
type Tap struct {
	cfg    Config
	client half
	server half

	http2    atomic.Bool // the client has sent the preface of HTTP/2
	upgraded atomic.Bool // HTTP/1.1 has given way to another protocol
	unseen   atomic.Bool // a direction is blind: what it opens is not known

	mu      sync.Mutex // guards what the directions share, and nothing else
	streams table
	h1      pending
}

// NewTap returns a tap for a connection of which no byte has been seen.
func NewTap(cfg Config) *Tap {
	t := &Tap{cfg: cfg}
	t.streams.init()
	t.client = half{tap: t, side: session.Client, parse: (*half).sniffClient}
	t.server = half{tap: t, side: session.Server, parse: (*half).sniffServer}
	if cfg.Midway {
		t.client.joinMidway()
		t.server.joinMidway()
	}
	return t
}

// Feed reads the next bytes that one side has sent, which arrived at the given
// time. It keeps no reference to p.
//
// The result is the largest n so that after p[:n] this direction is between
// two messages and between two frames: where it could end without cutting
// anything. It is -1 if there is no such place in p.
func (t *Tap) Feed(from session.Side, at time.Time, p []byte) (boundary int) {
	h := t.half(from)
	defer func() {
		if r := recover(); r != nil {
			h.discard()
			h.goBlind(at, "internal error in the tap: "+crashText(r))
			boundary = len(p)
		}
	}()
	if h.told.Load() {
		h.listen(at)
	}
	if len(h.lingers) > 0 {
		h.expire(at)
	}
	if h.level != levelBlind && t.upgraded.Load() {
		h.silence(at) // the other direction has said why
	}
	return h.feed(at, p)
}

// crashText says what a panic was, without words that may be of the traffic: the
// runtime's own speak of types and numbers only.
func crashText(cause any) string {
	if err, ok := cause.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("panic of type %T", cause)
}

// End says that the connection is over, after the last Feed of both
// directions has returned. Every stream that is still open gets its end, as
// caused by the given side.
func (t *Tap) End(by session.Side, at time.Time, reason string) {
	t.client.end(at)
	t.server.end(at)
	if t.server.h1.unfinished != nil {
		t.h1 = append(t.h1, h1request{stream: t.server.h1.unfinished})
	}
	open := t.streams.drain()
	t.count(-len(open))
	for _, req := range t.h1 {
		open = append(open, req.stream)
	}
	for _, s := range open {
		t.append(session.Entry{
			Time: at, Stream: s.id, H2: s.h2, Side: by, Kind: session.KindCancel,
			Status: &session.Status{Code: -1, Message: reason},
		})
	}
}

func (t *Tap) half(s session.Side) *half {
	if s == session.Client {
		return &t.client
	}
	return &t.server
}

func (t *Tap) append(e session.Entry) {
	e.Conn = t.cfg.Conn
	t.cfg.Sink.Append(e)
}

// level says how much of a direction is still understood. It only falls.
type level uint8

const (
	levelFull        level = iota
	levelHeadersLost       // header blocks are not decoded any more, DATA is
	levelBlind             // nothing is
)

// half is one direction of a connection. Only the goroutine that feeds it
// touches it, except for told.
type half struct {
	tap   *Tap
	side  session.Side
	level level

	// parse consumes bytes in the direction's current protocol and returns the
	// boundary as Feed does. If it returns handover, the rest of p goes to the
	// parse function that it has set.
	parse func(h *half, at time.Time, p []byte) (n int, handover bool)

	sniffed int  // bytes of the HTTP/2 preface seen
	midway  bool // it was joined behind something that was not seen
	frames  framer
	headers headerDecoder
	h1      h1parser
	recv    map[uint32]*recv // by HTTP/2 stream id: what this side is sending
	found   []*recv          // while midway: all of recv that can be followed, and some that could
	partial int              // how many of them, but for lingers, are inside a message
	// lastOpened is the highest stream id that this side has opened.
	lastOpened uint32
	oddPromise bool // a promise that it may not make was told

	strays  int    // notes about streams that nobody opened
	strayed uint32 // the stream of the last

	lingers []*recv     // of recv, those whose stream the other side has reset; oldest first
	news    []uint32    // streams that were reset or removed; guarded by the tap's mutex
	told    atomic.Bool // there is news
}

// feed hands p to the protocol's parser, and again where that changes.
func (h *half) feed(at time.Time, p []byte) int {
	boundary, done := -1, 0
	for done < len(p) || done == 0 {
		n, handover := h.parse(h, at, p[done:])
		if !handover {
			if n >= 0 {
				boundary = done + n
			}
			break
		}
		done += n
		if done == len(p) {
			break
		}
	}
	return boundary
}

// goBlind gives up on this direction.
func (h *half) goBlind(at time.Time, reason string) {
	h.goBlindHint(at, reason, "")
}

func (h *half) goBlindHint(at time.Time, reason, hint string) {
	if h.level == levelBlind {
		return
	}
	h.note(at, session.NoteBlind, reason, hint)
	h.silence(at)
}

// silence makes this direction blind.
func (h *half) silence(at time.Time) {
	h.level = levelBlind
	h.parse = (*half).skip
	h.tap.unseen.Store(true)
	h.abortAll(at, "the tap lost the connection's framing")
}

// loseHeaders gives up on this direction's header blocks.
func (h *half) loseHeaders(at time.Time, reason string) {
	if h.level != levelFull {
		return
	}
	h.level = levelHeadersLost
	h.note(at, session.NoteHeadersLost, reason, "")
}

// skip is the parser of a blind direction: it may end anywhere.
func (h *half) skip(_ time.Time, p []byte) (int, bool) { return len(p), false }

func (h *half) note(at time.Time, code session.NoteCode, text, hint string) {
	h.tap.append(session.Entry{
		Time: at, Side: h.side, Kind: session.KindNote,
		Note: &session.Note{Code: code, Text: text, Hint: hint},
	})
}

// end flushes what is unfinished when the connection is over.
func (h *half) end(at time.Time) {
	h.h1.end(h, at)
	h.abortAll(at, "the connection ended")
}

// discard forgets what is under assembly without looking at it: after a panic
// nothing of it can be trusted.
func (h *half) discard() {
	for _, r := range h.recv {
		h.tap.cfg.Memory.give(r.taken)
	}
	if r := h.h1.recv; r != nil {
		h.tap.cfg.Memory.give(r.taken)
	}
	h.recv, h.lingers, h.h1 = nil, nil, h1parser{}
}

// abortAll flushes every message that is under assembly.
func (h *half) abortAll(at time.Time, reason string) {
	for id, r := range h.recv {
		r.abort(h, at, reason)
		delete(h.recv, id)
	}
	h.lingers = nil
	if r := h.h1.recv; r != nil {
		r.abort(h, at, reason)
		h.h1.unfinished, h.h1.recv = r.stream, nil
	}
}
