package origin

import "github.com/xdsproxy/xdsproxy/internal/protoscan"

// fields are the bytes of a google.protobuf.Struct, val those of a Value. Of what
// is there twice the last counts, as in protobuf.
type (
	fields []byte
	val    []byte
)

// each calls f for every field.
func (s fields) each(f func(name []byte, v val)) {
	for m := protoscan.Of(s); m.Next(); {
		if entry, ok := m.Bytes(); ok && m.Num == 1 {
			f(protoscan.Last(entry, 1), protoscan.Last(entry, 2))
		}
	}
}

func (s fields) get(name string) (out val) {
	s.each(func(key []byte, v val) {
		if string(key) == name {
			out = v
		}
	})
	return out
}

func (s fields) text(name string) string { return s.get(name).text() }

func (s fields) list(name string, f func(val)) { s.get(name).items(f) }

// text is that of a Value that is a string.
func (v val) text() string { return text(protoscan.Last(v, 3)) }

// object are the fields of a Value that is a Struct.
func (v val) object() (fields, bool) {
	b := protoscan.Last(v, 5)
	return b, b != nil
}

// items calls f for each Value of a list.
func (v val) items(f func(val)) {
	for m := protoscan.Of(protoscan.Last(v, 6)); m.Next(); {
		if item, ok := m.Bytes(); ok && m.Num == 1 {
			f(item)
		}
	}
}
