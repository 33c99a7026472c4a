package decode

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// scanner walks over the fields of one protobuf message without knowing its
// type. Bodies are parts of buf.
type scanner struct {
	buf []byte
	off int // of the next field

	num  protowire.Number
	typ  protowire.Type
	at   int    // where the field's tag begins
	body []byte // of a length-delimited field
	uint uint64 // of a varint

	err string // why the scan ended early, or ""
}

func scan(b []byte) scanner { return scanner{buf: b} }

// next moves to the next field. It returns false at the end and where the
// bytes make no sense; then err is set and off is where the last whole field
// ended.
func (s *scanner) next() bool {
	if s.off >= len(s.buf) {
		return false
	}
	rest := s.buf[s.off:]
	num, typ, n := protowire.ConsumeTag(rest)
	if n < 0 {
		return s.fail("a field tag that is not valid")
	}
	switch typ {
	case protowire.BytesType:
		size, m := protowire.ConsumeVarint(rest[n:])
		if m < 0 {
			return s.fail("a length that is not valid")
		}
		n += m
		if size > uint64(len(rest)-n) {
			return s.fail(fmt.Sprintf("field %d is %d bytes long where %d remain", num, size, len(rest)-n))
		}
		s.body = rest[n : n+int(size) : n+int(size)]
		n += int(size)
	case protowire.VarintType:
		v, m := protowire.ConsumeVarint(rest[n:])
		if m < 0 {
			return s.fail(fmt.Sprintf("field %d holds a varint that is not valid", num))
		}
		s.uint, s.body = v, nil
		n += m
	default:
		m := protowire.ConsumeFieldValue(num, typ, rest[n:])
		if m < 0 {
			return s.fail(fmt.Sprintf("field %d is not valid", num))
		}
		s.body = nil
		n += m
	}
	s.num, s.typ, s.at = num, typ, s.off
	s.off += n
	return true
}

func (s *scanner) fail(why string) bool {
	s.err = fmt.Sprintf("%s at byte %d", why, s.off)
	return false
}

// bytes is the body of a length-delimited field; false for any other type.
func (s *scanner) bytes() ([]byte, bool) {
	return s.body, s.typ == protowire.BytesType
}
