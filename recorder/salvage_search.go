package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

const (
	// leastLook and mostLook are how much is read at once where something is looked
	// for: little at first, since it is mostly near. A block header fits into each.
	leastLook = hopSize
	mostLook  = 1 << 20
	// pieceSize is how much of a block is read between two looks at the context.
	pieceSize = 256 << 10
	// maxVain is how many times the size of a file is read of blocks of which nothing
	// comes. Damage makes that less than once; more is the work of somebody, who has
	// put headers into what other headers claim.
	maxVain = 4
)

// search finds the next block from at on, which begins before end, that is there as
// a whole, is right, and comes after what was copied; nil if there is none.
func (s *salvage) search(ctx context.Context, at, end int64) (int64, *format.BlockHeader, error) {
	var found *format.BlockHeader
	err := s.scan(ctx, format.MagicBlock, at, end, func(from int64, b []byte) (int64, error) {
		size, h, err := parseHead(b)
		if err != nil || h.First <= s.last.Seq {
			return from + 1, nil
		}
		right, err := s.right(ctx, from+size, h)
		if err != nil {
			return 0, err
		}
		if right {
			at, found = from, h
			return math.MaxInt64, nil
		}
		return s.behind(from, size, h), nil
	})
	return at, found, err
}

// scan calls look for each place from at on, and before end, where a frame has that
// magic number, with what follows there, which is all of a block header if the file
// has it. look says where to go on.
func (s *salvage) scan(ctx context.Context, magic uint32, at, end int64, look func(at int64, b []byte) (int64, error)) error {
	want := binary.LittleEndian.AppendUint32(nil, magic)
	for room := leastLook; at < end; room = min(2*room, mostLook) {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.tell(at, s.done.Entries)
		if len(s.buf) < room {
			s.buf = make([]byte, room)
		}
		n, err := s.src.ReadAt(s.buf[:room], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n < len(want) {
			return nil
		}
		from, last := at, n < room
		for at < from+int64(n) {
			b := s.buf[at-from : n]
			i := bytes.Index(b, want)
			if i < 0 {
				at += int64(max(len(b)-len(want)+1, 1))
				break
			}
			at += int64(i)
			if at >= end || !last && len(b)-i < format.HeaderRoom {
				break
			}
			if at, err = look(at, b[i:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// right says whether the zstd frame at at is the one that h announces.
func (s *salvage) right(ctx context.Context, at int64, h *format.BlockHeader) (bool, error) {
	size, err := s.src.size()
	n := int64(h.Compressed)
	if err != nil || n > size-at {
		return false, err
	}
	if s.piece == nil {
		s.piece = make([]byte, pieceSize)
	}
	sum := uint32(0)
	for end := at + n; at < end; {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		b := s.piece[:min(pieceSize, end-at)]
		got, _ := s.src.ReadAt(b, at)
		sum = crc32.Update(sum, format.Castagnoli(), b[:got])
		if at += int64(got); got < len(b) {
			return false, nil // it cannot be read, or was cut off just now
		}
	}
	return sum == h.Sum, nil
}

// behind says where to look on after the block at at, of which nothing came: one byte
// later, as long as not too much was read in vain, and then where it would end.
func (s *salvage) behind(at, headSize int64, h *format.BlockHeader) int64 {
	size, err := s.src.size()
	end := at + headSize + int64(h.Compressed)
	if err != nil || end > size {
		return at + 1 // it was not read
	}
	s.vain += int64(h.Compressed)
	if s.vain > maxVain*size {
		return end
	}
	return at + 1
}
