package format

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

const (
	Version = 1
	Magic   = "xdsp"

	// The magic numbers of the skippable frames; zstd gives us 0x184D2A50
	// to 0x184D2A5F.
	MagicSkippable = 0x184D2A50 // the low four bits are free
	MagicHeader    = 0x184D2A58
	MagicBlock     = 0x184D2A59
	MagicEnd       = 0x184D2A5A
	MagicIndex     = 0x184D2A5B

	FrameHeadSize = 8 // magic and length
	CRCSize       = 4

	// MaxSkippable is the longest skippable frame that is read, but for an
	// index; a longer one cannot have been written by us.
	MaxSkippable = 64 << 10

	// MaxData is the most that a message may hold, maxHead what the rest of
	// an entry may take up.
	MaxData = 1 << 30
	MaxHead = 8 << 20
	// maxEntry leaves room for what the parts of the data are preceded by.
	maxEntry = MaxData + MaxData/8 + MaxHead

	// MaxGapStreams bounds the streams that a Gap entry names. Readers take one
	// that names so many for one that touches all.
	MaxGapStreams = 1024

	// MaxSeq is the highest number that an entry has, so that there is always
	// one after it.
	MaxSeq = math.MaxInt64

	// Content is what messages have in common: a chunk of at least minContent
	// bytes, stored once and referred to by its number within an epoch. An
	// epoch ends when it has one of these; the blocks are those that define
	// content.
	MinContent     = 48
	MaxContents    = 1 << 20
	EpochBytes     = 128 << 20
	MaxEpochBlocks = 4096

	// BlockTarget is where a block is cut. A single larger entry has a block
	// of its own.
	BlockTarget = 512 << 10
	MaxBlock    = maxEntry + BlockTarget

	// CompressSlack is the part that what cannot be compressed may grow by.
	CompressSlack = 64
)

// MaxCompressed is more than any n bytes take up when compressed.
func MaxCompressed(n uint64) uint64 { return n + n/CompressSlack + MaxSkippable }

// FileHeader is what a recording says of itself.
type FileHeader struct {
	Version uint32
	Created time.Time
	Program string
	Masked  bool
	// Of a recording in segments: the number of this one, from 1, the number
	// of the first entry that is its own, and when the first was created.
	Segment uint64
	First   session.Seq
	Began   time.Time
	// Descriptors are packed ones, which follow the header; see PackDescriptors.
	// They take up DescriptorBytes, which is all that Parse tells of them.
	Descriptors     string
	DescriptorBytes uint64
}

// Append appends the header, and the frames that belong to it.
func (h *FileHeader) Append(b []byte) []byte {
	return appendDescriptors(h.append(b), h.Descriptors)
}

func (h *FileHeader) append(b []byte) []byte {
	h.DescriptorBytes = uint64(len(h.Descriptors))
	var p []byte
	p = append(p, Magic...)
	p = binary.LittleEndian.AppendUint32(p, Version)
	c := codec{out: p}
	c.fileHeader(h)
	return AppendSkippable(b, MagicHeader, c.out)
}

// Parse reads the payload of a header frame. It stops at a version it does not
// know, of which nothing but the version can be relied upon.
func (h *FileHeader) Parse(p []byte) error {
	if len(p) < len(Magic)+4+CRCSize || string(p[:len(Magic)]) != Magic {
		return errors.New("it does not begin as one")
	}
	h.Version = binary.LittleEndian.Uint32(p[len(Magic):])
	if h.Version != Version {
		return nil
	}
	p, err := checked(p)
	if err != nil {
		return err
	}
	_, err = decode(p[len(Magic)+4:], h, (*codec).fileHeader)
	return err
}

// AppendSkippable appends a skippable frame of payload and its checksum.
func AppendSkippable(b []byte, magic uint32, payload []byte) []byte {
	start := len(b)
	return CloseSkippable(append(AppendSkippableHead(b, magic), payload...), start)
}

// AppendSkippableHead begins a skippable frame, whose payload is to follow.
func AppendSkippableHead(b []byte, magic uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, magic)
	return append(b, 0, 0, 0, 0)
}

// CloseSkippable ends the frame that begins at start with its checksum.
func CloseSkippable(b []byte, start int) []byte {
	payload := b[start+FrameHeadSize:]
	binary.LittleEndian.PutUint32(b[start+4:], uint32(len(payload)+CRCSize))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(payload, Castagnoli()))
}

// checked returns the payload without its checksum, if that is right.
func checked(p []byte) ([]byte, error) {
	if len(p) < CRCSize {
		return nil, errors.New("a header is too short")
	}
	body, sum := p[:len(p)-CRCSize], binary.LittleEndian.Uint32(p[len(p)-CRCSize:])
	if crc32.Checksum(body, Castagnoli()) != sum {
		return nil, errors.New("the checksum of a header is wrong")
	}
	return body, nil
}

// Castagnoli is cached by package crc32.
func Castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }
