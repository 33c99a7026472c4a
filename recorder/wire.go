package recorder

import (
	"errors"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// eachField calls f with each field of a message in wire format, groups
// excepted.
func eachField(b []byte, f func(field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errWire
		}
		b = b[n:]
		v := field{num: num}
		switch typ {
		case protowire.VarintType:
			v.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v.n, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var n32 uint32
			n32, n = protowire.ConsumeFixed32(b)
			v.n = uint64(n32)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errWire
		}
		b = b[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

var errWire = errors.New("a message is not in wire format")

// field is one field of a message: a number, or bytes that belong to the
// message.
type field struct {
	num   protowire.Number
	n     uint64
	bytes []byte
}

func (f field) time() time.Time { return time.Unix(0, int64(f.n)).UTC() }
