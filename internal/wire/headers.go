package wire

import (
	"fmt"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

const (
	// maxTable is the largest dynamic table that an encoder may announce. The
	// decoder never looks at the SETTINGS of the other direction: what counts
	// is the size update that the encoder sends in-band.
	maxTable = 1 << 20
	// maxString is the longest name or value, in bytes.
	maxString = 1 << 20
	// maxHeaderList is how much of a header list is kept, counted as RFC 9113
	// 6.5.2 does: 32 bytes a field more than its name and value. A few bytes of
	// HPACK can stand for all of it, so it is what a small frame can cost.
	maxHeaderList = 64 << 10
	// stage is how many bytes of a block are collected before they are
	// decoded. A decoder copies what it could not finish each time it is fed,
	// so a flood of one-byte CONTINUATION frames must not feed it bytewise.
	stage = 16 << 10
)

// headerDecoder decodes the header blocks of one direction. Every block must
// pass through it, in order, because each may change the dynamic table.
type headerDecoder struct {
	dec    *hpack.Decoder
	staged []byte
	// start is true until the first field of a block: size updates are legal
	// only there (RFC 7541 4.2).
	start  bool
	fields []session.Field
	size   int
	cut    bool // fields were left out because of maxHeaderList
	failed error
	lost   bool // a block failed: nothing is decoded any more
}

func (d *headerDecoder) begin() {
	if d.lost {
		return
	}
	if d.dec == nil {
		d.dec = hpack.NewDecoder(4096, d.emit)
		d.dec.SetAllowedMaxDynamicTableSize(maxTable)
		d.dec.SetMaxStringLength(maxString)
	}
	d.staged, d.start = d.staged[:0], true
	d.fields, d.size, d.cut = nil, 0, false
	d.dec.SetEmitEnabled(true)
}

func (d *headerDecoder) emit(f hpack.HeaderField) {
	d.size += len(f.Name) + len(f.Value) + 32
	if d.size > maxHeaderList {
		d.cut = true
		d.dec.SetEmitEnabled(false)
		return
	}
	d.fields = append(d.fields, session.Field{Name: f.Name, Value: f.Value})
}

// write takes the next fragment of a block.
func (d *headerDecoder) write(p []byte) {
	if d.dec == nil || d.failed != nil {
		return
	}
	for len(p) > 0 {
		k := min(stage-len(d.staged), len(p))
		d.staged = append(d.staged, p[:k]...)
		p = p[k:]
		if len(d.staged) == stage {
			d.flush()
		}
	}
}

// flush hands what was collected to the decoder.
func (d *headerDecoder) flush() {
	rest := d.staged
	for d.start && len(rest) > 0 && d.failed == nil {
		n := sizeUpdate(rest)
		if n == 0 {
			d.start = false
			break
		}
		if n > len(rest) {
			d.staged = d.staged[:copy(d.staged, rest)]
			return // the update is not complete yet
		}
		// RFC 7541 4.2 allows two updates in one block. This decoder takes a
		// second one only at the beginning of a block, so each is a block.
		if _, d.failed = d.dec.Write(rest[:n]); d.failed == nil {
			d.failed = d.dec.Close()
		}
		rest = rest[n:]
	}
	if d.failed == nil && len(rest) > 0 {
		_, d.failed = d.dec.Write(rest)
	}
	d.staged = d.staged[:0]
}

// sizeUpdate is the length of the dynamic table size update at the beginning
// of p, 0 if there is none, or more than len(p) if it goes on past p.
func sizeUpdate(p []byte) int {
	if p[0]&0xe0 != 0x20 {
		return 0
	}
	if p[0]&0x1f != 0x1f {
		return 1
	}
	for i, b := range p[1:] {
		if b&0x80 == 0 || i == 9 { // longer than any integer: the decoder will say so
			return i + 2
		}
	}
	return len(p) + 1
}

// finish ends a block and returns its fields.
func (d *headerDecoder) finish() ([]session.Field, error) {
	d.flush()
	if d.failed == nil && len(d.staged) > 0 {
		d.failed = fmt.Errorf("header block ends inside a table size update")
	}
	if err := d.dec.Close(); d.failed == nil {
		d.failed = err
	}
	return d.fields, d.failed
}

// headersComplete acts on a complete header block.
func (h *half) headersComplete(at time.Time) {
	f := &h.frames
	id := f.stream
	if f.isPromise {
		id = f.promised
	}
	var fields []session.Field
	var problems []string
	if h.level == levelFull {
		var err error
		fields, err = h.headers.finish()
		if err != nil {
			h.loseHeaders(at, fmt.Sprintf("HPACK of the %s broke at stream %d: %v; its header fields are unknown from here on", h.side, id, err))
			h.headers = headerDecoder{lost: true}
			fields = nil
		} else if h.headers.cut {
			problems = append(problems, fmt.Sprintf("header list is longer than %d bytes; the rest was not recorded", maxHeaderList))
		}
		h.headers.fields = nil
	}
	if h.level != levelFull {
		problems = append(problems, fmt.Sprintf("header fields of the %s are unknown since HPACK broke", h.side))
	}
	end := f.blockFlags&flagEndStream != 0
	switch {
	case f.isPromise:
		h.promise(at, id, fields, problems)
	case h.side == session.Client:
		h.requestHeaders(at, id, fields, problems, end)
	default:
		h.responseHeaders(at, id, fields, problems, end)
	}
}
