package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// packed is an index frame's payload of what stands in it.
func packed(t *testing.T, before int64, raw []byte) []byte {
	t.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer enc.Close()
	b := binary.LittleEndian.AppendUint64(nil, uint64(before))
	return payload(AppendSkippable(nil, MagicIndex, enc.EncodeAll(raw, b)))
}

// fieldsOf are the fields of a block header, as an index has them.
func fieldsOf(h *BlockHeader) []byte {
	b := payload(h.Append(nil))
	return b[:len(b)-CRCSize]
}

// An index says where each block is, and one that cannot be right is refused.
func TestIndex(t *testing.T) {
	one := BlockHeader{Compressed: 100, Uncompressed: 200, Entries: 2, First: 1, Last: 2}
	two := BlockHeader{Compressed: 50, Uncompressed: 60, Entries: 1, First: 3, Last: 3, Labels: []string{"a"}}
	entry := func(gap uint64, h *BlockHeader) []byte {
		return protowire.AppendBytes(protowire.AppendVarint(nil, gap), fieldsOf(h))
	}
	type block struct {
		at, size int64
		first    session.Seq
	}
	size := func(h *BlockHeader) int64 { return int64(len(h.Append(nil))) }
	read := func(p []byte) (got []block, before int64, err error) {
		before, err = ParseIndex(p, func(at int64, size int, h *BlockHeader, fields []byte) error {
			var again BlockHeader
			if err := again.ParseFields(fields); err != nil || !reflect.DeepEqual(again, *h) {
				t.Errorf("%+v is not what its fields say: %+v, %v", h, again, err)
			}
			got = append(got, block{at, int64(size), h.First})
			return nil
		})
		return got, before, err
	}
	got, before, err := read(packed(t, 77, append(entry(1000, &one), entry(7, &two)...)))
	second := 1000 + size(&one) + 100 + 7
	if want := []block{{1000, size(&one), 1}, {second, size(&two), 3}}; err != nil || before != 77 || !slices.Equal(got, want) {
		t.Errorf("%v, the one before is at %d, %v; not %v", got, before, err, want)
	}
	if got, before, err := read(packed(t, 5, nil)); err != nil || before != 5 || got != nil {
		t.Errorf("of nothing: %v, %d, %v", got, before, err)
	}
	enough := errors.New("enough")
	if _, err := ParseIndex(packed(t, 0, entry(1, &one)), func(int64, int, *BlockHeader, []byte) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
	huge := one
	huge.Uncompressed, huge.Compressed = MaxBlock, MaxCompressed(MaxBlock)+1
	flipped := packed(t, 0, entry(1, &one))
	flipped[3] ^= 1
	short := AppendSkippable(nil, MagicIndex, make([]byte, 7))
	for name, p := range map[string][]byte{
		"a flipped bit":         flipped,
		"too short":             payload(short),
		"no checksum":           {1, 2, 3},
		"not compressed":        payload(AppendSkippable(nil, MagicIndex, []byte("12345678 not zstd"))),
		"half a number":         packed(t, 0, []byte{0x80}),
		"half a header":         packed(t, 0, entry(1, &one)[:10]),
		"a header that is none": packed(t, 0, protowire.AppendBytes([]byte{1}, []byte{0x80})),
		"an impossible header":  packed(t, 0, entry(1, &huge)),
		"too far":               packed(t, 0, entry(1<<62+1, &one)),
		"together too far":      packed(t, 0, append(entry(1<<61, &one), entry(1<<62-1<<61, &two)...)),
	} {
		if got, _, err := read(p); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got, _, err := read(packed(t, 0, entry(1<<62, &one))); err != nil || got[0].at != 1<<62 {
		t.Errorf("as far as may be: %v, %v", got, err)
	}
}

// Descriptors take as many parts as they need, and what is larger than may be packed
// is not unpacked.
func TestPartsOfDescriptors(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := enc.EncodeAll(make([]byte, MaxDescriptors+1), nil)
	enc.Close()
	if _, err := UnpackDescriptors(bomb); err == nil {
		t.Error("more than there may be is unpacked")
	}
	for n, parts := range map[int]int{0: 0, 1: 1, descriptorsPart: 1, descriptorsPart + 1: 2, 3 * descriptorsPart: 3} {
		text := strings.Repeat("x", n)
		got, count := "", 0
		for b := appendDescriptors(nil, text); len(b) > 0; count++ {
			size := int(binary.LittleEndian.Uint32(b[4:]))
			if binary.LittleEndian.Uint32(b) != MagicDescriptors || size > MaxSkippable {
				t.Fatalf("%d bytes: a frame of %d", n, size)
			}
			part, err := DescriptorsPart(b[FrameHeadSize:][:size])
			if err != nil {
				t.Fatal(err)
			}
			got, b = got+string(part), b[FrameHeadSize+size:]
		}
		if got != text || count != parts {
			t.Errorf("%d bytes are %d in %d parts", n, len(got), count)
		}
	}
}

// A long block that ends early, or is none of one entry, is refused wherever that
// shows.
func TestSiftOfWhatIsTorn(t *testing.T) {
	e := AppendEntry(nil, &session.Entry{Seq: 7, Kind: session.KindMessage, Time: time.Unix(1, 2), Message: &session.Message{Size: 3}})
	e = protowire.AppendBytes(protowire.AppendTag(e, FieldData, protowire.BytesType), make([]byte, leastAside))
	e = protowire.AppendFixed32(protowire.AppendTag(e, 99, protowire.Fixed32Type), 5)
	block := append(protowire.AppendVarint(nil, uint64(len(e))), e...)
	whole, aside, err := Sift(bytes.NewReader(block), uint64(len(block)), true)
	if err != nil || len(aside.parts) != 1 || aside.parts[0].chunks.Len() != leastAside || len(whole) > 200 {
		t.Fatalf("%d bytes, %+v, %v", len(whole), aside, err)
	}
	_, aside, err = Sift(bytes.NewReader(block), uint64(len(block)), false)
	if err != nil || len(aside.parts) != 1 || aside.parts[0].left != leastAside || aside.parts[0].chunks != nil {
		t.Fatalf("%+v, %v", aside, err)
	}
	for _, cut := range []int{1, 2, 3, 7, 12, 30, leastAside, len(block) - 6, len(block) - 2, len(block) - 1} {
		for _, keep := range []bool{true, false} {
			if _, _, err := Sift(bytes.NewReader(block[:cut]), uint64(len(block)), keep); err == nil {
				t.Errorf("%d bytes of %d pass", cut, len(block))
			} else if cut > 3 && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes of %d: %v", cut, len(block), err)
			}
		}
	}
	tag := func(num protowire.Number, typ protowire.Type) []byte { return protowire.AppendTag(nil, num, typ) }
	for name, c := range map[string]struct {
		entry []byte
		want  string
	}{
		"a group":           {append(tag(1, protowire.StartGroupType), tag(1, protowire.EndGroupType)...), "wire format"},
		"number 0":          {[]byte{0, 1}, "wire format"},
		"that of what left": {append(tag(fieldAside, protowire.VarintType), 0), "wire format"},
		"a long text":       {append(tag(2, protowire.BytesType), 9, 'x'), "wire format"},
		"a short i32":       {append(tag(2, protowire.Fixed32Type), 1, 2), "wire format"},
		"a short i64":       {append(tag(2, protowire.Fixed64Type), 1, 2, 3, 4), "wire format"},
		"a long number":     {append(tag(2, protowire.VarintType), bytes.Repeat([]byte{0xff}, 11)...), "wire format"},
		"half a number":     {append(tag(2, protowire.VarintType), 0x80), "wire format"},
	} {
		b := append(protowire.AppendVarint(nil, uint64(len(c.entry))), c.entry...)
		if _, _, err := Sift(bytes.NewReader(b), uint64(len(b)), true); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	two := append(bytes.Clone(block), block...)
	if _, _, err := Sift(bytes.NewReader(two), uint64(len(two)), true); err == nil || !strings.Contains(err.Error(), "several entries") {
		t.Errorf("two entries: %v", err)
	}
	if _, _, err := Sift(bytes.NewReader(two), uint64(len(block)), true); err == nil || !strings.Contains(err.Error(), "longer than its header says") {
		t.Errorf("more than is said: %v", err)
	}
}
