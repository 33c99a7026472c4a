// Package protoscan walks over the fields of protobuf messages whose type nobody
// needs to know. It allocates nothing unless the bytes make no sense, and goes
// into no field.
package protoscan

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Scanner walks over the fields of one message.
//
//	for s := protoscan.Of(b); s.Next(); {
//		... s.Num, s.Body
//	}
type Scanner struct {
	Field

	At, Off int    // where the field begins and where it ends
	Err     string // why the scan ended early, or ""

	buf []byte
}

// Of returns a Scanner that stands before the first field of b. It is a pointer
// because a loop copies its variable for each turn.
func Of(b []byte) *Scanner { return &Scanner{buf: b} }

// Next moves to the next field. It returns false at the end and where the
// bytes make no sense; then Err is set and Off is where the last whole field
// ended.
func (s *Scanner) Next() bool {
	if s.Off >= len(s.buf) {
		return false
	}
	n := s.Field.read(s.buf[s.Off:])
	if n < 0 {
		s.Err = fmt.Sprintf("%s at byte %d", why(s.Rest()), s.Off)
		return false
	}
	s.At = s.Off
	s.Off += n
	return true
}

// Raw is the field with its tag.
func (s *Scanner) Raw() []byte { return s.buf[s.At:s.Off:s.Off] }

// Rest is what follows the field.
func (s *Scanner) Rest() []byte { return s.buf[s.Off:] }

// Group is what is in a group, nil in any other field.
func (s *Scanner) Group() []byte {
	if s.Type != protowire.StartGroupType {
		return nil
	}
	_, _, n := protowire.ConsumeTag(s.Raw())
	b, _ := protowire.ConsumeGroup(s.Num, s.Raw()[n:])
	return b[:len(b):len(b)]
}

// why says what is wrong with a field that cannot be read.
func why(b []byte) string {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return "a field tag that is not valid"
	}
	switch typ {
	case protowire.BytesType:
		size, m := protowire.ConsumeVarint(b[n:])
		if m < 0 {
			return "a length that is not valid"
		}
		return fmt.Sprintf("field %d is %d bytes long where %d remain", num, size, len(b)-n-m)
	case protowire.VarintType:
		return fmt.Sprintf("field %d holds a varint that is not valid", num)
	}
	return fmt.Sprintf("field %d is not valid", num)
}
