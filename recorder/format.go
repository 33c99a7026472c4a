package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

const (
	formatVersion = 0
	formatMagic   = "xdsp"

	// The magic numbers of the skippable frames; zstd gives us 0x184D2A50
	// to 0x184D2A5F.
	magicSkippable = 0x184D2A50 // the low four bits are free
	magicHeader    = 0x184D2A58
	magicBlock     = 0x184D2A59
	magicEnd       = 0x184D2A5A

	frameHeadSize   = 8 // magic and length
	crcSize         = 4
	blockHeaderSize = 7*8 + crcSize
	endSize         = 2*8 + crcSize

	// maxSkippable is the longest skippable frame that is read; a longer one
	// cannot have been written by us.
	maxSkippable = 64 << 10

	// maxData is the most that a message may hold, maxHead what the rest of
	// an entry may take up.
	maxData  = 1 << 30
	maxHead  = 8 << 20
	maxEntry = maxData + maxHead

	// blockTarget is where a block is cut. A single larger entry has a block
	// of its own.
	blockTarget = 4 << 20
	maxBlock    = maxEntry + blockTarget

	// compressSlack is the part that what cannot be compressed may grow by.
	compressSlack = 64
)

// maxCompressed is more than any n bytes take up when compressed.
func maxCompressed(n uint64) uint64 { return n + n/compressSlack + maxSkippable }

// fileHeader is what a recording says of itself.
type fileHeader struct {
	version uint32
	created time.Time
	program string
	masked  bool
}

func (h *fileHeader) append(b []byte) []byte {
	var p []byte
	p = append(p, formatMagic...)
	p = binary.LittleEndian.AppendUint32(p, h.version)
	p = appendTime(p, 1, h.created)
	p = appendString(p, 2, h.program)
	p = appendBool(p, 3, h.masked)
	return appendSkippable(b, magicHeader, p)
}

// parse reads the payload of a header frame. It stops at a version it does not
// know, of which nothing but the version can be relied upon.
func (h *fileHeader) parse(p []byte) error {
	if len(p) < len(formatMagic)+4+crcSize || string(p[:len(formatMagic)]) != formatMagic {
		return errors.New("it does not begin as one")
	}
	h.version = binary.LittleEndian.Uint32(p[len(formatMagic):])
	if h.version != formatVersion {
		return nil
	}
	p, err := checked(p)
	if err != nil {
		return err
	}
	return eachField(p[len(formatMagic)+4:], func(f field) error {
		switch f.num {
		case 1:
			h.created = f.time()
		case 2:
			h.program = string(f.bytes)
		case 3:
			h.masked = f.n != 0
		}
		return nil
	})
}

// blockHeader precedes each zstd frame of entries.
type blockHeader struct {
	compressed, uncompressed, entries uint64
	first, last                       session.Seq
	min, max                          int64 // times
}

func (h *blockHeader) append(b []byte) []byte {
	var p [blockHeaderSize - crcSize]byte
	for i, n := range []uint64{
		h.compressed, h.uncompressed, h.entries,
		uint64(h.first), uint64(h.last), uint64(h.min), uint64(h.max),
	} {
		binary.LittleEndian.PutUint64(p[8*i:], n)
	}
	return appendSkippable(b, magicBlock, p[:])
}

func (h *blockHeader) parse(p []byte) error {
	if len(p) < blockHeaderSize {
		return fmt.Errorf("a block header of %d bytes is too short", len(p))
	}
	p, err := checked(p)
	if err != nil {
		return err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(p[8*i:]) }
	*h = blockHeader{
		compressed: word(0), uncompressed: word(1), entries: word(2),
		first: session.Seq(word(3)), last: session.Seq(word(4)), min: int64(word(5)), max: int64(word(6)),
	}
	switch {
	case h.uncompressed > maxBlock:
		return fmt.Errorf("a block of %d bytes is longer than any that is written", h.uncompressed)
	case h.compressed > maxCompressed(h.uncompressed):
		return fmt.Errorf("a block of %d bytes cannot take up %d when compressed", h.uncompressed, h.compressed)
	case h.entries == 0 || h.first == 0 || h.last < h.first || h.entries > uint64(h.last-h.first)+1:
		return fmt.Errorf("a block cannot hold %d entries from %d to %d", h.entries, h.first, h.last)
	}
	return nil
}

// endMark closes a recording that was closed regularly.
type endMark struct {
	entries uint64
	last    session.Seq
}

func (m *endMark) append(b []byte) []byte {
	var p [endSize - crcSize]byte
	binary.LittleEndian.PutUint64(p[0:], m.entries)
	binary.LittleEndian.PutUint64(p[8:], uint64(m.last))
	return appendSkippable(b, magicEnd, p[:])
}

func (m *endMark) parse(p []byte) error {
	if len(p) < endSize {
		return fmt.Errorf("an end mark of %d bytes is too short", len(p))
	}
	p, err := checked(p)
	if err != nil {
		return err
	}
	m.entries = binary.LittleEndian.Uint64(p)
	m.last = session.Seq(binary.LittleEndian.Uint64(p[8:]))
	return nil
}

// appendSkippable appends a skippable frame of payload and its checksum.
func appendSkippable(b []byte, magic uint32, payload []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, magic)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)+crcSize))
	b = append(b, payload...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli()))
}

// checked returns the payload without its checksum, if that is right.
func checked(p []byte) ([]byte, error) {
	body, sum := p[:len(p)-crcSize], binary.LittleEndian.Uint32(p[len(p)-crcSize:])
	if crc32.Checksum(body, castagnoli()) != sum {
		return nil, errors.New("the checksum of a header is wrong")
	}
	return body, nil
}

// castagnoli is cached by package crc32.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// eachField calls f with each field of a message in wire format, groups
// excepted.
func eachField(b []byte, f func(field) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errWire
		}
		b = b[n:]
		v := field{num: num}
		switch typ {
		case protowire.VarintType:
			v.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v.n, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errWire
		}
		b = b[n:]
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

var errWire = errors.New("an entry is not in wire format")

// field is one field of a message: a number, or bytes that belong to the
// message.
type field struct {
	num   protowire.Number
	n     uint64
	bytes []byte
}

func (f field) time() time.Time { return time.Unix(0, int64(f.n)).UTC() }
