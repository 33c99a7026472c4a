// Package block decodes the header blocks of one direction of an HTTP/2
// connection, whose bytes may come in any pieces. It bounds what a string may
// be, and leaves to its user how much of a list is kept; it looks at no
// SETTINGS and judges no field.
package block

import (
	"errors"

	"golang.org/x/net/http2/hpack"
)

const (
	// MaxTable is the largest dynamic table that an encoder may announce. The
	// decoder never looks at the SETTINGS of the other direction: what counts
	// is the size update that the encoder sends in-band.
	MaxTable = 1 << 20
	// MaxString is the longest name or value, in bytes.
	MaxString = 1 << 20
	// MaxList is how much of a header list is taken, counted as RFC 9113 6.5.2
	// does: 32 bytes a field more than its name and value. A few bytes of HPACK
	// can stand for all of it, so it is what a small frame can cost.
	MaxList = 64 << 10
	// stage is how many bytes of a block are collected before they are
	// decoded. A decoder copies what it could not finish each time it is fed,
	// so a flood of one-byte CONTINUATION frames must not feed it bytewise.
	stage = 16 << 10
	// idle is how much of that a decoder holds between two blocks.
	idle = 1 << 10
)

// Decoder decodes header blocks. Every block of a direction must pass through
// it, in order, because each may change the dynamic table. After an error it is
// of no more use.
type Decoder struct {
	dec    *hpack.Decoder
	emit   func(hpack.HeaderField)
	size   int
	staged []byte
	// start is true until the first field of a block: size updates are legal
	// only there (RFC 7541 4.2).
	start  bool
	failed error
	cut    bool
}

// NewDecoder returns a decoder that calls emit for each field, as long as the
// list of the block is within MaxList.
func NewDecoder(emit func(hpack.HeaderField)) *Decoder {
	d := &Decoder{emit: emit}
	d.dec = hpack.NewDecoder(4096, d.field)
	d.dec.SetAllowedMaxDynamicTableSize(MaxTable)
	d.dec.SetMaxStringLength(MaxString)
	return d
}

// Begin begins a block.
func (d *Decoder) Begin() {
	d.staged, d.start, d.size, d.cut = d.staged[:0], true, 0, false
	d.dec.SetEmitEnabled(true)
}

func (d *Decoder) field(f hpack.HeaderField) {
	d.size += len(f.Name) + len(f.Value) + 32
	if d.size > MaxList {
		d.cut = true
		d.dec.SetEmitEnabled(false)
		return
	}
	d.emit(f)
}

// Cut says that the block has more fields than were emitted.
func (d *Decoder) Cut() bool { return d.cut }

// Write takes the next fragment of a block.
func (d *Decoder) Write(p []byte) {
	if d.failed != nil {
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
func (d *Decoder) flush() {
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

// Finish ends a block.
func (d *Decoder) Finish() error {
	d.flush()
	if d.failed == nil && len(d.staged) > 0 {
		d.failed = errors.New("header block ends inside a table size update")
	}
	if err := d.dec.Close(); d.failed == nil {
		d.failed = err
	}
	if cap(d.staged) > idle {
		d.staged = nil
	}
	return d.failed
}
