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

// read is Read.
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
	b = b[n:]
	if f.Type == protowire.BytesType && len(b) > 0 { // as most are
		size, m := uint64(b[0]), 1
		if size >= 0x80 {
			size, m = protowire.ConsumeVarint(b)
		}
		if m < 0 || size > uint64(len(b)-m) {
			return -1
		}
		end := m + int(size)
		f.Uint, f.Body = 0, b[m:end:end]
		return n + end
	}
	m := f.value(b)
	if m < 0 {
		return -1
	}
	return n + m
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
