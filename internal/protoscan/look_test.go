package protoscan_test

import (
	"math"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// Of a field that stands twice the first and the last are told apart, and what
// is no length-delimited field counts for neither.
func TestFirstAndLast(t *testing.T) {
	for _, c := range []struct{ bytes, first, last string }{
		{"\x12\x01a\x10\x07\x0a\x01x\x12\x01b\x0a\x01y", "a", "b"},
		{"\x10\x07\x12\x01a\x10\x08", "a", "a"},
		{"\x12\x01a\x12\x05b", "a", "a"}, // torn
		{"\x10\x07", "", ""},
		{"", "", ""},
	} {
		first, last := protoscan.First([]byte(c.bytes), 2), protoscan.Last([]byte(c.bytes), 2)
		if string(first) != c.first || string(last) != c.last || (first == nil) != (c.first == "") || (last == nil) != (c.last == "") {
			t.Errorf("%q: %q and %q", c.bytes, first, last)
		}
	}
}

func TestWhole(t *testing.T) {
	for text, want := range map[string]bool{"": true, "\x08\x01": true, "\x08\x01\x12\x01": false, "\x08\x01\x12\x01a": true, "\x08": false} {
		if protoscan.Whole([]byte(text)) != want {
			t.Errorf("%q is whole: %v", text, !want)
		}
	}
}

// A Duration is two varints and nothing else.
func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		bytes    string
		one, two int64
		ok       bool
	}{
		{"", 0, 0, true},
		{"\x08\x05", 5, 0, true},
		{"\x10\x07\x08\x05", 5, 7, true},
		{"\x08\x05\x08\x06", 6, 0, true},
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", -1, 0, true},
		{"\x08\x05\x18\x01", 0, 0, false},
		{"\x08\x05\x12\x01a", 0, 0, false},
		{"\x08\x05\x10", 5, 0, false},
	} {
		one, two, ok := protoscan.Numbers([]byte(c.bytes))
		if one != c.one || two != c.two || ok != c.ok {
			t.Errorf("%q: %d, %d, %v", c.bytes, one, two, ok)
		}
	}
}

func TestWireType(t *testing.T) {
	for typ, kinds := range map[protowire.Type][]protoreflect.Kind{
		protowire.BytesType:      {protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind},
		protowire.Fixed32Type:    {protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind},
		protowire.Fixed64Type:    {protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind},
		protowire.StartGroupType: {protoreflect.GroupKind},
		protowire.VarintType: {
			protoreflect.BoolKind, protoreflect.EnumKind, protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind,
			protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Uint64Kind,
		},
	} {
		for _, k := range kinds {
			if got := protoscan.WireType(k); got != typ {
				t.Errorf("%s is of wire type %d", k, got)
			}
		}
	}
}

// Text may have lines; what is printable has nothing that cannot be seen.
func TestTexts(t *testing.T) {
	for text, want := range map[string][2]bool{
		"":                         {true, true},
		" ~outbound|80||a.b":       {true, true},
		"é漢":                       {true, true},
		"a\nb\tc\r":                {true, false},
		"a\x1f":                    {false, false},
		"\x7f":                     {false, false},
		"\xff":                     {false, false},
		"é\xff":                    {false, false},
		"é\x00":                    {false, false},
		"é\n":                      {true, false},
		"\u200b":                   {true, false},
		"a\ufffdb":                 {true, true}, // a replacement character that was sent
		"\xc3":                     {false, false},
		"-----BEGIN X-----\nabc\n": {true, false},
	} {
		if got := [2]bool{protoscan.IsText([]byte(text)), protoscan.IsPrintable([]byte(text))}; got != want {
			t.Errorf("%q: text and printable %v", text, got)
		}
	}
}

// One field at a time, and one value of a packed list.
func TestReadAndValue(t *testing.T) {
	for _, c := range []struct {
		bytes string
		num   protowire.Number
		typ   protowire.Type
		uint  uint64
		body  string
		n     int
	}{
		{"\x08\x7f\x01", 1, protowire.VarintType, 127, "", 2},
		{"\x08\x80\x01", 1, protowire.VarintType, 128, "", 3},
		{"\x12\x01ab", 2, protowire.BytesType, 0, "a", 3},
		{"\x80\x01\x01", 16, protowire.VarintType, 1, "", 3},
		{"\xf8\xff\xff\xff\x3f\x01", math.MaxInt32, protowire.VarintType, 1, "", 6},
		{"\xf8\xff\xff\xff\x7f\x01", 0, 0, 0, "", -1}, // one too large
		{"\x1d\x01\x00\x00\x00", 3, protowire.Fixed32Type, 1, "", 5},
		{"\x19\x01\x00\x00\x00\x00\x00\x00\x00", 3, protowire.Fixed64Type, 1, "", 9},
		{"\x1b\x1c", 3, protowire.StartGroupType, 0, "", 2},
		{"\x00\x01", 0, 0, 0, "", -1},
		{"", 0, 0, 0, "", -1},
		{"\x80", 0, 0, 0, "", -1},
		{"\x08", 1, protowire.VarintType, 0, "", -1},
		{"\x12\x02a", 2, protowire.BytesType, 0, "", -1},
		{"\x1d\x01", 3, protowire.Fixed32Type, 0, "", -1},
	} {
		f, n := protoscan.Read([]byte(c.bytes))
		if n != c.n || f.Num != c.num || f.Type != c.typ || f.Uint != c.uint || string(f.Body) != c.body {
			t.Errorf("%q: %d bytes, %+v", c.bytes, n, f)
		}
		if n > 0 {
			_, _, tag := protowire.ConsumeTag([]byte(c.bytes))
			if tag < 0 { // a number that only message sets have
				tag = 5
			}
			if v, m := protoscan.Value(c.num, c.typ, []byte(c.bytes)[tag:]); m != n-tag || v.Uint != c.uint || string(v.Body) != c.body || v.Num != c.num || v.Type != c.typ {
				t.Errorf("the value of %q: %d bytes, %+v", c.bytes, m, v)
			}
		}
	}
	if f := (protoscan.Field{Type: protowire.Fixed32Type, Uint: 7}); f.Varint() != 0 {
		t.Errorf("a fixed value is the varint %d", f.Varint())
	}
	if f := (protoscan.Field{Type: protowire.VarintType, Uint: 7}); f.Varint() != 7 {
		t.Errorf("the varint is %d", f.Varint())
	}
}
