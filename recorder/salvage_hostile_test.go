package recorder

import (
	"bytes"
	"context"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// claims are n block headers, one after the other, with right checksums, each of a
// block of so many bytes that is not there.
func claims(n int, compressed uint64) []byte {
	h := format.BlockHeader{Compressed: compressed, Uncompressed: compressed, Sum: 1, Entries: 1, First: 5, Last: 5}
	return bytes.Repeat(h.Append(nil), n)
}

// nested are n block headers of which each has all that follows in its block, with
// the right sum. No entry is in any.
func nested(n int) []byte {
	h := format.BlockHeader{Uncompressed: 1 << 30, Entries: 1, First: 5, Last: 5}
	size := len(h.Append(nil))
	b := make([]byte, n*size)
	for at := len(b) - size; at >= 0; at -= size {
		h.Compressed, h.Sum = uint64(len(b)-at-size), crc32.Checksum(b[at+size:], format.Castagnoli())
		copy(b[at:], h.Append(nil))
	}
	return b
}

// between puts a header before each block of a recording, which has all that follows
// in its block, with the right sum.
func between(file []byte, ends []int) []byte {
	h := format.BlockHeader{Uncompressed: 1 << 30, Entries: 1, First: 1 << 40, Last: 1 << 40}
	var b []byte
	for i := len(ends) - 2; i > 0; i-- {
		b = append(bytes.Clone(file[ends[i-1]:ends[i]]), b...)
		h.Compressed, h.Sum = uint64(len(b)), crc32.Checksum(b, format.Castagnoli())
		b = append(h.Append(nil), b...)
	}
	return append(file[:ends[0]:ends[0]], b...)
}

// Whatever headers claim, no more is read than some times the file, and what is whole
// behind them is rescued.
func TestSalvageReadsNoMoreThanThereIs(t *testing.T) {
	file, ends := written(t, 4)
	good, rest := file[:ends[2]], file[ends[2]:ends[4]]
	const n = 2000
	for name, lies := range map[string][]byte{
		"more than there is": claims(n, 900<<20),
		"half of it":         claims(n, n*28),
		"a little":           claims(n, 200),
		"one another":        nested(n),
		"nothing at all":     bytes.Repeat(claims(1, 1)[:format.FrameHeadSize], 10*n),
	} {
		c := &counted{b: bytes.Join([][]byte{good, []byte("garbage!"), lies, rest}, nil)}
		_, done, err := rescueOf(t.Context(), t, c, nil)
		if err != nil || done.Entries != 8 {
			t.Errorf("headers that claim %s: %+v, %v", name, done, err)
		}
		if most := int64(20 * len(c.b)); c.read.Load() > most {
			t.Errorf("headers that claim %s: of %d bytes %d are read", name, len(c.b), c.read.Load())
		}
	}
}

// The same where blocks that are whole come between, of which not all are rescued.
func TestSalvageReadsNoMoreBetweenBlocks(t *testing.T) {
	c := &counted{b: between(written(t, 500))}
	_, done, err := rescueOf(t.Context(), t, c, nil)
	if most := int64(20 * len(c.b)); err != nil || c.read.Load() > most || done.Entries == 0 {
		t.Errorf("of %d bytes %d are read: %+v, %v", len(c.b), c.read.Load(), done, err)
	}
}

// A block within what a header claims wrongly is rescued, though the header has a
// right checksum.
func TestSalvageWithinWhatIsClaimed(t *testing.T) {
	file, ends := written(t, 4)
	rest := file[ends[2]:ends[4]]
	_, done, err := rescueOf(t.Context(), t, &counted{b: bytes.Join([][]byte{file[:ends[2]], claims(3, uint64(len(rest))), rest}, nil)}, nil)
	if err != nil || done.Entries != 8 {
		t.Errorf("%+v, %v", done, err)
	}
}

// Who gives up while damage is passed gets no recording, and is told so.
func TestSalvageGivenUp(t *testing.T) {
	file, ends := written(t, 2)
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	if err := os.WriteFile(from, append(file[:ends[2]:ends[2]], make([]byte, 3*mostLook)...), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	told := int64(0)
	done, err := Salvage(ctx, from, to, func(read int64, _ uint64) {
		if told = read; read > int64(ends[2]) {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || done.Entries != 4 || told > int64(ends[2])+mostLook {
		t.Errorf("at byte %d: %+v, %v", told, done, err)
	}
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy: %v", err)
	}
}

// interrupted is a file whose n-th read interrupts who reads it.
type interrupted struct {
	counted
	n      int
	cancel func()
}

func (f *interrupted) ReadAt(p []byte, at int64) (int, error) {
	if f.n--; f.n == 0 {
		f.cancel()
	}
	return f.counted.ReadAt(p, at)
}

// Who gives up while a block is read waits for a piece of it only.
func TestSalvageGivenUpWithinABlock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f := &interrupted{counted: counted{b: make([]byte, 10*pieceSize)}, n: 2, cancel: cancel}
	s := &salvage{src: newFileSource(f)}
	right, err := s.right(ctx, 0, &format.BlockHeader{Compressed: uint64(len(f.b))})
	if right || !errors.Is(err, context.Canceled) || f.read.Load() != 2*pieceSize {
		t.Errorf("after %d bytes: %v, %v", f.read.Load(), right, err)
	}
}
