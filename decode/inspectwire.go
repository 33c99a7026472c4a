package decode

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// run is a part of a message in which one field number is repeated.
type run struct {
	num        protowire.Number
	start, end uint32
}

// maxInspect is the longest body that is looked at: runs count in 32 bits.
const maxInspect = 1<<32 - 1

// split finds the runs of a message and adds them to in.runs. Of the values it
// checks only that they are whole.
func (in *Inspector) split(b []byte) (sorted, ok bool) {
	sorted = true
	last := run{}
	for off := 0; off < len(b); {
		num, end := skip(b, off)
		if end < 0 {
			s := scan(b)
			for s.next() {
			}
			if s.err == "" {
				s.err = fmt.Sprintf("a field number that is not valid at byte %d", off)
			}
			return sorted, in.broken("", s.err)
		}
		if num != last.num {
			if last.num != 0 {
				in.runs = append(in.runs, last)
			}
			sorted = sorted && num > last.num
			last = run{num: num, start: uint32(off)}
		}
		off = end
		last.end = uint32(off)
	}
	if last.num != 0 {
		in.runs = append(in.runs, last)
	}
	return sorted, true
}

// skip finds where the field at off ends; negative: it is not valid.
func skip(b []byte, off int) (num protowire.Number, end int) {
	if rest := b[off:]; len(rest) > 1 && rest[0] < 0x80 && rest[1] < 0x80 && rest[0] >= 8 {
		switch protowire.Type(rest[0] & 7) { // most fields have one byte of tag and one of length or value
		case protowire.VarintType:
			return protowire.Number(rest[0] >> 3), off + 2
		case protowire.BytesType:
			if int(rest[1]) <= len(rest)-2 {
				return protowire.Number(rest[0] >> 3), off + 2 + int(rest[1])
			}
		}
	}
	f, n := wireField(b[off:])
	if n < 0 {
		return 0, -1
	}
	return f.num, off + n
}

// wire is one field as it stands on the wire.
type wire struct {
	num  protowire.Number
	typ  protowire.Type
	bits uint64 // of a varint or a fixed-width value
	body []byte // of a length-delimited value
}

// wireField reads the field at the beginning of b, and its length, which is
// negative if it is not valid.
func wireField(b []byte) (f wire, n int) {
	tag, size := uint64(b[0]), 1
	if tag >= 0x80 {
		tag, size = protowire.ConsumeVarint(b)
	}
	if size < 0 || tag>>3 == 0 || tag>>3 > uint64(protowire.MaxValidNumber) {
		return f, -1
	}
	f.num, f.typ = protowire.Number(tag>>3), protowire.Type(tag&7)
	rest := b[size:]
	switch f.typ {
	case protowire.VarintType:
		f.bits, n = protowire.ConsumeVarint(rest)
	case protowire.BytesType:
		if len(rest) > 0 && rest[0] < 0x80 && int(rest[0]) < len(rest) {
			n = 1 + int(rest[0])
			f.body = rest[1:n:n]
		} else {
			f.body, n = protowire.ConsumeBytes(rest)
		}
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(rest)
		f.bits = uint64(v)
	case protowire.Fixed64Type:
		f.bits, n = protowire.ConsumeFixed64(rest)
	default:
		n = protowire.ConsumeFieldValue(f.num, f.typ, rest)
	}
	if n < 0 {
		return f, -1
	}
	return f, n + size
}
