package recorder

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

const (
	formatVersion = 1
	formatMagic   = "xdsp"

	// The magic numbers of the skippable frames; zstd gives us 0x184D2A50
	// to 0x184D2A5F.
	magicSkippable = 0x184D2A50 // the low four bits are free
	magicHeader    = 0x184D2A58
	magicBlock     = 0x184D2A59
	magicEnd       = 0x184D2A5A
	magicIndex     = 0x184D2A5B

	frameHeadSize = 8 // magic and length
	crcSize       = 4

	// maxSkippable is the longest skippable frame that is read, but for an
	// index; a longer one cannot have been written by us.
	maxSkippable = 64 << 10

	// maxData is the most that a message may hold, maxHead what the rest of
	// an entry may take up.
	maxData = 1 << 30
	maxHead = 8 << 20
	// maxEntry leaves room for what the parts of the data are preceded by.
	maxEntry = maxData + maxData/8 + maxHead

	// maxSeq is the highest number that an entry has, so that there is always
	// one after it.
	maxSeq = math.MaxInt64

	// Content is what messages have in common: a chunk of at least minContent
	// bytes, stored once and referred to by its number within an epoch. An
	// epoch ends when it has one of these; the blocks are those that define
	// content.
	minContent     = 48
	maxContents    = 1 << 20
	epochBytes     = 128 << 20
	maxEpochBlocks = 4096

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
	// Of a recording in segments: the number of this one, from 1, the number
	// of the first entry that is its own, and when the first was created.
	segment uint64
	first   session.Seq
	began   time.Time
}

func (h *fileHeader) append(b []byte) []byte {
	var p []byte
	p = append(p, formatMagic...)
	p = binary.LittleEndian.AppendUint32(p, formatVersion)
	p = appendTime(p, 1, h.created)
	p = appendString(p, 2, h.program)
	p = appendBool(p, 3, h.masked)
	p = appendUint(p, 4, h.segment)
	p = appendUint(p, 5, uint64(h.first))
	p = appendTime(p, 6, h.began)
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
	return eachField(p[len(formatMagic)+4:], func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			h.created = timeOf(f.Uint)
		case 2:
			h.program = string(f.Body)
		case 3:
			h.masked = f.Uint != 0
		case 4:
			h.segment = f.Uint
		case 5:
			h.first = session.Seq(f.Uint)
		case 6:
			h.began = timeOf(f.Uint)
		}
		return nil
	})
}

// appendSkippable appends a skippable frame of payload and its checksum.
func appendSkippable(b []byte, magic uint32, payload []byte) []byte {
	start := len(b)
	return closeSkippable(append(appendSkippableHead(b, magic), payload...), start)
}

// appendSkippableHead begins a skippable frame, whose payload is to follow.
func appendSkippableHead(b []byte, magic uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, magic)
	return append(b, 0, 0, 0, 0)
}

// closeSkippable ends the frame that begins at start with its checksum.
func closeSkippable(b []byte, start int) []byte {
	payload := b[start+frameHeadSize:]
	binary.LittleEndian.PutUint32(b[start+4:], uint32(len(payload)+crcSize))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, castagnoli()))
}

// checked returns the payload without its checksum, if that is right.
func checked(p []byte) ([]byte, error) {
	if len(p) < crcSize {
		return nil, errors.New("a header is too short")
	}
	body, sum := p[:len(p)-crcSize], binary.LittleEndian.Uint32(p[len(p)-crcSize:])
	if crc32.Checksum(body, castagnoli()) != sum {
		return nil, errors.New("the checksum of a header is wrong")
	}
	return body, nil
}

// castagnoli is cached by package crc32.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
