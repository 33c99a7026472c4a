package protoscan_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// message has a field of each wire type, long lengths and tags among them.
func message() []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1<<40)
	b = protowire.AppendFixed32(protowire.AppendTag(b, 2, protowire.Fixed32Type), 7)
	b = protowire.AppendFixed64(protowire.AppendTag(b, 3, protowire.Fixed64Type), 8)
	b = protowire.AppendString(protowire.AppendTag(b, 4, protowire.BytesType), "short")
	b = protowire.AppendBytes(protowire.AppendTag(b, protowire.MaxValidNumber, protowire.BytesType), make([]byte, 300))
	b = protowire.AppendVarint(protowire.AppendTag(protowire.AppendTag(b, 5, protowire.StartGroupType), 1, protowire.VarintType), 9)
	return protowire.AppendTag(b, 5, protowire.EndGroupType)
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ bytes, want string }{
		{"\x08\x01\x80", "a field tag that is not valid at byte 2"},
		{"\x00", "a field tag that is not valid at byte 0"},
		{"\x0a\xff", "a length that is not valid at byte 0"},
		{"\x12\x05abc", "field 2 is 5 bytes long where 3 remain at byte 0"},
		{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "field 2 is 18446744073709551615 bytes long where 0 remain at byte 0"},
		{"\x18\xff", "field 3 holds a varint that is not valid at byte 0"},
		{"\x25\x01", "field 4 is not valid at byte 0"},
		{"\x0b\x08\x01", "field 1 is not valid at byte 0"},
		{"\x0c", "field 1 is not valid at byte 0"},
		{"", ""},
		{"\x08\x01", ""},
	} {
		s := protoscan.Of([]byte(c.bytes))
		for s.Next() {
		}
		if s.Err != c.want {
			t.Errorf("%q: %q, want %q", c.bytes, s.Err, c.want)
		}
	}
}

func TestNoAllocation(t *testing.T) {
	b := message()
	if n := testing.AllocsPerRun(10, func() {
		for s := protoscan.Of(b); s.Next(); {
			_ = s.Raw()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What is read is what protowire reads, and all of it: the fields and the rest
// are the message.
func FuzzScanner(f *testing.F) {
	f.Add(message())
	f.Add(message()[:40])
	f.Add([]byte("\x0b\x0b\x0c\x8c\x00\x1d\x01\x02\x03\x04"))
	f.Add([]byte("\x8a\x00\x81\x00\x01\xf8\xff\xff\xff\x3f\x01"))
	f.Add([]byte("\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var all []byte
		s, rest := protoscan.Of(b), b
		for s.Next() {
			num, typ, n := protowire.ConsumeField(rest)
			if n < 0 || num != s.Num || typ != s.Type || n != s.Off-s.At || !bytes.Equal(s.Raw(), rest[:n]) {
				t.Fatalf("field %d of type %d and %d bytes, protowire has %d of %d and %d", s.Num, s.Type, s.Off-s.At, num, typ, n)
			}
			check(t, s)
			all, rest = append(all, s.Raw()...), rest[n:]
		}
		if _, _, n := protowire.ConsumeField(rest); len(rest) > 0 && n >= 0 || (s.Err == "") != (len(rest) == 0) {
			t.Fatalf("it ends with %q before %q", s.Err, rest)
		}
		if !bytes.Equal(append(all, s.Rest()...), b) {
			t.Fatal("the fields and the rest are not the message")
		}
	})
}

// check compares the value of a field with what its bytes say.
func check(t *testing.T, s *protoscan.Scanner) {
	raw := s.Raw()
	_, _, n := protowire.ConsumeTag(raw)
	value := raw[n:]
	want, body, group := uint64(0), []byte(nil), []byte(nil)
	switch s.Type {
	case protowire.VarintType:
		want, _ = protowire.ConsumeVarint(value)
	case protowire.Fixed32Type:
		want = uint64(binary.LittleEndian.Uint32(value))
	case protowire.Fixed64Type:
		want = binary.LittleEndian.Uint64(value)
	case protowire.BytesType:
		body, _ = protowire.ConsumeBytes(value)
	case protowire.StartGroupType:
		group, _ = protowire.ConsumeGroup(s.Num, value)
	}
	got, ok := s.Bytes()
	if s.Uint != want || !bytes.Equal(got, body) || ok != (s.Type == protowire.BytesType) || !bytes.Equal(s.Group(), group) {
		t.Fatalf("field %d is %d, %q, %q, want %d, %q, %q", s.Num, s.Uint, got, s.Group(), want, body, group)
	}
	if (s.Varint() == want) != (s.Type == protowire.VarintType || want == 0) {
		t.Fatalf("field %d has the varint %d", s.Num, s.Varint())
	}
	if cap(got) != len(got) {
		t.Fatalf("field %d may be appended to", s.Num)
	}
}
