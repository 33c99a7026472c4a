package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// memory is a file in memory.
type memory struct{ b []byte }

func (m *memory) WriteAt(p []byte, at int64) (int, error) {
	if grow := int(at) + len(p) - len(m.b); grow > 0 {
		m.b = append(m.b, make([]byte, grow)...)
	}
	return copy(m.b[at:], p), nil
}

func (m *memory) Truncate(n int64) error { m.b = m.b[:n]; return nil }
func (m *memory) Close() error           { return nil }

// written is a recording of some blocks, and where each of them ends; the
// first is the end of the header, the last that of the file.
func written(t testing.TB, count int) (file []byte, ends []int) {
	t.Helper()
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{Program: "test"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	ends = append(ends, len(m.b))
	var seq session.Seq
	shared := []byte(strings.Repeat("shared", format.MinContent/6))
	for range count {
		for range 2 {
			seq++
			// Some of it is in no entry alone, some in all, some in one.
			e := response(session.Chunks{
				fmt.Appendf(nil, "payload of entry %d", seq), shared, fmt.Appendf(nil, "%0*d", format.MinContent, seq), shared,
			})
			e.Stream, e.Seq = session.StreamID(seq), seq
			put(t, f, e)
		}
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, len(m.b))
	}
	if err := f.Finish(seq); err != nil {
		t.Fatal(err)
	}
	return m.b, append(ends, len(m.b))
}

// put adds an entry to the block that is being made.
func put(t testing.TB, f *blocks.Writer, e session.Entry) {
	t.Helper()
	if _, err := f.Measure(&e); err != nil {
		t.Fatal(err)
	}
	f.Add(&e, nil)
}

// readers are the two ways to read the same bytes.
func readers(t *testing.T, b []byte) map[string]*Reader {
	path := filepath.Join(t.TempDir(), "x.xdsp")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	rs := map[string]*Reader{"pipe": NewReader(bytes.NewReader(b))}
	if r, err := Open(path); err == nil {
		rs["file"] = r
	}
	return rs
}

func TestTornAtEveryByte(t *testing.T) {
	const blocks = 3
	file, ends := written(t, blocks)
	for cut := ends[0]; cut <= len(file); cut++ {
		whole := 0 // blocks that are all there
		for whole < blocks && ends[whole+1] <= cut {
			whole++
		}
		rs := readers(t, file[:cut])
		if len(rs) != 2 {
			t.Fatalf("cut at %d: cannot be opened", cut)
		}
		for how, r := range rs {
			all, err := drain(r)
			f := r.Facts()
			if err != nil || len(all) != 2*whole {
				t.Errorf("%s cut at %d: read %d entries of %d, %v", how, cut, len(all), 2*whole, err)
			}
			if f.Complete != (cut == len(file)) || f.Damaged {
				t.Errorf("%s cut at %d: complete %v, damaged %v", how, cut, f.Complete, f.Damaged)
			}
			if _, err := r.Next(context.Background()); !errors.Is(err, io.EOF) {
				t.Errorf("%s cut at %d: after the end comes %v", how, cut, err)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTornHeader(t *testing.T) {
	file, ends := written(t, 1)
	for cut := range ends[0] {
		_, err := drain(NewReader(bytes.NewReader(file[:cut])))
		if _, ok := errors.AsType[*FormatError](err); !ok {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	path := filepath.Join(t.TempDir(), "empty.xdsp")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || err.Error() != path+" is not a recording: it is empty" {
		t.Errorf("an empty file: %v", err)
	}
}

// A bit that flips anywhere is noticed, unless it means nothing, as some in
// the head of a zstd frame; and everything before the block that it is in is
// read.
func TestEveryBitFlip(t *testing.T) {
	const blocks = 3
	file, ends := written(t, blocks)
	all, err := drain(NewReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(file) {
		bad := bytes.Clone(file)
		bad[bit/8] ^= 1 << (bit % 8)
		intact := 0
		for intact < blocks && ends[intact+1] <= bit/8 {
			intact++
		}
		r := NewReader(bytes.NewReader(bad))
		got, err := drain(r)
		f := r.Facts()
		_ = r.Close()
		if bit/8 < ends[0] {
			_, format := errors.AsType[*FormatError](err)
			_, version := errors.AsType[*VersionError](err)
			if !format && !version && f.Complete {
				t.Errorf("bit %d of the header: %v", bit, err)
			}
			continue
		}
		// A length that grew makes the tail look torn, a magic number that
		// became another skippable one makes a frame unknown: both are told.
		if err == nil && f.Complete {
			if !reflect.DeepEqual(all, got) {
				t.Errorf("bit %d: not noticed", bit)
			}
			continue
		}
		if err != nil && !f.Damaged {
			t.Errorf("bit %d: %v, but not damaged", bit, err)
		}
		if len(got) != 2*intact || !slices.EqualFunc(all[:2*intact], got, same) {
			t.Errorf("bit %d: read %d entries, of %d before the damage", bit, len(got), 2*intact)
		}
	}
}

func same(a, b session.Entry) bool { return reflect.DeepEqual(a, b) }

func TestDamageSaysWhere(t *testing.T) {
	file, ends := written(t, 3)
	file[ends[2]-10] ^= 0x40 // in the second block
	for how, r := range readers(t, file) {
		_, err := drain(r)
		d, ok := errors.AsType[*DamageError](err)
		if !ok || d.Offset != int64(ends[1]) || d.AfterSeq != 2 {
			t.Errorf("%s: %v", how, err)
		}
		if _, again := r.Next(context.Background()); again != err {
			t.Errorf("%s: then %v", how, again)
		}
		_ = r.Close()
	}
}

// Headers that lie, but with a right checksum.
func TestLyingBlockHeaders(t *testing.T) {
	file, ends := written(t, 2)
	for name, lie := range map[string]func(*format.BlockHeader){
		"entries more":        func(h *format.BlockHeader) { h.Entries, h.Last = h.Entries+1, h.Last+1 },
		"entries fewer":       func(h *format.BlockHeader) { h.Entries-- },
		"no entries":          func(h *format.BlockHeader) { h.Entries = 0 },
		"first":               func(h *format.BlockHeader) { h.First++ },
		"last":                func(h *format.BlockHeader) { h.Last++ },
		"first again":         func(h *format.BlockHeader) { h.First = 1 },
		"longer":              func(h *format.BlockHeader) { h.Uncompressed++ },
		"shorter":             func(h *format.BlockHeader) { h.Uncompressed-- },
		"endless":             func(h *format.BlockHeader) { h.Uncompressed = format.MaxBlock + 1 },
		"endless, compressed": func(h *format.BlockHeader) { h.Compressed = 1 << 62 },
		"compressed shorter":  func(h *format.BlockHeader) { h.Compressed-- },
	} {
		bad := bytes.Clone(file)
		var h format.BlockHeader
		at := ends[1] + format.FrameHeadSize
		size := int(binary.LittleEndian.Uint32(bad[at-4:]))
		if err := h.Parse(bad[at : at+size]); err != nil {
			t.Fatal(err)
		}
		lie(&h)
		bad = append(h.Append(bad[:ends[1]:ends[1]]), bad[at+size:]...)
		for how, r := range readers(t, bad) {
			got, err := drain(r)
			if d, ok := errors.AsType[*DamageError](err); !ok || len(got) < 2 || len(got) >= 4 || d.Offset != int64(ends[1]) {
				t.Errorf("%s, %s: read %d entries, %v", name, how, len(got), err)
			}
			_ = r.Close()
		}
	}
}

// An entry that says its number twice has the one that its place was found by,
// or none: the numbers of a reader ascend.
func TestTwoNumbers(t *testing.T) {
	b := []byte{6, 0x08, 2, 0x40, 12, 0x08, 1}
	all, err := drain(NewReader(bytes.NewReader(wrapped(t, b))))
	if len(all) != 1 || !isDamage(err) {
		t.Errorf("%+v, %v", all, err)
	}
}

// No entry of a block comes after the last one that its header announces.
func TestNumberBeyondItsBlock(t *testing.T) {
	m := new(memory)
	f, err := blocks.New(m, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Free()
	for _, seq := range []session.Seq{1, 9, 3} {
		e := message(1, "payload")
		e.Seq = seq
		put(t, f, e)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	for how, r := range readers(t, m.b) {
		if all, err := drain(r); len(all) != 1 || !isDamage(err) {
			t.Errorf("%s: %+v, %v", how, all, err)
		}
		_ = r.Close()
	}
}

func TestNotARecording(t *testing.T) {
	file, _ := written(t, 1)
	old := bytes.Clone(file)
	binary.LittleEndian.PutUint32(old[format.FrameHeadSize+len(format.Magic):], 7)
	other := format.AppendSkippable(nil, format.MagicHeader, []byte("pzstd and the like"))
	for name, b := range map[string][]byte{
		"text": []byte("resources:\n- name: a\n"), "zstd": {0x28, 0xB5, 0x2F, 0xFD, 0, 0, 0, 0}, "skippable": other,
		"other skippable": format.AppendSkippable(nil, format.MagicSkippable, []byte("xdsp")),
	} {
		_, err := drain(NewReader(bytes.NewReader(b)))
		if _, ok := errors.AsType[*FormatError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := drain(NewReader(bytes.NewReader(old)))
	if v, ok := errors.AsType[*VersionError](err); !ok || v.Version != 7 {
		t.Errorf("version 7: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
}

func TestWhatFollowsTheEndIsDamage(t *testing.T) {
	file, _ := written(t, 1)
	for how, r := range readers(t, append(file, 0)) {
		all, err := drain(r)
		if !isDamage(err) || len(all) != 2 || r.Facts().Complete {
			t.Errorf("%s: %d entries, %v", how, len(all), err)
		}
		_ = r.Close()
	}
}

func TestUnknownFramesArePassedOver(t *testing.T) {
	file, ends := written(t, 2)
	later := format.AppendSkippable(nil, format.MagicSkippable+0xF, []byte("an index, say"))
	file = append(file[:ends[1]:ends[1]], append(later, file[ends[1]:]...)...)
	for how, r := range readers(t, file) {
		if all, err := drain(r); err != nil || len(all) != 4 || !r.Facts().Complete {
			t.Errorf("%s: %d entries, %v", how, len(all), err)
		}
		_ = r.Close()
	}
}

// The file is a sequence of zstd frames: any decompressor prints the entries.
func TestPlainZstdReadsIt(t *testing.T) {
	file, _ := written(t, 3)
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()
	plain, err := dec.DecodeAll(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(plain, []byte("payload of entry")); n != 6 {
		t.Errorf("%d payloads in %q", n, plain)
	}
}
