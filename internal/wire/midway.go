package wire

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// The proxy sees each connection from its beginning and misses nothing. A capture
// of packets may do neither: it begins in the middle of connections, and packets
// are missing in it. A tap that is midway begins or goes on behind what was not
// seen: with the next piece that begins with frames, for the frames; with the next
// DATA frame that begins with a message, for the messages of a stream. It opens no
// stream whose beginning it has not seen: entries on it come without an Open.
//
// A tap that is midway is fed by one goroutine, and each piece is a TCP segment:
// who sends writes whole frames, so that most segments begin with one.

// Lose says that bytes which one side sent, after those that were fed, will never
// come. What was under assembly ends there. Of what is fed next the header fields
// are unknown, since HPACK refers to what came before.
func (t *Tap) Lose(from session.Side, at time.Time, why string) {
	h := t.half(from)
	switch {
	case h.level == levelBlind:
	case t.http2.Load() || h.frames.seen:
		h.loseHeaders(at, why+"; its header fields are unknown from here on")
		h.headers = headerDecoder{lost: true}
		for _, r := range h.followed() {
			r.abort(h, at, why)
			r.framing = framingLost
		}
		h.found = nil
		h.joinMidway()
	case t.h1 != nil || len(h.h1.line) > 0:
		// Which response belongs to which request is not known any more.
		t.client.goBlind(at, why)
		t.server.silence(at)
	default:
		h.joinMidway()
	}
}

// joinMidway follows a direction from somewhere on.
func (h *half) joinMidway() {
	h.frames, h.parse, h.midway = framer{seen: true}, (*half).seek, true
	h.tap.unseen.Store(true)
}

// followed are the streams whose messages are not lost, by their numbers. Each loss
// costs no more than what was found since the one before.
func (h *half) followed() []*recv {
	of := h.found
	if !h.midway {
		of = slices.Collect(maps.Values(h.recv))
	}
	of = slices.DeleteFunc(of, h.lost)
	slices.SortFunc(of, func(a, b *recv) int { return cmp.Compare(a.stream.h2, b.stream.h2) })
	return of
}

// find remembers a stream of a tap that is midway, whose messages can be followed
// from here on.
func (h *half) find(r *recv) {
	if !h.midway {
		return
	}
	if len(h.found) > 2*len(h.recv)+64 {
		h.found = slices.DeleteFunc(h.found, h.lost)
	}
	h.found = append(h.found, r)
}

// lost says that nothing is followed on a stream: its messages were lost, or it is
// over.
func (h *half) lost(r *recv) bool { return h.recv[r.stream.h2] != r || r.framing == framingLost }

// seek passes over segments until one begins with what can be followed.
func (h *half) seek(at time.Time, p []byte) (int, bool) {
	switch {
	case len(p) == 0:
		return -1, false
	case h.side == session.Client && bytes.HasPrefix([]byte(preface), p[:min(len(p), len(preface))]):
		h.parse = (*half).sniffClient // it begins here after all
		return 0, true
	case tlsRecord(p):
		h.goBlind(at, "the "+h.side.String()+" speaks TLS")
		return len(p), true
	case framesBegin(p):
		h.parse = (*half).parseFrames
		h.tap.http2.Store(true)
		return 0, true
	case h.side == session.Client && requestBegins(p),
		h.side == session.Server && bytes.HasPrefix(p, []byte("HTTP/1.")) && len(h.tap.h1) > 0:
		h.parse = (*half).parseH1
		return 0, true
	}
	return len(p), false
}

// tlsRecord says whether p begins like a record of TLS (RFC 8446 5.1).
func tlsRecord(p []byte) bool {
	return len(p) > 2 && p[0] >= 0x14 && p[0] <= 0x17 && p[1] == 3 && p[2] <= 4
}

// requestBegins says whether p begins like a request of HTTP/1.1 (RFC 9112 3).
func requestBegins(p []byte) bool {
	method, rest, _ := bytes.Cut(p[:min(len(p), maxH1Head)], []byte(" "))
	line, _, whole := bytes.Cut(rest, []byte("\r\n"))
	return whole && len(method) > 0 && !bytes.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) &&
		bytes.Contains(line, []byte(" HTTP/1."))
}

// frameFlags are the flags that RFC 9113 section 6 defines, by frame type.
var frameFlags = [...]byte{
	frameData:         flagEndStream | flagPadded,
	frameHeaders:      flagEndStream | flagEndHeaders | flagPadded | flagPriority,
	framePriority:     0,
	frameRSTStream:    0,
	frameSettings:     flagAck,
	framePushPromise:  flagEndHeaders | flagPadded,
	framePing:         flagAck,
	frameGoAway:       0,
	frameWindowUpdate: 0,
	frameContinuation: 0, // none begins what can be followed
}

// framesBegin says whether p consists of frames, as far as it goes. It is stricter
// than the parser, which knows where it is.
func framesBegin(p []byte) bool {
	const longest = 1 << 20
	for first := true; ; first = false {
		if len(p) < frameHeadLen {
			return !first
		}
		f := framer{seen: true}
		copy(f.head[:], p)
		if f.begin() != nil || int(f.typ) >= len(frameFlags) || f.flags&^frameFlags[f.typ] != 0 || f.left > longest || p[5]&0x80 != 0 {
			return false
		}
		if frameHeadLen+f.left >= len(p) {
			return true
		}
		p = p[frameHeadLen+f.left:]
	}
}

// messagesBegin says whether the first bytes of a DATA frame consist of messages of
// gRPC, as far as they go.
func messagesBegin(p []byte) bool {
	for first := true; ; first = false {
		if len(p) < prefixLen {
			return !first
		}
		size := int64(binary.BigEndian.Uint32(p[1:prefixLen]))
		if p[0] > 1 || size > maxMessage {
			return false
		}
		if prefixLen+size >= int64(len(p)) {
			return true
		}
		p = p[prefixLen+size:]
	}
}

// regains says whether a stream whose messages were lost can be followed from p on,
// which is of the current frame.
func (h *half) regains(p []byte) bool {
	f := &h.frames
	length := int(binary.BigEndian.Uint32(f.head[:4]) >> 8)
	padded := 0
	if f.flags&flagPadded != 0 {
		padded = int(f.fixed[0])
	}
	whole := length - f.wantFixed - padded
	return f.content+len(p) == whole && messagesBegin(p)
}

// meet is the stream of a frame whose beginning may not have been seen; nil if it
// is over.
func (h *half) meet(id uint32) *stream {
	t := h.tap
	t.mu.Lock()
	s, never := t.streams.open[id], t.streams.never(id)
	t.mu.Unlock()
	switch {
	case s == nil && never && id%2 == 1:
		s, _ = t.openStream(id, framingUnknown)
	case s != nil && (s.over || h.side == session.Client && s.clientDone || h.side == session.Server && s.serverDone):
		return nil
	}
	return s
}

// meetData is called where a DATA frame begins.
func (h *half) meetData() {
	id := h.frames.stream
	if h.recv[id] != nil {
		return
	}
	if s := h.meet(id); s != nil {
		h.newRecv(s, framingLost, "")
	}
}
