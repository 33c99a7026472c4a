package format

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// walked is a block of a recording, as it stands in the file.
type walked struct {
	at    int64
	size  int
	h     BlockHeader
	plain []byte
}

// file is what a recording has, frame after frame.
type file struct {
	header  FileHeader
	blocks  []walked
	indexes []int64
	end     *EndMark
	raw     []byte
}

// walk reads a recording by docs/format.md alone.
func walk(t *testing.T, raw []byte) (f file) {
	t.Helper()
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	f.raw = raw
	for at := 0; at < len(raw); {
		magic, size := binary.LittleEndian.Uint32(raw[at:]), int(binary.LittleEndian.Uint32(raw[at+4:]))
		p := raw[at+FrameHeadSize : at+FrameHeadSize+size]
		next := at + FrameHeadSize + size
		switch magic {
		case MagicHeader:
			err = f.header.Parse(p)
		case MagicDescriptors:
			var part []byte
			part, err = DescriptorsPart(p)
			f.header.Descriptors += string(part)
		case MagicIndex:
			f.indexes = append(f.indexes, int64(at))
		case MagicEnd:
			f.end = new(EndMark)
			err = f.end.Parse(p)
		case MagicBlock:
			w := walked{at: int64(at), size: next - at}
			if err = w.h.Parse(p); err != nil {
				break
			}
			packed := raw[next : next+int(w.h.Compressed)]
			if crc32.Checksum(packed, Castagnoli()) != w.h.Sum {
				t.Errorf("the checksum of the block at %d is another one", at)
			}
			w.plain, err = dec.DecodeAll(packed, nil)
			f.blocks = append(f.blocks, w)
			next += len(packed)
		default:
			t.Fatalf("a frame of %x at %d", magic, at)
		}
		if err != nil {
			t.Fatalf("the frame at %d: %v", at, err)
		}
		at = next
	}
	return f
}

// entries calls each with the entries of a block.
func (w *walked) entries(t *testing.T, each func(b []byte)) {
	t.Helper()
	for b := w.plain; len(b) > 0; {
		e, n := protowire.ConsumeBytes(b)
		if n < 0 {
			t.Fatalf("an entry of the block at %d has no length", w.at)
		}
		each(e)
		b = b[n:]
	}
}

func recordings(t *testing.T) map[string]file {
	t.Helper()
	names, _ := filepath.Glob("../../../check/testdata/sessions/*.xdsp")
	more, _ := filepath.Glob("../../../check/testdata/systems/*.xdsp")
	out := make(map[string]file)
	for _, name := range append(names, more...) {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(name)] = walk(t, raw)
	}
	if len(out) < 50 {
		t.Fatalf("there are %d recordings", len(out))
	}
	return out
}

// What the header of a block says of its entries is what is in them.
func TestBlockHeadersOfRecordings(t *testing.T) {
	for name, f := range recordings(t) {
		var dict Dictionary
		var entries uint64
		for i := range f.blocks {
			w := &f.blocks[i]
			contents, err := Definitions(w.plain)
			if err != nil || uint64(len(contents)) != w.h.Contents {
				t.Fatalf("%s: a block defines %d contents, not %d, %v", name, len(contents), w.h.Contents, err)
			}
			if err := dict.Begin(&w.h, w.at); err != nil {
				t.Fatal(err)
			}
			if len(contents) > 0 {
				if err := dict.Fill(&dict.Spans[len(dict.Spans)-1], contents); err != nil {
					t.Fatal(err)
				}
			}
			got := BlockHeader{
				Compressed: w.h.Compressed, Uncompressed: uint64(len(w.plain)), Sum: w.h.Sum,
				Epoch: w.h.Epoch, Content: w.h.Content, Contents: w.h.Contents,
			}
			w.entries(t, func(b []byte) {
				var e session.Entry
				if _, err := ParseEntry(&e, b, &dict); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if seq, at, err := ParsePlace(b); err != nil || seq != e.Seq || at != Nanos(e.Time) {
					t.Fatalf("%s: entry %d of %v is at %d, %d, %v", name, e.Seq, e.Time, seq, at, err)
				}
				if m := e.Message; m != nil && !m.Truncated && m.Data.Len() != m.Size {
					t.Errorf("%s: entry %d has %d bytes of %d", name, e.Seq, m.Data.Len(), m.Size)
				}
				got.Carried = e.Carried
				got.Add(&e, w.h.Labels)
			})
			if d := cmp.Diff(w.h, got); d != "" {
				t.Errorf("%s: block %d:\n%s", name, i, d)
			}
			entries += got.Entries
		}
		if f.end == nil || f.end.Entries != entries || f.end.Last != f.blocks[len(f.blocks)-1].h.Last {
			t.Errorf("%s: it has %d entries, and ends with %+v", name, entries, f.end)
		}
	}
}

// The index leads to the blocks.
func TestIndexOfRecordings(t *testing.T) {
	for name, f := range recordings(t) {
		i := len(f.blocks)
		for at := f.end.Index; at != 0; {
			size := int64(binary.LittleEndian.Uint32(f.raw[at+4:]))
			p := f.raw[at+FrameHeadSize : at+FrameHeadSize+size]
			var found []walked
			before, err := ParseIndex(p, func(at int64, size int, h *BlockHeader, fields []byte) error {
				found = append(found, walked{at: at, size: size, h: *h})
				if w := append(AppendSkippableHead(nil, MagicBlock), fields...); !bytes.Equal(CloseSkippable(w, 0), f.raw[at:at+int64(size)]) {
					t.Errorf("%s: the header at %d is another one", name, at)
				}
				return nil
			})
			if err != nil || len(found) == 0 || before >= at {
				t.Fatalf("%s: %v", name, err)
			}
			i -= len(found)
			for k, w := range found {
				b := &f.blocks[i+k]
				if d := cmp.Diff(b.h, w.h); d != "" || w.at != b.at || w.size != b.size {
					t.Errorf("%s: block %d of the index is at %d:\n%s", name, i+k, w.at, d)
				}
			}
			at = before
			for _, cut := range []int{0, 3, 7, 11, len(p) / 2, len(p) - 1} {
				if _, err := ParseIndex(p[:cut], func(int64, int, *BlockHeader, []byte) error { return nil }); err == nil {
					t.Fatalf("%s: %d bytes of an index are one", name, cut)
				}
			}
		}
		if i != 0 {
			t.Errorf("%s: %d blocks are in no index", name, i)
		}
	}
}

// A message is the same, whatever the reader keeps of its contents: all, nothing, or pieces.
func TestContentsOfRecordings(t *testing.T) {
	runs := 0
	for name, f := range recordings(t) {
		at := make(map[int64]*walked)
		for i := range f.blocks {
			at[f.blocks[i].at] = &f.blocks[i]
		}
		fetch := func(pos int64) ([][]byte, error) { return Definitions(at[pos].plain) }
		var whole, pieces, forgets Dictionary
		pieces.Pieces, pieces.Fetch, forgets.Fetch = true, fetch, fetch
		for i := range f.blocks {
			w := &f.blocks[i]
			for _, d := range []*Dictionary{&whole, &pieces, &forgets} {
				if err := d.Begin(&w.h, w.at); err != nil {
					t.Fatal(err)
				}
				d.Cursor, d.Exact = w.h.Content, true
			}
			if contents, _ := Definitions(w.plain); len(contents) > 0 {
				if err := whole.Fill(&whole.Spans[len(whole.Spans)-1], contents); err != nil {
					t.Fatal(err)
				}
			}
			w.entries(t, func(b []byte) {
				var a, p, n session.Entry
				_, errA := ParseEntry(&a, b, &whole)
				_, errP := ParseEntry(&p, b, &pieces)
				forgets.Forget()
				_, errN := ParseEntry(&n, b, &forgets)
				if errA != nil || errP != nil || errN != nil {
					t.Fatalf("%s: %v, %v, %v", name, errA, errP, errN)
				}
				if a.Message == nil {
					return
				}
				if len(p.Message.Data) > 1 {
					runs++
				}
				if d := a.Message.Data.Bytes(); !bytes.Equal(d, p.Message.Data.Bytes()) || !bytes.Equal(d, n.Message.Data.Bytes()) {
					t.Errorf("%s: entry %d is another one in pieces, or read again", name, a.Seq)
				}
			})
		}
		if whole.Bytes != pieces.Bytes && pieces.Bytes > whole.Bytes {
			t.Errorf("%s: of %d bytes %d are kept", name, whole.Bytes, pieces.Bytes)
		}
	}
	if runs < 100 {
		t.Errorf("%d messages have more than one piece", runs)
	}
}

// Of an entry that is cut anywhere nothing is read beyond its end.
func TestEntriesThatAreCut(t *testing.T) {
	f := recordings(t)["envoy-delta.xdsp"]
	f.blocks[0].entries(t, func(b []byte) {
		for cut := range b {
			var e session.Entry
			_, _ = ParseEntry(&e, b[:cut:cut], &Dictionary{Lenient: true})
			_, _, _ = ParsePlace(b[:cut:cut])
		}
	})
	if seq, at, err := ParsePlace(nil); seq != 0 || at != math.MinInt64 || err != nil {
		t.Errorf("nothing is at %d, %d, %v", seq, at, err)
	}
	if _, _, err := ParsePlace([]byte{8}); err == nil {
		t.Error("half a field is one")
	}
}
