package recorder

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/session"
)

const (
	// maxBlockStreams and maxBlockLabels bound the sets in a block header,
	// maxLabel is the longest label, in bytes.
	maxBlockStreams = 32
	maxBlockLabels  = 24
	maxLabel        = 128

	// headerRoom is more than a block header takes up as a frame: its sets,
	// and 23 fields of at most 12 bytes.
	headerRoom = frameHeadSize + 23*12 + 10*maxBlockStreams + (maxLabel+4)*maxBlockLabels + crcSize
)

// blockHeader precedes each zstd frame of entries. It says enough of them that
// facts and places can be had without reading any.
type blockHeader struct {
	compressed, uncompressed uint64
	sum                      uint32 // CRC-32C of the zstd frame
	entries                  uint64
	first, last              session.Seq
	min, max                 int64 // times
	messages, gaps, lost     uint64
	messageBytes             int64
	conn, stream             uint64 // the highest
	epoch, content, contents uint64 // epoch, first content id, contents defined
	carried                  bool   // its entries are repeated from an earlier segment

	streams     []uint64 // of entries, ascending
	manyStreams bool     // there are more, and streams is empty
	labels      []string
	manyLabels  bool
}

// The field numbers of a block header; docs/format.md has the table. Those of
// fixed width keep the length of a header independent of what is known last.
func (h *blockHeader) append(b []byte) []byte {
	start := len(b)
	b = appendSkippableHead(b, magicBlock)
	b = protowire.AppendTag(b, 1, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, h.compressed)
	b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, h.sum)
	b = appendUint(b, 3, h.uncompressed)
	b = appendUint(b, 4, h.entries)
	b = appendUint(b, 5, uint64(h.first))
	b = appendUint(b, 6, uint64(h.last))
	b = protowire.AppendTag(b, 7, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uint64(h.min))
	b = protowire.AppendTag(b, 8, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uint64(h.max))
	b = appendUint(b, 9, h.messages)
	b = appendUint(b, 10, uint64(h.messageBytes))
	b = appendUint(b, 11, h.gaps)
	b = appendUint(b, 12, h.lost)
	b = appendUint(b, 13, h.conn)
	b = appendUint(b, 14, h.stream)
	b = appendUint(b, 15, h.epoch)
	b = appendUint(b, 16, h.content)
	b = appendUint(b, 17, h.contents)
	if len(h.streams) > 0 {
		b = appendNested(b, 18, func(b []byte) []byte {
			for _, s := range h.streams {
				b = protowire.AppendVarint(b, s)
			}
			return b
		})
	}
	b = appendBool(b, 19, h.manyStreams)
	for _, l := range h.labels {
		b = appendString(b, 20, l)
	}
	b = appendBool(b, 21, h.manyLabels)
	b = appendBool(b, 22, h.carried)
	return closeSkippable(b, start)
}

// parse reads the payload of a block header frame.
func (h *blockHeader) parse(p []byte) error {
	p, err := checked(p)
	if err != nil {
		return err
	}
	return h.parseFields(p)
}

func (h *blockHeader) parseFields(p []byte) error {
	*h = blockHeader{}
	err := eachField(p, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			h.compressed = f.Uint
		case 2:
			h.sum = uint32(f.Uint)
		case 3:
			h.uncompressed = f.Uint
		case 4:
			h.entries = f.Uint
		case 5:
			h.first = session.Seq(f.Uint)
		case 6:
			h.last = session.Seq(f.Uint)
		case 7:
			h.min = int64(f.Uint)
		case 8:
			h.max = int64(f.Uint)
		case 9:
			h.messages = f.Uint
		case 10:
			h.messageBytes = int64(f.Uint)
		case 11:
			h.gaps = f.Uint
		case 12:
			h.lost = f.Uint
		case 13:
			h.conn = f.Uint
		case 14:
			h.stream = f.Uint
		case 15:
			h.epoch = f.Uint
		case 16:
			h.content = f.Uint
		case 17:
			h.contents = f.Uint
		case 18:
			for p := f.Body; len(p) > 0 && len(h.streams) < maxBlockStreams; {
				s, n := protowire.ConsumeVarint(p)
				if n < 0 {
					return errWire
				}
				h.streams, p = append(h.streams, s), p[n:]
			}
		case 19:
			h.manyStreams = f.Uint != 0
		case 20:
			if len(h.labels) < maxBlockLabels {
				h.labels = append(h.labels, string(f.Body))
			}
		case 21:
			h.manyLabels = f.Uint != 0
		case 22:
			h.carried = f.Uint != 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.check()
}

func (h *blockHeader) check() error {
	switch {
	case h.uncompressed > maxBlock:
		return fmt.Errorf("a block of %d bytes is longer than any that is written", h.uncompressed)
	case h.compressed > maxCompressed(h.uncompressed):
		return fmt.Errorf("a block of %d bytes cannot take up %d when compressed", h.uncompressed, h.compressed)
	case h.entries == 0 || h.first == 0 || h.last < h.first || h.entries-1 > uint64(h.last-h.first):
		return fmt.Errorf("a block cannot hold %d entries from %d to %d", h.entries, h.first, h.last)
	case h.last > maxSeq:
		return fmt.Errorf("entry %d has a higher number than any that is written", h.last)
	case h.content > maxContents || h.contents > maxContents-h.content:
		return fmt.Errorf("a block cannot define %d contents from %d", h.contents, h.content)
	}
	return nil
}

// add notes an entry that is put into the block.
func (h *blockHeader) add(e *session.Entry, labels []string) {
	at := nanos(e.Time)
	if h.entries == 0 {
		h.first, h.min, h.max = e.Seq, at, at
	}
	h.last, h.min, h.max = e.Seq, min(h.min, at), max(h.max, at)
	h.entries++
	h.conn, h.stream = max(h.conn, uint64(e.Conn)), max(h.stream, uint64(e.Stream))
	if e.Message != nil {
		h.messages++
		h.messageBytes += e.Message.Size
	}
	if e.Gap != nil && !e.Gap.Cause.Chosen() {
		h.gaps++
		h.lost += e.Gap.Entries
	}
	if e.Stream != 0 && !h.manyStreams {
		h.addStream(uint64(e.Stream))
	}
	for _, l := range labels {
		h.addLabel(l)
	}
}

func (h *blockHeader) addStream(s uint64) {
	at, found := slices.BinarySearch(h.streams, s)
	switch {
	case found:
	case len(h.streams) == maxBlockStreams:
		h.streams, h.manyStreams = h.streams[:0], true
	default:
		h.streams = slices.Insert(h.streams, at, s)
	}
}

func (h *blockHeader) addLabel(l string) {
	switch {
	case h.manyLabels || slices.Contains(h.labels, l):
	case len(h.labels) == maxBlockLabels || len(l) > maxLabel:
		h.labels, h.manyLabels = h.labels[:0], true
	default:
		h.labels = append(h.labels, l)
	}
}

// clear begins another block. It keeps the memory of the sets.
func (h *blockHeader) clear() {
	*h = blockHeader{streams: h.streams[:0], labels: h.labels[:0]}
}

// Block is what a recording says of some entries that follow each other.
type Block struct {
	First, Last       session.Seq
	From, To          time.Time
	Entries, Messages uint64
	Gaps              uint64 // gap entries among them, but for what was left out on purpose
	// Streams are those that the entries are of, in ascending order. If
	// ManyStreams there are more than are listed, and none is.
	Streams     []session.StreamID
	ManyStreams bool
	// Labels are those that Options.Labels gave. If ManyLabels there are
	// more than are listed, and none is.
	Labels     []string
	ManyLabels bool
}

func (h *blockHeader) block() *Block {
	b := &Block{
		First: h.first, Last: h.last, From: time.Unix(0, h.min).UTC(), To: time.Unix(0, h.max).UTC(),
		Entries: h.entries, Messages: h.messages, Gaps: h.gaps, ManyStreams: h.manyStreams,
		Labels: h.labels, ManyLabels: h.manyLabels,
	}
	for _, s := range h.streams {
		b.Streams = append(b.Streams, session.StreamID(s))
	}
	return b
}
