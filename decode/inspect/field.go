package inspect

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// field walks over all values of one field.
func (in *Inspector) field(f *fieldFacts, b []byte, runs []run, depth int) bool {
	if f.list || f.class == classMap {
		return in.repeated(f, b, runs, depth)
	}
	last, n := protoscan.Read(b[runs[0].start:])
	if len(runs) == 1 && n == int(runs[0].end-runs[0].start) && last.Type == f.wire {
		return in.single(f, &last, depth)
	}
	strays, parts := len(in.strays), 0
	for _, r := range runs {
		for off := r.start; off < r.end; {
			v, n := protoscan.Read(b[off:r.end])
			off += uint32(n)
			if v.Type != f.wire {
				in.stray(f, v.Type, b[int(off)-n:off])
				continue
			}
			if f.class == classString && !utf8.Valid(v.Body) {
				return in.broken(f.name, "the string is not valid UTF-8")
			}
			parts++
			if parts > 1 && f.class == classMessage {
				ok := false
				if v.Body, ok = merge(last.Body, v.Body, parts); !ok {
					return in.broken(f.name, "a part of the message is not whole")
				}
			}
			last = v
		}
	}
	ok := parts == 0 || in.single(f, &last, depth)
	in.canon = append(in.canon, in.strays[strays:]...)
	in.strays = in.strays[:strays]
	return ok
}

// stray takes a value that is of another wire type than its field: to a parser
// it is an unknown field.
func (in *Inspector) stray(f *fieldFacts, typ protowire.Type, whole []byte) {
	in.finding(f.name, fmt.Sprintf("wire type %d", typ))
	in.strays = append(in.strays, whole...)
}

// merge puts the parts of a message together. Each must be whole in itself.
func merge(before, part []byte, parts int) ([]byte, bool) {
	if !protoscan.Whole(part) {
		return nil, false
	}
	if parts == 2 {
		if !protoscan.Whole(before) {
			return nil, false
		}
		before = slices.Clone(before)
	}
	return append(before, part...), true
}

// single walks over the value of a field that is neither list nor map.
func (in *Inspector) single(f *fieldFacts, v *protoscan.Field, depth int) bool {
	if f.deprecated && !(f.implicit && f.isZero(v)) {
		in.deprecated(f.name, "")
	}
	if f.class != classMessage {
		return in.scalar(f, f.rule, v)
	}
	if r := f.rule; r != nil && !r.body(v.Body) {
		in.suspect = true
	}
	in.path = append(in.path, step{field: f, index: -1})
	ok := in.nested(f, v.Body, depth)
	in.path = in.path[:len(in.path)-1]
	return ok
}

func (f *fieldFacts) isZero(v *protoscan.Field) bool {
	if f.wire == protowire.BytesType {
		return len(v.Body) == 0
	}
	return f.normal(v.Uint) == 0
}

// repeated walks over the values of a list or a map.
func (in *Inspector) repeated(f *fieldFacts, b []byte, runs []run, depth int) bool {
	entries, strays := len(in.entries), len(in.strays)
	var items *rule
	if f.rule != nil {
		items = f.rule.items
	}
	at := len(in.path)
	in.path = append(in.path, step{field: f})
	count, ok := 0, true
	for _, r := range runs {
		for off := r.start; off < r.end && ok; {
			v, n := protoscan.Read(b[off:r.end])
			off += uint32(n)
			in.path[at].index = count
			switch {
			case v.Type != f.wire && v.Type == protowire.BytesType && f.list:
				packed := 0
				packed, ok = in.packed(f, items, v.Body)
				count += packed
				continue
			case v.Type != f.wire:
				in.stray(f, v.Type, b[int(off)-n:off])
				continue
			case f.class == classMap:
				in.path[at].entry = v.Body
				ok = in.entry(f, v.Body, depth)
			case f.class == classMessage:
				if items != nil && !items.body(v.Body) {
					in.suspect = true
				}
				ok = in.nested(f, v.Body, depth)
			default:
				ok = in.scalar(f, items, &v)
			}
			count++
		}
	}
	if ok && count > 0 {
		if f.deprecated {
			in.path[at].index = -1
			in.deprecated(f.name, "")
		}
		in.sortEntries(in.entries[entries:])
		if r := f.rule; r != nil && (r.unsure || uint64(count) < r.fewest || uint64(count) > r.most) {
			in.suspect = true
		}
	}
	in.canon = append(in.canon, in.strays[strays:]...)
	in.path, in.strays, in.entries = in.path[:at], in.strays[:strays], in.entries[:entries]
	return ok
}

// packed walks over the values of a list that stand in one field, and counts
// them.
func (in *Inspector) packed(f *fieldFacts, items *rule, b []byte) (count int, ok bool) {
	for len(b) > 0 {
		v, n := protoscan.Value(f.num, f.wire, b)
		if n < 0 {
			return count, in.broken("", "a packed value is cut off")
		}
		b = b[n:]
		in.scalar(f, items, &v)
		count++
	}
	return count, true
}

// normal brings a number to the bits that count.
func (f *fieldFacts) normal(bits uint64) uint64 {
	switch f.class {
	case classInt32:
		return uint64(int64(int32(bits)))
	case classUint32:
		return uint64(uint32(bits))
	case classBool:
		return min(bits, 1)
	}
	return bits
}

// scalar writes a value that is no message.
func (in *Inspector) scalar(f *fieldFacts, r *rule, v *protoscan.Field) bool {
	if f.wire == protowire.BytesType {
		return in.text(f, r, v.Body)
	}
	bits := f.normal(v.Uint)
	if f.deprecatedValues != nil {
		if name := f.deprecatedValues[int32(bits)]; name != "" {
			in.deprecated(f.name, name)
		}
	}
	if r != nil && !r.num(bits) {
		in.suspect = true
	}
	if f.implicit && bits == 0 {
		return true
	}
	in.canon = protowire.AppendTag(in.canon, f.num, f.wire)
	switch f.wire {
	case protowire.Fixed32Type:
		in.canon = protowire.AppendFixed32(in.canon, uint32(bits))
	case protowire.Fixed64Type:
		in.canon = protowire.AppendFixed64(in.canon, bits)
	default:
		in.canon = protowire.AppendVarint(in.canon, bits)
	}
	return true
}

// text writes a string or bytes.
func (in *Inspector) text(f *fieldFacts, r *rule, b []byte) bool {
	if f.class == classString && !utf8.Valid(b) {
		return in.broken(f.name, "the string is not valid UTF-8")
	}
	if r != nil && !r.body(b) {
		in.suspect = true
	}
	if f.use != 0 {
		in.cluster(f, b)
	}
	if !f.implicit || len(b) > 0 {
		in.leaf(f.num, b)
	}
	return true
}

func (in *Inspector) leaf(num protowire.Number, b []byte) {
	in.canon = protowire.AppendTag(in.canon, num, protowire.BytesType)
	in.canon = protowire.AppendBytes(in.canon, b)
}
