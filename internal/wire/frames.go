package wire

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// Frame types and flags of RFC 9113 section 6.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	framePriority     = 0x2
	frameRSTStream    = 0x3
	frameSettings     = 0x4
	framePushPromise  = 0x5
	framePing         = 0x6
	frameGoAway       = 0x7
	frameWindowUpdate = 0x8
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagAck        = 0x1
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	frameHeadLen = 9
	maxDebug     = 4 << 10 // bytes kept of GOAWAY's debug data
)

// framer follows one direction's frames, whose bytes may arrive in any pieces.
//
// A frame is its 9-byte head, then fixed fields (pad length, priority, promised
// stream, error code), then content (data, header block fragment, debug data),
// then padding.
type framer struct {
	head  [frameHeadLen]byte
	nhead int

	typ, flags byte
	stream     uint32
	left       int // bytes of the frame still to come

	fixed      [9]byte
	nfixed     int // of those, bytes here
	wantFixed  int
	content    int // bytes of content still to come; valid once the fixed fields are here
	started    bool
	block      uint32 // stream whose header block is open; 0: none
	blockFlags byte   // flags of the frame that opened it
	promised   uint32 // of a PUSH_PROMISE block
	isPromise  bool
	seen       bool // a frame has been seen
	debug      []byte
}

// parseFrames is the HTTP/2 parser.
func (h *half) parseFrames(at time.Time, p []byte) (int, bool) {
	f := &h.frames
	boundary := -1
	for rest := p; len(rest) > 0; {
		if f.nhead < frameHeadLen {
			k := copy(f.head[f.nhead:], rest)
			f.nhead += k
			rest = rest[k:]
			if f.nhead < frameHeadLen {
				break
			}
			if err := f.begin(); err != nil {
				h.goBlind(at, err.Error())
				return len(p), false
			}
		} else {
			k := min(f.left, len(rest))
			if err := h.payload(at, rest[:k]); err != nil {
				h.goBlind(at, err.Error())
				return len(p), false
			}
			f.left -= k
			rest = rest[k:]
		}
		if f.left > 0 {
			continue
		}
		if err := h.frameEnd(at); err != nil {
			h.goBlind(at, err.Error())
			return len(p), false
		}
		f.nhead = 0
		if f.block == 0 && h.partial == 0 {
			boundary = len(p) - len(rest)
		}
	}
	return boundary, false
}

// begin reads a frame's head and checks what makes later bytes meaningless if
// it does not hold. An error means that framing is broken.
func (f *framer) begin() error {
	f.left = int(binary.BigEndian.Uint32(f.head[:4]) >> 8)
	f.typ, f.flags = f.head[3], f.head[4]
	f.stream = binary.BigEndian.Uint32(f.head[5:]) & (1<<31 - 1)
	f.nfixed, f.wantFixed, f.content, f.started = 0, 0, 0, false

	if !f.seen && f.typ != frameSettings {
		return fmt.Errorf("the first HTTP/2 frame is of type %#x, not SETTINGS", f.typ)
	}
	f.seen = true
	if f.block != 0 && (f.typ != frameContinuation || f.stream != f.block) {
		return fmt.Errorf("HTTP/2 frame of type %#x on stream %d inside the header block of stream %d", f.typ, f.stream, f.block)
	}
	padded := 0
	if f.flags&flagPadded != 0 {
		padded = 1
	}
	needStream, size := true, -1
	switch f.typ {
	case frameData:
		f.wantFixed = padded
	case frameHeaders:
		f.wantFixed = padded
		if f.flags&flagPriority != 0 {
			f.wantFixed += 5
		}
	case framePushPromise:
		f.wantFixed = padded + 4
	case frameContinuation:
		if f.block == 0 {
			return fmt.Errorf("HTTP/2 CONTINUATION on stream %d without a header block", f.stream)
		}
	case frameRSTStream:
		f.wantFixed, size = 4, 4
	case frameGoAway:
		f.wantFixed, needStream = 8, false
		f.debug = nil
	case frameSettings:
		needStream = false
		if f.left%6 != 0 || f.flags&flagAck != 0 && f.left != 0 {
			return fmt.Errorf("HTTP/2 SETTINGS frame of %d bytes", f.left)
		}
	case framePing:
		needStream, size = false, 8
	case frameWindowUpdate:
		if f.left != 4 {
			return fmt.Errorf("HTTP/2 WINDOW_UPDATE frame of %d bytes", f.left)
		}
		return nil
	default: // PRIORITY, and types that RFC 9113 5.5 says to ignore
		return nil
	}
	switch {
	case needStream && f.stream == 0:
		return fmt.Errorf("HTTP/2 frame of type %#x on stream 0", f.typ)
	case !needStream && f.stream != 0:
		return fmt.Errorf("HTTP/2 frame of type %#x on stream %d", f.typ, f.stream)
	case size >= 0 && f.left != size:
		return fmt.Errorf("HTTP/2 frame of type %#x with %d bytes instead of %d", f.typ, f.left, size)
	case f.left < f.wantFixed:
		return fmt.Errorf("HTTP/2 frame of type %#x with %d bytes is too short", f.typ, f.left)
	}
	return nil
}

// payload takes the next bytes of the current frame, none of the next.
func (h *half) payload(at time.Time, p []byte) error {
	f := &h.frames
	left := f.left
	if f.nfixed < f.wantFixed {
		k := copy(f.fixed[f.nfixed:f.wantFixed], p)
		f.nfixed += k
		p, left = p[k:], left-k
		if f.nfixed < f.wantFixed {
			return nil
		}
	}
	if !f.started {
		if err := h.contentBegin(left); err != nil {
			return err
		}
	}
	k := min(f.content, len(p))
	if k == 0 {
		return nil
	}
	f.content -= k
	p = p[:k]
	switch f.typ {
	case frameData:
		if r := h.recv[f.stream]; r != nil {
			r.data(h, at, p)
		}
	case frameHeaders, frameContinuation, framePushPromise:
		h.headers.write(p)
	case frameGoAway:
		f.debug = append(f.debug, p[:min(k, maxDebug-len(f.debug))]...)
	}
	return nil
}

// contentBegin is called once a frame, when its fixed fields are complete and
// left bytes follow.
func (h *half) contentBegin(left int) error {
	f := &h.frames
	f.started = true
	pad := 0
	if f.flags&flagPadded != 0 && (f.typ == frameData || f.typ == frameHeaders || f.typ == framePushPromise) {
		pad = int(f.fixed[0])
	}
	if pad > left {
		return fmt.Errorf("HTTP/2 frame on stream %d with %d bytes of padding in %d bytes", f.stream, pad, left)
	}
	f.content = left - pad
	switch f.typ {
	case frameData:
		if h.midway {
			h.meetData()
		}
	case frameHeaders:
		f.block, f.blockFlags, f.isPromise = f.stream, f.flags, false
		h.headers.begin()
	case framePushPromise:
		f.block, f.blockFlags, f.isPromise = f.stream, f.flags&^flagEndStream, true
		f.promised = binary.BigEndian.Uint32(f.fixed[f.wantFixed-4:]) & (1<<31 - 1)
		h.headers.begin()
	}
	return nil
}

// frameEnd acts on a complete frame.
func (h *half) frameEnd(at time.Time) error {
	f := &h.frames
	if !f.started { // no content at all
		if err := h.contentBegin(0); err != nil {
			return err
		}
	}
	switch f.typ {
	case frameData:
		switch r := h.recv[f.stream]; {
		case r == nil:
			h.stray(at, "DATA", f.stream)
		case f.flags&flagEndStream != 0:
			h.endStream(at, r, nil)
		}
	case frameHeaders, framePushPromise, frameContinuation:
		if f.flags&flagEndHeaders != 0 {
			f.block = 0
			h.headersComplete(at)
		}
	case frameRSTStream:
		h.reset(at, f.stream, binary.BigEndian.Uint32(f.fixed[:4]))
	case frameGoAway:
		h.tap.append(session.Entry{Time: at, Side: h.side, Kind: session.KindGoAway, GoAway: &session.GoAway{
			LastStream: binary.BigEndian.Uint32(f.fixed[:4]) & (1<<31 - 1),
			Code:       binary.BigEndian.Uint32(f.fixed[4:8]),
			Debug:      string(f.debug),
		}})
		f.debug = nil
	}
	return nil
}
