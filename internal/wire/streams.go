package wire

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// maxStreams is how many streams of a connection are followed at once.
	maxStreams = 1 << 16
	// lingering is how many streams that one side has reset are followed on,
	// and lingerTime how long, for what the other side had already sent.
	lingering  = 128
	lingerTime = time.Second
	// purgeAt is how many streams of a full table must be dispensable for it to
	// be worth looking at all of them.
	purgeAt = 1024
	// maxNews is how many streams a direction is told of one by one.
	maxNews = 4096
	// everyStream, which no stream has for an id, stands for all of them.
	everyStream = 0
	// maxSkipped bounds what is remembered of stream ids that were passed over,
	// and maxStrays the notes of a direction about streams that nobody opened, or
	// who may not.
	maxSkipped = 32
	maxStrays  = 8
)

// stream is what both directions know about an HTTP/2 stream. Its fields are
// guarded by the tap's mutex, except for those that never change.
type stream struct {
	id   session.StreamID
	h2   uint32
	grpc framing // of the request; a response without known headers has the same

	clientDone, serverDone bool // END_STREAM was seen
	over                   bool // was reset
}

// table holds the streams of a connection by HTTP/2 stream id.
type table struct {
	open   map[uint32]*stream
	linger []uint32 // reset, oldest first
	// dispensable counts open streams that the server has ended or that were
	// reset.
	dispensable int
	full        bool // has refused a stream

	last    [2]uint32 // the highest id that was opened, of the even and the odd
	skipped []span    // ids below that were passed over, at most maxSkipped runs of them
}

// span is the ids between two, both excluded.
type span struct{ after, before uint32 }

// opens notes that a stream of this id is opened.
func (t *table) opens(id uint32) {
	last := &t.last[id&1]
	if id <= *last {
		return
	}
	if id-*last > 2 && len(t.skipped) < maxSkipped {
		t.skipped = append(t.skipped, span{*last, id})
	}
	*last = id
}

// never says whether it is known that no stream of this id was opened.
func (t *table) never(id uint32) bool {
	return id > t.last[id&1] || slices.ContainsFunc(t.skipped, func(s span) bool {
		return s.before&1 == id&1 && s.after < id && id < s.before
	})
}

func (t *table) init() { t.open = make(map[uint32]*stream) }

// drain empties the table and returns the streams that have not ended, in
// order of their opening.
func (t *table) drain() []*stream {
	var out []*stream
	for _, s := range t.open {
		if !s.over && !s.serverDone {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *stream) int { return int(int64(a.id) - int64(b.id)) })
	t.init()
	return out
}

// remove forgets a stream.
func (t *table) remove(s *stream) {
	if t.open[s.h2] != s {
		return
	}
	delete(t.open, s.h2)
	if s.serverDone || s.over {
		t.dispensable--
	}
}

// openStream registers a new stream, or returns nil if there are too many.
func (t *Tap) openStream(h2 uint32, fr framing) (s *stream, refusedFirst bool) {
	s = &stream{id: t.cfg.NewStream(), h2: h2, grpc: fr}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.streams.opens(h2)
	if len(t.streams.open) >= maxStreams && t.streams.dispensable >= purgeAt {
		for _, old := range t.streams.open {
			if old.serverDone || old.over {
				t.streams.remove(old)
			}
		}
		t.streams.linger = t.streams.linger[:0]
		t.tell()
	}
	if len(t.streams.open) >= maxStreams {
		refusedFirst, t.streams.full = !t.streams.full, true
		return nil, refusedFirst
	}
	t.streams.open[h2] = s
	t.count(1)
	return s, false
}

// count changes the number of streams that are open.
func (t *Tap) count(by int) {
	if t.cfg.Open != nil {
		t.cfg.Open.Add(int64(by))
	}
}

// isOver says whether a stream was reset.
func (t *Tap) isOver(s *stream) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return s.over
}

// tell lets both directions know that streams were reset or removed. The
// caller holds the lock.
func (t *Tap) tell(ids ...uint32) {
	for _, h := range []*half{&t.client, &t.server} {
		if h.news = append(h.news, ids...); len(h.news) > maxNews || len(ids) == 0 {
			h.news = []uint32{everyStream}
		}
		h.told.Store(true)
	}
}

func (t *Tap) lookup(h2 uint32) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.streams.open[h2]
}

// sideDone notes that one side has ended its half, and forgets the stream when
// both have.
func (t *Tap) sideDone(s *stream, side session.Side) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if side == session.Client {
		s.clientDone = true
	} else {
		if !s.serverDone && !s.over && t.streams.open[s.h2] == s {
			t.streams.dispensable++
			t.count(-1)
		}
		s.serverDone = true
	}
	if s.clientDone && s.serverDone {
		t.streams.remove(s)
	}
}

// resetStream takes a stream out of the open ones; nil if it was not there.
func (t *Tap) resetStream(h2 uint32) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.streams.open[h2]
	if s == nil || s.over {
		return s
	}
	if !s.serverDone {
		t.streams.dispensable++
		t.count(-1)
	}
	s.over = true
	t.streams.linger = append(t.streams.linger, h2)
	if len(t.streams.linger) > lingering {
		oldest := t.streams.linger[0]
		if old := t.streams.open[oldest]; old != nil && old.over {
			t.streams.remove(old)
		}
		t.streams.linger = slices.Delete(t.streams.linger, 0, 1)
		t.tell(oldest)
	}
	t.tell(h2)
	return s
}

// listen brings this direction up to date with the table. It runs on the
// goroutine that feeds it.
func (h *half) listen(at time.Time) {
	h.told.Store(false)
	var gone []*recv
	look := func(r *recv) {
		switch {
		case r == nil:
		case h.tap.streams.open[r.stream.h2] != r.stream:
			gone = append(gone, r)
		case r.stream.over && !r.lingers:
			h.linger(at, r)
		}
	}
	h.tap.mu.Lock()
	news := h.news
	h.news = nil
	if slices.Contains(news, everyStream) {
		for _, r := range h.recv {
			look(r)
		}
	} else {
		for _, id := range news {
			look(h.recv[id])
		}
	}
	h.tap.mu.Unlock()
	for _, r := range gone {
		h.drop(at, r)
	}
}

// linger goes on with a stream that the other side has reset, for a while.
func (h *half) linger(at time.Time, r *recv) {
	if r.inside {
		h.partial--
	}
	r.lingers, r.resetAt = true, at
	h.lingers = append(h.lingers, r)
}

// expire drops what has lingered long enough.
func (h *half) expire(at time.Time) {
	for len(h.lingers) > 0 && at.Sub(h.lingers[0].resetAt) > lingerTime {
		if r := h.lingers[0]; h.recv[r.stream.h2] == r {
			h.drop(at, r)
		}
		h.lingers = slices.Delete(h.lingers, 0, 1)
	}
}

func (h *half) drop(at time.Time, r *recv) {
	r.abort(h, at, "the other side reset the stream")
	delete(h.recv, r.stream.h2)
}

func (h *half) newRecv(s *stream, fr framing, encoding string) *recv {
	r := &recv{stream: s, framing: fr, encoding: encoding}
	if h.recv == nil {
		h.recv = make(map[uint32]*recv)
	}
	h.recv[s.h2] = r
	if fr != framingLost {
		h.find(r)
	}
	return r
}

// entry begins an entry on a stream.
func (h *half) entry(at time.Time, s *stream, kind session.Kind) session.Entry {
	return session.Entry{Time: at, Stream: s.id, H2: s.h2, Side: h.side, Kind: kind}
}

func (h *half) requestHeaders(at time.Time, id uint32, fields []session.Field, problems []string, end bool) {
	if r := h.recv[id]; r != nil { // trailers of a request; gRPC has none
		e := h.entry(at, r.stream, session.KindHeader)
		e.Headers, e.Problems = fields, problems
		h.tap.append(e)
		if end {
			h.endStream(at, r, nil)
		}
		return
	}
	if id <= h.lastOpened { // of a stream that is over
		h.stray(at, "HEADERS", id)
		return
	}
	h.lastOpened = id
	if id%2 == 0 { // RFC 9113 5.1.1
		h.odd(at, id, fmt.Sprintf("the client opens stream %d, which is not its to open: its streams have odd numbers", id))
	}
	fr, encoding := framingOf(fields, h.level)
	s := h.open(at, id, fr, fields, problems)
	if s == nil {
		return
	}
	r := h.newRecv(s, fr, encoding)
	if end {
		h.endStream(at, r, nil)
	}
}

// open records a new stream.
func (h *half) open(at time.Time, id uint32, fr framing, fields []session.Field, problems []string) *stream {
	s, refusedFirst := h.tap.openStream(id, fr)
	if s == nil {
		if refusedFirst {
			h.note(at, session.NoteStreamLimit, fmt.Sprintf("more than %d streams are open on this connection; further ones are not recorded", maxStreams), "")
		}
		return nil
	}
	e := h.entry(at, s, session.KindOpen)
	e.Method, e.Headers, e.Problems = session.Get(fields, ":path"), fields, problems
	if h.tap.cfg.Sent != nil && h.side == session.Client && len(problems) == 0 {
		e.Sent = h.tap.cfg.Sent(id, fields)
	}
	h.tap.append(e)
	return s
}

// promise records a stream that the server opens by PUSH_PROMISE.
func (h *half) promise(at time.Time, id uint32, fields []session.Field, problems []string) {
	if id%2 != 0 || id <= h.lastOpened { // RFC 9113 5.1.1
		if !h.oddPromise { // once: a frame is small, a note is not
			h.note(at, session.NoteProtocolError, fmt.Sprintf("the server promises stream %d, which is not its to open; promises like it are not recorded", id), "")
		}
		h.oddPromise = true
		return
	}
	h.lastOpened = id
	if s := h.open(at, id, framingBody, fields, problems); s != nil {
		h.tap.sideDone(s, session.Client)
	}
}

func (h *half) responseHeaders(at time.Time, id uint32, fields []session.Field, problems []string, end bool) {
	r := h.recv[id]
	s := h.streamOf(r, id)
	if s == nil && h.midway {
		s = h.meet(id)
	}
	// Only this direction writes serverDone, so it may read it without the lock.
	if s == nil || s.serverDone {
		h.stray(at, "HEADERS", id)
		return
	}
	informational := strings.HasPrefix(session.Get(fields, ":status"), "1")
	trailers := r != nil // the final response headers were seen before
	if end {
		if r == nil {
			r = h.newRecv(s, framingBody, "")
		}
		h.endStream(at, r, func(e *session.Entry) {
			e.Headers, e.Problems = fields, problems
			e.Status = statusOf(fields)
			if trailers && e.Status.HTTP == 0 {
				e.Status.HTTP = r.http
			}
		})
		return
	}
	e := h.entry(at, s, session.KindHeader)
	e.Headers, e.Problems = fields, problems
	h.tap.append(e)
	if informational || trailers {
		return
	}
	fr, encoding := framingOf(fields, h.level)
	if h.level != levelFull && s.grpc != framingUnknown {
		fr = s.grpc
	}
	r = h.newRecv(s, fr, encoding)
	r.http = statusOf(fields).HTTP
	if h.tap.isOver(s) {
		h.linger(at, r)
	}
}

// stray notes a frame that is of no stream which is followed, if there never was
// one. What comes late on a stream that is over is nothing unusual.
func (h *half) stray(at time.Time, frame string, id uint32) {
	if h.strays == maxStrays || id == h.strayed || h.tap.unseen.Load() {
		return
	}
	h.tap.mu.Lock()
	never := h.tap.streams.never(id)
	h.tap.mu.Unlock()
	if !never {
		return
	}
	h.odd(at, id, fmt.Sprintf("the %s sends %s on stream %d, which was never opened; the bytes are forwarded and are part of no message", h.side, frame, id))
}

// odd notes what is wrong about a stream, of at most maxStrays of a direction.
func (h *half) odd(at time.Time, id uint32, text string) {
	if h.strays == maxStrays {
		return
	}
	h.strayed = id
	h.strays++
	hint := ""
	if h.strays == maxStrays {
		hint = fmt.Sprintf("it is the last of %d notes like it: further streams of the %s are not told on this connection", maxStrays, h.side)
	}
	h.note(at, session.NoteProtocolError, text, hint)
}

func (h *half) streamOf(r *recv, id uint32) *stream {
	if r != nil {
		return r.stream
	}
	return h.tap.lookup(id)
}

// endStream acts on END_STREAM: what was begun is flushed, and the end gets
// its entry. fill, if not nil, adds what the trailers said.
func (h *half) endStream(at time.Time, r *recv, fill func(*session.Entry)) {
	r.finish(h, at)
	delete(h.recv, r.stream.h2)
	kind := session.KindHalfClose
	if h.side == session.Server {
		kind = session.KindTrailer
	}
	e := h.entry(at, r.stream, kind)
	if fill != nil {
		fill(&e)
	} else if kind == session.KindTrailer {
		e.Status = &session.Status{Code: -1, HTTP: r.http}
	}
	h.tap.append(e)
	h.tap.sideDone(r.stream, h.side)
}

// reset acts on RST_STREAM.
func (h *half) reset(at time.Time, id, code uint32) {
	s := h.tap.resetStream(id)
	if r := h.recv[id]; r != nil {
		r.abort(h, at, "the sender reset the stream")
		delete(h.recv, id)
	}
	if s == nil {
		return
	}
	e := h.entry(at, s, session.KindCancel)
	e.Status = &session.Status{Code: -1, Reset: code, WasReset: true}
	h.tap.append(e)
}
