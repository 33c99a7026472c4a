package blocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// faulty is a file in memory of which chosen calls fail.
type faulty struct {
	memory
	calls int
	fail  func(call int, truncate bool) bool
}

var errDisk = errors.New("no space left on device")

func (m *faulty) WriteAt(p []byte, at int64) (int, error) {
	m.calls++
	if m.fail != nil && m.fail(m.calls, false) {
		n, _ := m.memory.WriteAt(p[:len(p)/2], at)
		return n, errDisk
	}
	return m.memory.WriteAt(p, at)
}

func (m *faulty) Truncate(n int64) error {
	m.calls++
	if m.fail != nil && m.fail(m.calls, true) {
		return errDisk
	}
	return m.memory.Truncate(n)
}

// number is an entry with this number, and a message of noise.
func number(seq session.Seq, size int) *session.Entry {
	e := response(session.Chunks{noise(size)})
	e.Seq, e.Time = seq, time.Unix(int64(seq), 0)
	return &e
}

// blocksIn are the headers of the whole blocks in a file, of which it sees that
// what they say of what follows is so.
func blocksIn(t *testing.T, b []byte) (out []format.BlockHeader) {
	t.Helper()
	for len(b) > 0 {
		magic, size := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint32(b[4:]))
		payload := b[format.FrameHeadSize:][:size]
		b = b[format.FrameHeadSize+size:]
		if magic != format.MagicBlock {
			continue
		}
		var h format.BlockHeader
		if err := h.Parse(payload); err != nil {
			t.Fatal(err)
		}
		frame := b[:h.Compressed]
		b = b[h.Compressed:]
		dec, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := dec.DecodeAll(frame, nil)
		dec.Close()
		if err != nil || uint64(len(raw)) != h.Uncompressed || crc32.Checksum(frame, format.Castagnoli()) != h.Sum {
			t.Fatalf("a block of %d bytes and checksum %x says %d and %x, %v", len(raw), crc32.Checksum(frame, format.Castagnoli()), h.Uncompressed, h.Sum, err)
		}
		out = append(out, h)
	}
	return out
}

// Whatever fails in between, the file is as it was before a block, or has all of
// it; and the writer goes on.
func TestBlocksAreWholeOrNotThere(t *testing.T) {
	for _, size := range []int{1000, 3 * SpillSize} { // the second is spilled
		for failing := 1; failing < 12; failing++ {
			for _, twice := range []bool{false, true} {
				file := &faulty{}
				b, err := New(file, &format.FileHeader{Program: "p"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := b.Put(number(1, 1000), nil); err != nil {
					t.Fatal(err)
				}
				if err := b.Commit(); err != nil {
					t.Fatal(err)
				}
				before, end := bytes.Clone(file.b), b.End
				file.calls, file.fail = 0, func(call int, truncate bool) bool { return call == failing || twice && call == failing+1 }
				b.Put(number(2, size), nil)
				err = b.Commit()
				failed := file.calls >= failing
				if (err != nil) != failed || err != nil && !errors.Is(err, errDisk) {
					t.Fatalf("%d bytes, call %d of %d fails: %v", size, failing, file.calls, err)
				}
				if !failed {
					break
				}
				if b.End != end || !bytes.Equal(file.b[:end], before) || len(file.b) != len(before) && !b.torn {
					t.Fatalf("%d bytes, call %d fails: the file has %d bytes, and had %d; %d count", size, failing, len(file.b), len(before), b.End)
				}
				if b.Entries != 1 || b.Last != 1 || !b.Empty() {
					t.Fatalf("%d entries, the last is %d", b.Entries, b.Last)
				}
				file.fail = nil
				for seq := session.Seq(3); seq < 5; seq++ {
					if err := b.Put(number(seq, 1000), []string{"a"}); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.Commit(); err != nil {
					t.Fatal(err)
				}
				got := blocksIn(t, file.b)
				if len(got) != 2 || got[1].First != 3 || got[1].Last != 4 || got[1].Entries != 2 || got[1].Epoch == got[0].Epoch || b.torn || int64(len(file.b)) != b.End {
					t.Fatalf("%d bytes, call %d fails: %+v, torn %v", size, failing, got, b.torn)
				}
				if b.Entries != 3 || b.Last != 4 {
					t.Fatalf("%d entries, the last is %d", b.Entries, b.Last)
				}
				b.Free()
			}
		}
	}
}

// Whoever looks on is told of all that is written, and of each block.
func TestWhatIsWrittenIsTold(t *testing.T) {
	file := &faulty{}
	b, err := New(file, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Begins, file.b[:len(b.Begins)]) || len(b.Begins) == 0 {
		t.Errorf("it begins with %q", b.Begins)
	}
	seen := bytes.Clone(file.b)
	var told []format.BlockHeader
	b.Wrote = func(p []byte, end int64) {
		if p == nil {
			p = file.b[len(seen):end]
		}
		if seen = append(seen, p...); int64(len(seen)) != end {
			t.Errorf("%d bytes were told of, and there are %d", len(seen), end)
		}
	}
	b.Committed = func(h *format.BlockHeader) {
		c := *h
		c.Streams, c.Labels = slices.Clone(h.Streams), slices.Clone(h.Labels)
		told = append(told, c)
	}
	if err := b.Commit(); err != nil || b.End != int64(len(seen)) {
		t.Errorf("a block of nothing: %v", err)
	}
	for seq := session.Seq(1); seq < 6; seq++ {
		size := 100
		if seq == 4 {
			size = 2 * SpillSize
		}
		if seq == 5 {
			b.Carrying = true
		}
		if err := b.Put(number(seq, size), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := b.Finish(9); err != nil || !b.Complete {
		t.Errorf("%v", err)
	}
	if !bytes.Equal(seen, file.b) {
		t.Error("what was told of is not what is there")
	}
	got := blocksIn(t, file.b)
	if len(got) != 3 || len(told) != 3 || got[0].Entries != 3 || got[1].Entries != 1 || got[2].First != 5 || got[0].Carried || !got[2].Carried {
		t.Fatalf("%+v", got)
	}
	for i := range got {
		if told[i].First != got[i].First || told[i].Compressed != got[i].Compressed || told[i].Sum != got[i].Sum {
			t.Errorf("told is %+v of %+v", told[i], got[i])
		}
	}
	var end format.EndMark
	if err := end.Parse(file.b[len(file.b)-format.EndSize+format.FrameHeadSize:]); err != nil || end.Entries != 5 || end.Last != 9 {
		t.Errorf("%+v, %v", end, err)
	}
	// The index says where each block is.
	at := file.b[end.Index:]
	n := 0
	before, err := format.ParseIndex(at[format.FrameHeadSize:][:binary.LittleEndian.Uint32(at[4:])], func(at int64, size int, h *format.BlockHeader, _ []byte) error {
		if binary.LittleEndian.Uint32(file.b[at:]) != format.MagicBlock || h.First != got[n].First || size != format.FrameHeadSize+int(binary.LittleEndian.Uint32(file.b[at+4:])) {
			t.Errorf("block %d is said to be at %d, %d bytes: %+v", n, at, size, h)
		}
		n++
		return nil
	})
	if n != 3 || before != 0 || err != nil {
		t.Errorf("%d blocks are in the index, the one before is at %d: %v", n, before, err)
	}
	if err := b.WriteIndex(); err != nil || b.End != int64(len(seen)) {
		t.Errorf("an index of nothing: %v", err)
	}
}

// A file that is not ours any more is left alone.
func TestForeign(t *testing.T) {
	file := &faulty{}
	b, err := New(file, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Put(number(1, 100), nil)
	before := bytes.Clone(file.b)
	file.calls, b.Foreign = 0, errDisk
	if err := b.Commit(); !errors.Is(err, errDisk) || file.calls > 0 {
		t.Errorf("%v, %d calls", err, file.calls)
	}
	b.CutExcess()
	if err := b.Finish(1); !errors.Is(err, errDisk) || b.Complete || file.calls > 0 || !bytes.Equal(file.b, before) {
		t.Errorf("%v, %d calls", err, file.calls)
	}
	b.Foreign = nil
	file.b = append(file.b, "another's"...)
	b.CutExcess()
	if !bytes.Equal(file.b, before) {
		t.Errorf("%q is left", file.b[len(before):])
	}
	file.fail = func(int, bool) bool { return true }
	if _, err := New(file, &format.FileHeader{}, nil); !errors.Is(err, errDisk) {
		t.Errorf("a header that cannot be written: %v", err)
	}
	if err := b.Finish(1); !errors.Is(err, errDisk) || b.Complete {
		t.Errorf("an end that cannot be written: %v", err)
	}
}

// What cannot be prepared, or would be too long for any reader, loses its payload
// and says so; the others keep theirs.
func TestMeasure(t *testing.T) {
	long := make([]byte, 1<<20)
	var most session.Chunks
	for range format.MaxData >> 20 {
		most = append(most, long)
	}
	text := []byte(strings.Repeat("secret ", 100))
	upper := func(b []byte) []byte { return bytes.ToUpper(b) }
	for name, c := range map[string]struct {
		e        *session.Entry
		hook     func([]byte) []byte
		err      bool
		problems []string
		left     int64 // of its data
		masked   bool
	}{
		"as it is":       {number(1, 1000), nil, false, nil, 1000, false},
		"not changed":    {number(1, 1000), bytes.Clone, false, nil, 1000, false},
		"masked":         {&session.Entry{Seq: 1, Message: &session.Message{Data: session.Chunks{text}, Size: 700}}, upper, false, nil, 700, true},
		"a hook panics":  {number(1, 1000), func([]byte) []byte { panic("x") }, true, []string{ProblemUnprepared}, 0, false},
		"a hook cuts":    {number(1, 1000), func(b []byte) []byte { return b[1:] }, true, []string{ProblemUnprepared}, 0, false},
		"too much data":  {&session.Entry{Seq: 1, Method: "m", Message: &session.Message{Data: append(most[:len(most):len(most)], long[:1])}}, nil, false, []string{"too large to be recorded"}, 0, false},
		"a long head":    {&session.Entry{Seq: 1, Headers: []session.Field{{Name: "a", Value: strings.Repeat("x", format.MaxHead)}}, Message: &session.Message{Data: session.Chunks{text}}}, nil, false, []string{"too large to be recorded"}, 0, false},
		"a header":       {&session.Entry{Seq: 1, Headers: []session.Field{{Name: "a", Value: strings.Repeat("x", format.MaxHead-100)}}}, nil, false, nil, 0, false},
		"nothing of it":  {&session.Entry{Seq: 1, Message: &session.Message{}}, nil, false, nil, 0, false},
		"large and gone": {&session.Entry{Seq: 1, Message: &session.Message{Size: session.MostRead + 1}}, nil, false, nil, 0, false},
	} {
		b, err := New(&memory{}, &format.FileHeader{}, c.hook)
		if err != nil {
			t.Fatal(err)
		}
		e := *c.e
		_, err = b.Measure(&e)
		if (err != nil) != c.err || !slices.Equal(e.Problems, c.problems) {
			t.Errorf("%s: %v, %q", name, err, e.Problems)
		}
		var p *PanicError
		if name == "a hook panics" && (!errors.As(err, &p) || p.Cause != "x" || err.Error() != "panic of type string" || len(p.Stack) == 0) {
			t.Errorf("%s: %v", name, err)
		}
		if m := e.Message; m != nil && (m.Data.Len() != c.left || m.Masked != c.masked || m.Truncated != (len(c.problems) > 0 || name == "large and gone")) {
			t.Errorf("%s: %d bytes are left, masked %v, truncated %v", name, m.Data.Len(), m.Masked, m.Truncated)
		}
		if len(c.problems) > 0 && (b.plan.fresh > 0 || b.plan.size() > 0 || len(b.Known.Sums) > 0 || b.Known.Bytes > 0) {
			t.Errorf("%s: %d contents are defined", name, len(b.Known.Sums))
		}
		if c.e.Message != nil && c.e.Message.Truncated {
			t.Errorf("%s: the message itself was changed", name)
		}
		b.Free()
	}
	for n, kept := range map[int]bool{1 << 10: true, 1<<10 + 1: false} {
		e := &session.Entry{Message: &session.Message{Encoding: strings.Repeat("x", n)}}
		if DropData(e); (e.Message.Encoding != "") != kept {
			t.Errorf("an encoding of %d bytes: %d are kept", n, len(e.Message.Encoding))
		}
	}
	DropData(&session.Entry{})
}

// A block is full when it has as many bytes as it may, and an entry that is larger
// has a block of its own.
func TestBlocksAreCut(t *testing.T) {
	b, err := New(&memory{}, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	large := number(1, 2*format.BlockTarget)
	if fits, err := b.Measure(large); !fits || err != nil {
		t.Errorf("the first entry does not fit: %v", err)
	}
	if err := b.Commit(); err != nil || b.Entries != 0 {
		t.Errorf("%d entries, %v", b.Entries, err)
	}
	b.Add(large, nil)
	if fits, _ := b.Measure(number(2, 10)); fits {
		t.Error("there is room beside a large one")
	}
	b.plan.drop(&b.Known)
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	first := number(3, 100)
	b.Measure(first)
	b.Add(first, nil)
	room := format.BlockTarget - int(b.head.Uncompressed)
	probe := number(4, 100_000)
	b.Measure(probe)
	around := len(b.next) + int(b.plan.size()) - 100_000
	b.plan.drop(&b.Known)
	for over, want := range map[int]bool{0: true, 1: false} {
		e := number(4, room-around+over)
		fits, _ := b.Measure(e)
		if got := len(b.next) + int(b.plan.size()); got != room+over || fits != want {
			t.Errorf("%d bytes where there is room for %d fit: %v", got, room, fits)
		}
		b.plan.drop(&b.Known)
	}
}

// An epoch ends when as many blocks define content as may.
func TestEpochsEnd(t *testing.T) {
	b, err := New(&memory{}, &format.FileHeader{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Free()
	b.blocks = format.MaxEpochBlocks - 2
	var epochs []uint64
	for seq := session.Seq(1); seq < 4; seq++ {
		e := number(seq, 600)
		e.Message.Data[0][0] = byte(seq)
		if err := b.Put(e, nil); err != nil {
			t.Fatal(err)
		}
		epochs = append(epochs, b.head.Epoch)
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(epochs, []uint64{1, 1, 2}) {
		t.Errorf("%v", epochs)
	}
	// A block that defines nothing does not count.
	before := b.blocks
	b.Put(&session.Entry{Seq: 9, Kind: session.KindTime}, nil)
	if b.Commit(); b.blocks != before {
		t.Errorf("%d blocks define content, %d before", b.blocks, before)
	}
	b.Known.Full = true
	if b.Put(&session.Entry{Seq: 10}, nil); b.Commit() != nil || b.Epoch != 3 || b.Known.Full {
		t.Errorf("epoch %d", b.Epoch)
	}
}
