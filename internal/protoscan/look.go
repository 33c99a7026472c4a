package protoscan

import (
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// First is the first length-delimited field num of the message b, or nil.
func First(b []byte, num protowire.Number) []byte {
	for s := Of(b); s.Next(); {
		if v, ok := s.Bytes(); ok && s.Num == num {
			return v
		}
	}
	return nil
}

// Last is the last length-delimited field num of b, or nil. Of a field that is
// neither a list nor a message it is the one that counts.
func Last(b []byte, num protowire.Number) (v []byte) {
	for s := Of(b); s.Next(); {
		if body, ok := s.Bytes(); ok && s.Num == num {
			v = body
		}
	}
	return v
}

// Whole says whether b is a sequence of whole fields.
func Whole(b []byte) bool {
	s := Of(b)
	for s.Next() {
	}
	return s.Err == ""
}

// Numbers reads fields 1 and 2, both varints, as a Duration and a Timestamp have
// them; false if there is anything else.
func Numbers(b []byte) (one, two int64, ok bool) {
	s := Of(b)
	for s.Next() {
		switch {
		case s.Type != protowire.VarintType:
			return 0, 0, false
		case s.Num == 1:
			one = int64(s.Uint)
		case s.Num == 2:
			two = int64(s.Uint)
		default:
			return 0, 0, false
		}
	}
	return one, two, s.Err == ""
}

// WireType is how values of a kind are written.
func WireType(k protoreflect.Kind) protowire.Type {
	switch k {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}

// IsText says whether b is what a person would call text: valid UTF-8 without
// control characters other than white space.
func IsText(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

// IsPrintable says whether b is valid UTF-8 and all of it can be seen.
func IsPrintable(b []byte) bool {
	i := 0
	for i < len(b) && b[i]-' ' < 0x7f-' ' {
		i++
	}
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 || !unicode.IsPrint(r) {
			return false
		}
		i += n
	}
	return true
}
