package mutant

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// field is one field of a message, tag and all, and where its value begins.
type field struct {
	num   protowire.Number
	typ   protowire.Type
	whole []byte
	value []byte // of a length-delimited field without its length
}

// parse returns the fields of a message, or false if b is none.
func parse(b []byte) (fields []field, ok bool) {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, false
		}
		m := protowire.ConsumeFieldValue(num, typ, b[n:])
		if m < 0 {
			return nil, false
		}
		f := field{num, typ, b[:n+m], b[n : n+m]}
		if typ == protowire.BytesType {
			f.value, _ = protowire.ConsumeBytes(b[n:])
		}
		fields, b = append(fields, f), b[n+m:]
	}
	return fields, true
}

// message changes one thing in a message, at any depth. What is not a message
// is changed as text. b stays as it is.
func message(b []byte, r *rand.Rand) []byte {
	fields, ok := parse(b)
	if !ok || len(fields) == 0 {
		return text(b, r)
	}
	i := r.IntN(len(fields))
	f := &fields[i]
	switch r.IntN(16) {
	case 0:
		fields = slices.Delete(fields, i, i+1)
	case 1:
		fields = slices.Insert(fields, i, *f)
	case 2:
		fields = append(fields[:i:i], append([]field{{whole: repeated(f.whole, r)}}, fields[i:]...)...)
	case 3:
		j := r.IntN(len(fields))
		fields[i], fields[j] = fields[j], fields[i]
	case 4: // another number, or another type
		num := []protowire.Number{f.num + 1, f.num - 1, 0, protowire.MaxValidNumber, protowire.Number(1 + r.IntN(40))}[r.IntN(5)]
		tag := protowire.AppendVarint(nil, uint64(num)<<3|uint64(r.IntN(8)))
		f.whole = append(tag, f.whole[protowire.SizeTag(f.num):]...)
	case 5: // a field that is not known, or not valid
		f.whole = append(bytes.Clone(f.whole), []byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}...)
	case 6: // nested in itself
		deep := f.value
		for range 1 << r.IntN(14) {
			if len(deep) > 1<<16 {
				break
			}
			deep = protowire.AppendBytes(protowire.AppendTag(nil, f.num, protowire.BytesType), deep)
		}
		f.whole = deep
	default:
		f.change(r)
	}
	var out []byte
	for _, f := range fields {
		out = append(out, f.whole...)
	}
	return out
}

// change gives a field another value.
func (f *field) change(r *rand.Rand) {
	out := protowire.AppendTag(nil, f.num, f.typ)
	switch f.typ {
	case protowire.VarintType:
		if r.IntN(10) == 0 {
			out = append(out, endless()...)
		} else {
			out = protowire.AppendVarint(out, number(r))
		}
	case protowire.Fixed64Type:
		out = protowire.AppendFixed64(out, number(r))
	case protowire.Fixed32Type:
		out = protowire.AppendFixed32(out, uint32(number(r)))
	case protowire.BytesType:
		body := f.value
		if _, nested := parse(body); nested && len(body) > 1 && r.IntN(4) > 0 {
			body = message(body, r)
		} else {
			body = text(body, r)
		}
		if r.IntN(20) == 0 { // a length that lies
			out = append(protowire.AppendVarint(out, number(r)), body...)
		} else {
			out = protowire.AppendBytes(out, body)
		}
	default:
		return
	}
	f.whole = out
}

// text changes what is text, or only bytes.
func text(b []byte, r *rand.Rand) []byte {
	at := r.IntN(len(b) + 1)
	switch r.IntN(8) {
	case 0:
		return nil
	case 1:
		return b[:at]
	case 2:
		return repeated(b, r)
	case 3:
		if b = bytes.Clone(b); len(b) > 0 {
			b[r.IntN(len(b))] = byte(r.Uint32())
		}
		return b
	case 4:
		return []byte(hostile(r))
	default:
		return slices.Concat(b[:at], []byte(hostile(r)), b[at:])
	}
}

// repeated is b some times, at most thousands.
func repeated(b []byte, r *rand.Rand) []byte {
	return bytes.Repeat(b, min(1<<r.IntN(13), 1+1<<18/(len(b)+1)))
}

// number is one that somebody did not think of: zero, the ends of the ranges,
// times of other centuries.
func number(r *rand.Rand) uint64 {
	const year = 365 * 24 * 3600 * 1_000_000_000
	of := []uint64{
		0, 1, 2, 63, 127, 128, 255, 256, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32, math.MaxUint32 + 1,
		math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64, math.MaxUint64 - 1, 1 << 62, 1 << 53, 1<<53 + 1,
		200 * year, 57 * year, year, math.MaxUint64 - year, r.Uint64(), r.Uint64() >> r.IntN(64),
	}
	return of[r.IntN(len(of))]
}
