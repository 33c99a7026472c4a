package inspect

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
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
			s := protoscan.Of(b)
			for s.Next() {
			}
			if s.Err == "" {
				s.Err = fmt.Sprintf("a field number that is not valid at byte %d", off)
			}
			return sorted, in.broken("", s.Err)
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
	f, n := protoscan.Read(b[off:])
	if n < 0 || f.Num > protowire.MaxValidNumber {
		return 0, -1
	}
	return f.Num, off + n
}
