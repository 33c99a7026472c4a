package protoscan

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field is one field as it stands on the wire.
type Field struct {
	Num  protowire.Number // up to 1<<31-1, as in a message set; other types end at 1<<29-1
	Type protowire.Type
	Uint uint64 // of a varint or a fixed-width value
	Body []byte // of a length-delimited value: a part of what was read
}

// Bytes is the body of a length-delimited field; false for any other type.
func (f *Field) Bytes() ([]byte, bool) { return f.Body, f.Type == protowire.BytesType }

// Varint is the value of a varint, 0 in a field of any other type.
func (f *Field) Varint() uint64 {
	if f.Type == protowire.VarintType {
		return f.Uint
	}
	return 0
}

// Read reads the field at the beginning of b, and its length, which is negative
// if it is not valid.
func Read(b []byte) (f Field, n int) {
	n = f.read(b)
	return f, n
}

// read is Read. Nearly all fields are varints or have a length.
func (f *Field) read(b []byte) int {
	if len(b) == 0 {
		return -1
	}
	tag, n := uint64(b[0]), 1
	if tag >= 0x80 {
		tag, n = protowire.ConsumeVarint(b)
	}
	if n < 0 || tag>>3 == 0 || tag>>3 > math.MaxInt32 {
		return -1
	}
	f.Num, f.Type = protowire.Number(tag>>3), protowire.Type(tag&7)
	if f.Type != protowire.BytesType && f.Type != protowire.VarintType {
		m := f.value(b[n:])
		if m < 0 {
			return -1
		}
		return n + m
	}
	var v uint64 // the value, or the length
	if n < len(b) && b[n] < 0x80 {
		v, n = uint64(b[n]), n+1
	} else {
		var m int
		if v, m = protowire.ConsumeVarint(b[n:]); m < 0 {
			return -1
		}
		n += m
	}
	if f.Type == protowire.VarintType {
		f.Uint, f.Body = v, nil
		return n
	}
	if v > uint64(len(b)-n) {
		return -1
	}
	end := n + int(v)
	f.Uint, f.Body = 0, b[n:end:end]
	return end
}

// Value reads what follows a tag, such as one of the values of a packed list. Its
// length is negative if it is not valid.
func Value(num protowire.Number, typ protowire.Type, b []byte) (f Field, n int) {
	f.Num, f.Type = num, typ
	n = f.value(b)
	return f, n
}

func (f *Field) value(b []byte) (n int) {
	f.Uint, f.Body = 0, nil
	switch f.Type {
	case protowire.VarintType:
		f.Uint, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.Body, n = protowire.ConsumeBytes(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.Uint = uint64(v)
	case protowire.Fixed64Type:
		f.Uint, n = protowire.ConsumeFixed64(b)
	default:
		n = protowire.ConsumeFieldValue(f.Num, f.Type, b)
	}
	return n
}
