package rewrite

import (
	"encoding/binary"
	"io"

	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/internal/wire/block"
	"github.com/xdsproxy/xdsproxy/session"
)

// Frame types and flags of RFC 9113 section 6.
const (
	frameHeaders      = 0x1
	frameSettings     = 0x4
	framePushPromise  = 0x5
	frameContinuation = 0x9

	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20

	frameHeadLen = 9
	priorityLen  = 5

	// maxBlock is how long a header block may be as it is sent, frame heads
	// and padding included. What it stands for is bounded by block.MaxList.
	maxBlock = 4 * block.MaxList
)

// frames follows the frames of one client, whose bytes may come in any pieces.
// Frames other than HEADERS and CONTINUATION pass as they are.
type frames struct {
	head  [frameHeadLen]byte
	nhead int // of those, bytes here

	typ, flags byte
	stream     uint32
	left       int // bytes of the frame still to come

	seen bool // a frame has been seen

	// Of the header block that is open.
	block      uint32 // its stream; 0: none is open
	blockFlags byte   // of the frame that opened it
	raw        int    // its bytes so far
	fixed      [1 + priorityLen]byte
	nfixed     int
	wantFixed  int // pad length and priority of the current frame
	content    int // of the current frame, bytes of the block still to come
	started    bool
	fields     []session.Field
	dec        *block.Decoder
	out        encoder
}

// passes says that the current frame stays as it is.
func (f *frames) passes() bool { return f.typ != frameHeaders && f.typ != frameContinuation }

// write is Rewriter.Write behind the first i bytes of p, which pass.
func (f *frames) write(r *Rewriter, dst io.Writer, p []byte, i int) (int, error) {
	// p[run:i] passes as it is, and has not been written yet.
	run := 0
	flush := func(end int) error {
		if end <= run {
			return nil
		}
		n, err := dst.Write(p[run:end])
		run += n
		return err
	}
	for i < len(p) {
		if f.nhead < frameHeadLen {
			before, start := f.nhead, i
			k := copy(f.head[before:], p[i:])
			f.nhead += k
			i += k
			if f.nhead < frameHeadLen {
				if err := flush(start); err != nil {
					return run, err
				}
				r.held += k
				return len(p), nil
			}
			if err := f.begin(); err != nil {
				if ferr := flush(start); ferr != nil {
					return run, ferr
				}
				return start, err
			}
			if !f.passes() {
				if err := flush(start); err != nil {
					return run, err
				}
				run = i
				r.held += k
				if err := f.count(frameHeadLen); err != nil {
					return i, err
				}
			} else if before > 0 { // then run and start are 0
				if _, err := dst.Write(f.head[:before]); err != nil {
					return 0, err
				}
				r.held = 0
			}
		} else {
			k := min(f.left, len(p)-i)
			f.left -= k
			if !f.passes() {
				if err := f.take(p[i : i+k]); err != nil {
					return i, err
				}
				run = i + k
				r.held += k
			}
			i += k
		}
		if f.left > 0 {
			continue
		}
		f.nhead = 0
		if f.passes() {
			continue
		}
		if err := f.end(r, dst); err != nil {
			return i, err
		}
		if f.block == 0 {
			r.held = 0
		}
	}
	if err := flush(len(p)); err != nil {
		return run, err
	}
	return len(p), nil
}

// begin reads a frame's head.
func (f *frames) begin() error {
	f.left = int(binary.BigEndian.Uint32(f.head[:4]) >> 8)
	f.typ, f.flags = f.head[3], f.head[4]
	f.stream = binary.BigEndian.Uint32(f.head[5:]) & (1<<31 - 1)
	f.nfixed, f.wantFixed, f.content, f.started = 0, 0, 0, false
	if !f.seen && f.typ != frameSettings {
		return lost("the first HTTP/2 frame of the client is of type %#x, not SETTINGS", f.typ)
	}
	f.seen = true
	if f.block != 0 && (f.typ != frameContinuation || f.stream != f.block) {
		return lost("HTTP/2 frame of type %#x on stream %d inside the header block of stream %d", f.typ, f.stream, f.block)
	}
	switch f.typ {
	case framePushPromise:
		return lost("the client sends PUSH_PROMISE, which only a server may")
	case frameContinuation:
		if f.block == 0 {
			return lost("HTTP/2 CONTINUATION on stream %d without a header block", f.stream)
		}
	case frameHeaders:
		if f.flags&flagPadded != 0 {
			f.wantFixed = 1
		}
		if f.flags&flagPriority != 0 {
			f.wantFixed += priorityLen
		}
		if f.stream == 0 {
			return lost("HTTP/2 HEADERS on stream 0")
		}
		if f.left < f.wantFixed {
			return lost("HTTP/2 HEADERS of %d bytes is too short", f.left)
		}
		if f.dec == nil {
			f.dec = block.NewDecoder(f.emit)
		}
		f.block, f.blockFlags, f.raw, f.fields = f.stream, f.flags, 0, nil
		f.dec.Begin()
	}
	return nil
}

func (f *frames) emit(h hpack.HeaderField) {
	f.fields = append(f.fields, session.Field{Name: h.Name, Value: h.Value, Secret: h.Sensitive})
}

// take takes the next bytes of a frame of the open block, of which f.left are
// still to come behind them.
func (f *frames) take(p []byte) error {
	if err := f.count(len(p)); err != nil {
		return err
	}
	if f.nfixed < f.wantFixed {
		k := copy(f.fixed[f.nfixed:f.wantFixed], p)
		f.nfixed += k
		if p = p[k:]; f.nfixed < f.wantFixed {
			return nil
		}
	}
	if err := f.start(len(p)); err != nil {
		return err
	}
	k := min(f.content, len(p))
	f.content -= k
	f.dec.Write(p[:k])
	return nil
}

// count counts bytes of the open block.
func (f *frames) count(n int) error {
	if f.raw += n; f.raw > maxBlock {
		return lost("the header block of stream %d is longer than %d bytes", f.block, maxBlock)
	}
	return nil
}

// start is called when the fixed fields of a frame are complete, of whose
// content here bytes have come and f.left have not.
func (f *frames) start(here int) error {
	if f.started {
		return nil
	}
	f.started = true
	f.content = f.left + here
	if f.typ == frameHeaders && f.flags&flagPadded != 0 {
		if f.content -= int(f.fixed[0]); f.content < 0 {
			return lost("HTTP/2 HEADERS on stream %d has more padding than bytes", f.block)
		}
	}
	return nil
}

// end acts on a complete frame of the open block.
func (f *frames) end(r *Rewriter, dst io.Writer) error {
	if err := f.start(0); err != nil {
		return err
	}
	if f.typ == frameHeaders && f.flags&flagPriority != 0 {
		copy(f.out.priority[:], f.fixed[f.wantFixed-priorityLen:])
	}
	if f.flags&flagEndHeaders == 0 {
		return nil
	}
	id := f.block
	f.block = 0
	if err := f.dec.Finish(); err != nil {
		return lost("the header block of stream %d cannot be decoded: %v", id, err)
	}
	if f.dec.Cut() {
		return lost("the header list of stream %d is longer than %d bytes", id, block.MaxList)
	}
	fields := f.fields
	f.fields = nil
	if isRequest(fields) {
		fields, _ = r.valuesOf(id).apply(fields, false)
	}
	return f.out.write(dst, id, f.blockFlags, fields)
}
