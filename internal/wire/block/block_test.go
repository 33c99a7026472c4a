package block

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// heard is a decoder and the fields that came out of it.
type heard struct {
	*Decoder
	fields []string
}

func listen() *heard {
	h := &heard{}
	h.Decoder = NewDecoder(func(f hpack.HeaderField) { h.fields = append(h.fields, f.Name+"="+f.Value) })
	return h
}

// block has one block decoded, in pieces of n bytes.
func (h *heard) block(n int, b []byte) ([]string, error) {
	h.fields = nil
	h.Begin()
	for piece := range slices.Chunk(b, n) {
		h.Write(piece)
	}
	err := h.Finish()
	return h.fields, err
}

// literal is a field that leaves the table as it is.
func literal(name, value string) []byte {
	number := func(n int) []byte { // RFC 7541 5.1, with a prefix of 7 bits
		if n < 127 {
			return []byte{byte(n)}
		}
		out := []byte{127}
		for n -= 127; n >= 128; n >>= 7 {
			out = append(out, byte(n)|128)
		}
		return append(out, byte(n))
	}
	return slices.Concat([]byte{0}, number(len(name)), []byte(name), number(len(value)), []byte(value))
}

// indexed is the newest field of the table, and inserted is one that becomes it.
var indexed = []byte{0x80 | 62}

func inserted(name, value string) []byte {
	b := literal(name, value)
	b[0] = 0x40
	return b
}

// What an encoder says is heard, whatever the pieces: plain blocks, ones that begin with
// a change of the table's size, or with two.
func TestPieces(t *testing.T) {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	encode := func(fields ...string) []byte {
		b.Reset()
		for _, f := range fields {
			name, value, _ := strings.Cut(f, "=")
			if err := enc.WriteField(hpack.HeaderField{Name: name, Value: value}); err != nil {
				t.Fatal(err)
			}
		}
		return bytes.Clone(b.Bytes())
	}
	var blocks [][]byte
	var want [][]string
	add := func(fields ...string) {
		blocks, want = append(blocks, encode(fields...)), append(want, fields)
	}
	add("a=b", "c=d")
	add("a=b", "c=d", ":path=/x")
	enc.SetMaxDynamicTableSize(30) // which fits into one byte
	add("e=f", "a=b")
	enc.SetMaxDynamicTableSize(4000)
	add("a=b", "long="+strings.Repeat("x", 500))
	add("a=b")
	enc.SetMaxDynamicTableSize(0)
	enc.SetMaxDynamicTableSize(4096) // both are said
	add("a=b", "c=d")
	add("c=d", "a=b")
	// What encoders of others do: a size alone, and nothing at all.
	blocks, want = append(blocks, []byte{0x3f, 0xe1, 0x1f}, nil), append(want, nil, nil)
	enc.SetMaxDynamicTableSize(4096)
	add("c=d")
	for n := 1; n < 20; n++ {
		h := listen()
		for i, block := range blocks {
			if got, err := h.block(n, block); err != nil || !slices.Equal(got, want[i]) || h.Cut() {
				t.Fatalf("block %d in pieces of %d: %q, %v, cut %t", i, n, got, err, h.Cut())
			}
		}
	}
}

// Sizes of the table that fill what is collected, and go on past it, whatever their
// length is.
func TestManySizes(t *testing.T) {
	size := []byte{0x3f, 0xe1, 0x1f}
	for _, one := range [][]byte{{0x20}, {0x3e}, size, {0x3f, 0xe1, 0x9f, 0}, {0x3f, 0xe1, 0x9f, 0x80, 0}} {
		for shift := range 6 {
			h := listen()
			if _, err := h.block(1, inserted("a", "b")); err != nil {
				t.Fatal(err)
			}
			// The field is still there, unless a size left no room for it.
			begin := slices.Concat(bytes.Repeat(size, shift), bytes.Repeat(one, 2*stage/len(one)))
			got, err := h.block(stage/2+1, slices.Concat(begin, indexed))
			room := one[0] == 0x3f
			if err == nil != room || room && !slices.Equal(got, []string{"a=b"}) {
				t.Errorf("%x after %d others: %q, %v", one, shift, got, err)
			}
			if room {
				continue
			}
			h = listen()
			if got, err := h.block(stage/2+1, slices.Concat(begin, size, inserted("a", "b"), indexed)); err != nil || len(got) != 2 {
				t.Errorf("%x after %d others, and then a new field: %q, %v", one, shift, got, err)
			}
		}
	}
}

// A list is taken up to MaxList, which counts 32 bytes for each field, and the rest of it
// still changes the table.
func TestCut(t *testing.T) {
	for more, fields := range []int{2, 1} {
		h := listen()
		one := literal("n", strings.Repeat("v", 1000))
		two := literal("mm", strings.Repeat("w", MaxList-(1+1000+32)-(2+32)+more))
		if got, err := h.block(100, slices.Concat(one, two)); err != nil || len(got) != fields || h.Cut() != (more > 0) {
			t.Errorf("%d bytes more: %d fields, %v, cut %t", more, len(got), err, h.Cut())
		}
		if got, err := h.block(100, literal("next", "")); err != nil || !slices.Equal(got, []string{"next="}) || h.Cut() {
			t.Errorf("the next block: %q, %v, cut %t", got, err, h.Cut())
		}
	}
	h := listen()
	if got, err := h.block(100, slices.Concat(literal("n", strings.Repeat("v", MaxList)), inserted("a", "b"))); err != nil || len(got) != 0 || !h.Cut() {
		t.Errorf("a field that is too long: %q, %v", got, err)
	}
	if got, err := h.block(1, indexed); err != nil || !slices.Equal(got, []string{"a=b"}) {
		t.Errorf("a field that was inserted after it: %q, %v", got, err)
	}
}

// Bytes are collected before they are decoded, and not more of them than stage; between
// blocks little is held.
func TestStage(t *testing.T) {
	field := literal("n", strings.Repeat("v", 100))
	block := bytes.Repeat(field, 2*stage/len(field))
	h := listen()
	h.Begin()
	for i := range stage - 1 {
		h.Write(block[i : i+1])
	}
	if len(h.fields) != 0 {
		t.Errorf("a decoder is fed before %d bytes are there", stage)
	}
	h.Write(block[stage-1 : stage+10])
	if want := stage / len(field); len(h.fields) != want {
		t.Errorf("%d fields of %d bytes, want %d", len(h.fields), stage, want)
	}
	h.Write(block[stage+10:])
	if len(h.staged) >= stage || cap(h.staged) > 2*stage {
		t.Errorf("%d bytes are collected, in room for %d", len(h.staged), cap(h.staged))
	}
	if err := h.Finish(); err != nil || len(h.fields) != len(block)/len(field) {
		t.Errorf("%d fields, %v", len(h.fields), err)
	}
	if h.staged != nil {
		t.Errorf("%d bytes are held after a large block", cap(h.staged))
	}
	h = listen()
	h.staged = make([]byte, 0, idle)
	if _, err := h.block(idle, literal("n", strings.Repeat("v", idle-6))); err != nil {
		t.Error(err)
	}
	if cap(h.staged) != idle {
		t.Errorf("room for %d bytes is held after a small block, want %d", cap(h.staged), idle)
	}
}

// What is wrong is said when the block ends, and at the end of each block after it.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		block []byte
		want  string
	}{
		{"a size that is not complete", []byte{0x3f, 0xe1}, "header block ends inside a table size update"},
		{"one of which only the first byte is there", []byte{0x3f}, "header block ends inside a table size update"},
		{"a size that is longer than any number", append(append([]byte{0x3f}, bytes.Repeat([]byte{0x80}, 30)...), 0), "decoding error: varint integer overflow"},
		{"a size that is larger than a table may be", []byte{0x3f, 0xe2, 0xff, 0x3f}, "decoding error: dynamic table size update too large"},
		{"a size after a field", slices.Concat(inserted("a", "b"), []byte{0x20}), "decoding error: dynamic table size update MUST occur at the beginning of a header block"},
		{"a field that is not complete", literal("name", "value")[:8], "decoding error: truncated headers"},
		{"a field that is nowhere", []byte{0x80 | 63}, "decoding error: invalid indexed representation index 63"},
		{"a string that is too long", literal("n", strings.Repeat("v", MaxString+1)), "hpack: string too long"},
	} {
		h := listen()
		_, err := h.block(1000, c.block)
		if fmt.Sprint(err) != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		got, err := h.block(1000, literal("a", "b"))
		if fmt.Sprint(err) != c.want || len(got) != 0 {
			t.Errorf("the block after %s: %q, %v", c.name, got, err)
		}
	}
	for _, c := range [][]byte{
		{0x3f, 0xe1, 0xff, 0x3f}, // the largest table
		literal("n", strings.Repeat("v", MaxString)),
	} {
		if _, err := listen().block(1000, c); err != nil {
			t.Errorf("what is just small enough: %v", err)
		}
	}
}
