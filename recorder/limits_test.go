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
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder/internal/decompress"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// fileOf is a recording with messages of these sizes, none of which is like another.
func fileOf(t *testing.T, sizes ...int) []byte {
	t.Helper()
	l := create(t, Options{NoTicks: true})
	for i, n := range sizes {
		e := message(session.StreamID(1), "")
		data := noise(n)
		binary.LittleEndian.PutUint32(data[max(n-4, 0):], uint32(i))
		e.Message.Data, e.Message.Size = session.Chunks{data}, int64(n)
		l.Append(e)
	}
	closeLog(t, l)
	b, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is read ahead comes in batches of 256 entries or a megabyte; and one that is more by itself
// lets nothing be read beside it.
func TestBatches(t *testing.T) {
	few := slices.Repeat([]int{10}, 300)
	for name, c := range map[string]struct {
		sizes []int
		want  string
	}{
		"small":             {few, "256, 44, and EOF"},
		"just as many":      {few[:256], "256, 0, and EOF"},
		"a megabyte":        {[]int{10, batchBytes, 10}, "2, 1, and EOF"},
		"more by itself":    {[]int{10, batchBytes + 1, 10}, "2 large, 1, and EOF"},
		"the last is large": {[]int{10, 10, batchBytes + 1}, "3 large, 0, and EOF"},
		"halves":            {[]int{batchBytes / 2, batchBytes / 2, 10}, "2, 1, and EOF"},
		"almost":            {[]int{batchBytes / 2, batchBytes/2 - 1, 10, 10}, "3, 1, and EOF"},
	} {
		file := fileOf(t, c.sizes...)
		for _, pieces := range []bool{false, true} {
			want := c.want
			r, err := OpenAt("x", &distant{b: file})
			if err != nil {
				t.Fatal(err)
			}
			if pieces {
				r.Pieces() // what they are made of stays in memory all the same
				if len(c.sizes) < 10 {
					want = fmt.Sprint(len(c.sizes), ", and EOF")
				}
			}
			var got []string
			var p batch
			for seq := session.Seq(0); p.err == nil; {
				p.read(t.Context(), r)
				s := fmt.Sprint(len(p.entries))
				if p.large {
					s += " large"
				}
				got = append(got, s)
				for i := range p.entries {
					if seq++; p.entries[i].Seq != seq || p.entries[i].Message.Data.Len() != int64(c.sizes[seq-1]) {
						t.Fatalf("%s: entry %d is %+v", name, seq, p.entries[i])
					}
				}
				if p.facts.Entries != uint64(seq) || p.given != 0 {
					t.Errorf("%s: after %d entries the facts are of %d", name, seq, p.facts.Entries)
				}
				large := p.large
				if p.clear(); large && p.pieces != nil {
					t.Errorf("%s: of a large batch %d pieces are kept", name, len(p.pieces))
				}
			}
			if s := strings.Join(got, ", ") + ", and " + p.err.Error(); s != want {
				t.Errorf("%s, in pieces %v: %s, not %s", name, pieces, s, want)
			}
			_ = r.Close()
		}
	}
}

// A copy is masked if the original is, or if what copies masks.
func TestCopyIsMasked(t *testing.T) {
	for i, want := range []bool{false, true, true, true} {
		path := filepath.Join(t.TempDir(), "copy.xdsp")
		c, err := NewCopy(path, Facts{Masked: i&1 > 0}, Options{Masked: i&2 > 0})
		if err != nil {
			t.Fatal(err)
		}
		e := message(1, "x")
		e.Seq, e.Message.Masked = 1, i&1 > 0
		if err := c.Add(&e); err != nil {
			t.Fatal(err)
		}
		if c.Masked() != uint64(i&1) {
			t.Errorf("%d messages are masked", c.Masked())
		}
		if _, err := c.Close(); err != nil {
			t.Fatal(err)
		}
		r := open(t, path)
		if r.Facts().Masked != want {
			t.Errorf("original and copier %d: %v", i, r.Facts().Masked)
		}
	}
}

// Which files can be understood alone, and what Park lets go of.
func TestParkAndAlone(t *testing.T) {
	b := fileOf(t, 1000, 2000)
	piped := NewReader(bytes.NewReader(b))
	defer piped.Close()
	if !piped.Alone() || piped.Begins() != 0 || piped.Park() != nil {
		t.Error("a pipe has no segments")
	}
	piped.header.Segment = 2
	if piped.Alone() {
		t.Error("the second segment in a pipe is said to stand alone")
	}
	for name, c := range map[string]struct {
		set    func(*Reader)
		parked int
	}{
		"as it is":   {func(*Reader) {}, 1},
		"ahead":      {func(r *Reader) { r.early = true }, 0},
		"after that": {func(r *Reader) { r.err = io.ErrUnexpectedEOF }, 0},
	} {
		d := &distant{b: b}
		r, err := OpenAt("x", d)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Alone() {
			t.Error("a recording without segments does not stand alone")
		}
		if _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		facts := r.Facts().Bytes
		c.set(r)
		if err := r.Park(); err != nil || d.parked != c.parked || (r.block == nil) != (c.parked > 0) || (r.zstd == nil) != (c.parked > 0) || (r.Facts().Bytes < facts) != (c.parked > 0) {
			t.Errorf("%s: parked %d times, %v", name, d.parked, err)
		}
		if c.parked > 0 {
			e, err := r.Next(t.Context())
			if err != nil || e.Seq != 2 || e.Message.Data.Len() != 2000 || r.Facts().Bytes != facts {
				t.Errorf("after it: %+v, %v", e, err)
			}
		}
		_ = r.Close()
	}
}

// What of a block is kept: little where nothing comes, and nothing of a large one.
func TestBlocksThatAreKept(t *testing.T) {
	for n, want := range map[int]bool{keepWaiting: true, keepWaiting + 1: false} {
		r := &Reader{block: make([]byte, 0, n), shared: true}
		if r.shrink(); (r.block != nil) != want || r.shared != want {
			t.Errorf("%d bytes are kept while it waits: %v", n, r.block != nil)
		}
	}
	for n, want := range map[int]bool{keepBlock: true, keepBlock + 1: false} {
		r := newFileReader("x", farFile{&distant{b: fileOf(t, 10)}}, io.NopCloser(nil))
		r.block = make([]byte, 0, n)
		first := &r.block[:1][0]
		if _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := &r.block[:1][0] == first; got != want {
			t.Errorf("room of %d bytes is used again: %v", n, got)
		}
		_ = r.Close()
	}
}

// A block is as long as its header says, and takes no more room than what comes.
func TestExpand(t *testing.T) {
	for _, size := range []int{0, 1, 1000, format.BlockTarget - 1, format.BlockTarget, format.BlockTarget + 1, 3 * format.BlockTarget} {
		var packed bytes.Buffer
		w, err := zstd.NewWriter(&packed)
		if err != nil {
			t.Fatal(err)
		}
		data := noise(size)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for said, want := range map[int]string{size: "", size - 1: "longer than|not as long", size + 1: "not as long", 1 << 40: "not as long"} {
			r := &Reader{}
			if r.zstd, err = decompress.NewZstdReader(iotest.HalfReader(bytes.NewReader(packed.Bytes())), maxWindow); err != nil {
				t.Fatal(err)
			}
			if said < 0 {
				continue
			}
			got, err := r.expand(nil, said)
			if want == "" && (err != nil || !bytes.Equal(got, data)) {
				t.Errorf("%d bytes: %v", size, err)
			}
			if want != "" && (err == nil || !slices.ContainsFunc(strings.Split(want, "|"), func(s string) bool { return strings.Contains(err.Error(), s) })) {
				t.Errorf("%d bytes where %d are said: %v", size, said, err)
			}
			if most := max(2*size, format.BlockTarget) + 1; cap(got) > most+most/8 || said == size && cap(got) > 2*size+2048+format.BlockTarget {
				t.Errorf("%d bytes take room of %d", size, cap(got))
			}
			r.zstd.Close()
		}
	}
}

// What is taken for a frame, from files and pipes: one that is as long as any may be, and none that is
// longer; one that is not all there is waited for.
func TestPeekFrame(t *testing.T) {
	frame := func(magic uint32, n, there int) []byte {
		b := binary.LittleEndian.AppendUint32(nil, magic)
		return append(binary.LittleEndian.AppendUint32(b, uint32(n)), make([]byte, there)...)
	}
	const other = format.MagicSkippable | 0xF
	for name, c := range map[string]struct {
		b       []byte
		payload int
		want    string // of the error
	}{
		"a frame":             {frame(format.MagicBlock, 100, 100), 100, ""},
		"not all":             {frame(format.MagicBlock, 100, 99), 0, "ends here"},
		"none of it":          {frame(format.MagicBlock, 0, 0)[:7], 0, "ends here"},
		"three bytes":         {frame(format.MagicBlock, 0, 0)[:3], 0, "ends here"},
		"nothing":             {nil, 0, "ends here"},
		"no frame":            {[]byte("none"), 0, "no frame where one must be"},
		"no frame, and more":  {[]byte("this is none"), 0, "no frame where one must be"},
		"the longest":         {frame(other, format.MaxSkippable, format.MaxSkippable), format.MaxSkippable, ""},
		"too long":            {frame(other, format.MaxSkippable+1, format.MaxSkippable+1), 0, fmt.Sprintf("a header cannot be %d bytes long", format.MaxSkippable+1)},
		"an index":            {frame(format.MagicIndex, format.MaxIndex, 0), 0, ""},
		"too long an index":   {frame(format.MagicIndex, format.MaxIndex+1, 0), 0, "cannot be"},
		"a checksum":          {frame(format.MagicEnd, format.CRCSize, format.CRCSize), format.CRCSize, ""},
		"less":                {frame(format.MagicEnd, format.CRCSize-1, format.CRCSize), 0, "cannot be 3 bytes"},
		"less, of the first":  {frame(format.MagicHeader, 0, 0), 0, "cannot be 0 bytes"},
		"less, of an unknown": {frame(other, 0, 0), 0, ""},
	} {
		r := newFileReader("x", farFile{&distant{b: c.b}}, io.NopCloser(nil))
		for _, r := range []*Reader{r, NewReader(bytes.NewReader(c.b)), NewReader(iotest.OneByteReader(bytes.NewReader(c.b)))} {
			_, payload, err := r.peekFrame()
			if len(payload) != c.payload || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %d bytes, %v", name, len(payload), err)
			}
		}
	}
}

// A source gives what is there, and says where more is asked for.
func TestSources(t *testing.T) {
	const text = "0123456789"
	for name, src := range map[string]func() source{
		"a file": func() source { return newFileSource(farFile{&distant{b: []byte(text)}}) },
		"a pipe": func() source { return newStreamSource(iotest.OneByteReader(strings.NewReader(text))) },
	} {
		s := src()
		if b, err := s.peek(10); string(b) != text || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if b, err := s.peek(11); string(b) != text || !errors.Is(err, errShort) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if err := s.pass(2); err != nil {
			t.Error(err)
		}
		body, err := s.body(3, 4)
		if err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 2)
		if _, err := io.ReadFull(body, part); string(part) != "56" || err != nil {
			t.Errorf("%s: %q, %v", name, part, err)
		}
		if err := s.pass(7); err != nil { // what of the body was not read goes by
			t.Error(err)
		}
		if b, err := s.peek(1); string(b) != "9" || err != nil {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if is, err := s.drained(); is || err != nil {
			t.Errorf("%s is drained", name)
		}
		if body, err = s.body(0, 1); err == nil {
			b, err2 := io.ReadAll(body)
			if err = err2; string(b) != "9" {
				t.Errorf("%s: %q", name, b)
			}
		}
		if err != nil || s.pass(1) != nil {
			t.Errorf("%s: %v", name, err)
		}
		if is, err := s.drained(); !is || err != nil || s.waits() {
			t.Errorf("%s is not drained", name)
		}
		s = src()
		body, err = s.body(8, 3)
		if err == nil {
			_, err = io.ReadAll(body)
		}
		if !errors.Is(err, errShort) {
			t.Errorf("%s: three bytes of the last two: %v", name, err)
		}
		if name == "a pipe" && !errors.Is(src().pass(11), errShort) {
			t.Error("one passes by the end of a pipe")
		}
	}
}

// What is held of a tail: the last pieces of all files, while somebody reads, and each view says from
// where on.
func TestTailIsHeld(t *testing.T) {
	for limit, want := range map[int64][2]int{0: {defaultTail / tailChunks, tailChunks}, -1: {}, tailChunks - 1: {}, tailChunks: {1, tailChunks}, 100 * tailChunks: {100, tailChunks}} {
		if got := newTail(limit); got.chunk != want[0] || got.limit != want[1] {
			t.Errorf("of %d: %d pieces of %d", limit, got.limit, got.chunk)
		}
	}
	tl := &tail{chunk: 10, limit: 4}
	says := func(p *tailPart) string {
		v := p.view.Load()
		return fmt.Sprintf("%d-%d %s", v.from, v.end, bytes.Join(v.chunks, []byte("|")))
	}
	first := tl.begin(&format.FileHeader{Segment: 1}, 5)
	first.wrote([]byte("nobody reads"), 17)
	leave := tl.enter()
	var got []string
	add := func(p *tailPart, s string) {
		end := p.view.Load().end + int64(len(s))
		p.wrote([]byte(s), end)
		got = append(got, says(p))
	}
	add(first, "abc")
	add(first, "defghijkl")
	add(first, strings.Repeat("m", 28))
	add(first, "n")
	if want := "17-20 abc; 17-29 abcdefghij|kl; 17-57 abcdefghij|klmmmmmmmm|mmmmmmmmmm|mmmmmmmmmm; 27-58 klmmmmmmmm|mmmmmmmmmm|mmmmmmmmmm|n"; strings.Join(got, "; ") != want || tl.held != 4 {
		t.Errorf("%s, %d pieces are held", strings.Join(got, "; "), tl.held)
	}
	second := tl.begin(&format.FileHeader{Segment: 2}, 100)
	got = nil
	add(second, "0123456789")
	add(second, "0123456789x")
	if s := strings.Join(got, "; "); s != "100-110 0123456789; 100-121 0123456789|0123456789|x" || says(first) != "57-58 n" || tl.held != 4 {
		t.Errorf("%s; %s, %d pieces are held", s, says(first), tl.held)
	}
	if tl.find(&format.FileHeader{Segment: 1}) != first || tl.find(&format.FileHeader{Segment: 3}) != nil {
		t.Error("a part is not found")
	}
	first.finish()
	if len(tl.parts) != 2 {
		t.Error("a part that holds something is dropped")
	}
	if add(second, "yyyyyyyyyz"); len(tl.parts) != 1 || tl.held != 4 {
		t.Errorf("%d parts, %d pieces are held", len(tl.parts), tl.held)
	}
	if second.wrote(nil, 200); says(second) != "200-200 " || tl.held != 0 {
		t.Errorf("%s, %d pieces are held", says(second), tl.held)
	}
	add(second, "abc")
	leave()
	if add(second, "def"); says(second) != "206-206 " || tl.held != 0 {
		t.Errorf("%s, %d pieces are held", says(second), tl.held)
	}
	if second.finish(); len(tl.parts) != 0 {
		t.Error("an empty part stays")
	}
	var none *tail
	none.enter()()
	none.drop(nil)
	if p := none.begin(&format.FileHeader{}, 1); p != nil {
		t.Error("nothing holds a part")
	}
	(*tailPart)(nil).wrote([]byte("x"), 1)
	(*tailPart)(nil).finish()
}

// Entries ends with an error, and without one at the end of what is there.
func TestEntriesEnd(t *testing.T) {
	r, err := OpenAt("x", &distant{b: fileOf(t, 10, 20)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for _, err := range r.Entries(ctx) {
		if n++; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	for e, err := range r.Entries(t.Context()) {
		if n++; err != nil || e.Seq != session.Seq(n-1) {
			t.Errorf("%+v, %v", e, err)
		}
	}
	for range r.Entries(t.Context()) {
		t.Error("there are more")
	}
	if n != 3 {
		t.Errorf("%d turns", n)
	}
}
