package format

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// MaxBlockStreams and maxBlockLabels bound the sets in a block header,
	// maxLabel is the longest label, in bytes.
	MaxBlockStreams = 32
	maxBlockLabels  = 24
	maxLabel        = 128

	// HeaderRoom is more than a block header takes up as a frame: its sets,
	// and 23 fields of at most 12 bytes.
	HeaderRoom = FrameHeadSize + 23*12 + 10*MaxBlockStreams + (maxLabel+4)*maxBlockLabels + CRCSize
)

// BlockHeader precedes each zstd frame of entries. It says enough of them that
// facts and places can be had without reading any.
type BlockHeader struct {
	Compressed, Uncompressed uint64
	Sum                      uint32 // CRC-32C of the zstd frame
	Entries                  uint64
	First, Last              session.Seq
	Min, Max                 int64 // times
	Messages, Gaps, Lost     uint64
	MessageBytes             int64
	Conn, Stream             uint64 // the highest
	Epoch, Content, Contents uint64 // epoch, first content id, contents defined
	Carried                  bool   // its entries are repeated from an earlier segment

	Streams     []uint64 // of entries, ascending
	ManyStreams bool     // there are more, and streams is empty
	Labels      []string
	ManyLabels  bool
}

// Append appends the header as a frame; docs/format.md has the table. Numbers of
// fixed width keep the length of a header independent of what is known last.
func (h *BlockHeader) Append(b []byte) []byte {
	start := len(b)
	b = AppendSkippableHead(b, MagicBlock)
	b = protowire.AppendTag(b, 1, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, h.Compressed)
	b = protowire.AppendTag(b, 2, protowire.Fixed32Type)
	b = protowire.AppendFixed32(b, h.Sum)
	b = appendUint(b, 3, h.Uncompressed)
	b = appendUint(b, 4, h.Entries)
	b = appendUint(b, 5, uint64(h.First))
	b = appendUint(b, 6, uint64(h.Last))
	b = protowire.AppendTag(b, 7, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uint64(h.Min))
	b = protowire.AppendTag(b, 8, protowire.Fixed64Type)
	b = protowire.AppendFixed64(b, uint64(h.Max))
	b = appendUint(b, 9, h.Messages)
	b = appendUint(b, 10, uint64(h.MessageBytes))
	b = appendUint(b, 11, h.Gaps)
	b = appendUint(b, 12, h.Lost)
	b = appendUint(b, 13, h.Conn)
	b = appendUint(b, 14, h.Stream)
	b = appendUint(b, 15, h.Epoch)
	b = appendUint(b, 16, h.Content)
	b = appendUint(b, 17, h.Contents)
	b = appendPacked(b, 18, h.Streams)
	b = appendBool(b, 19, h.ManyStreams)
	for _, l := range h.Labels {
		b = appendString(b, 20, l)
	}
	b = appendBool(b, 21, h.ManyLabels)
	b = appendBool(b, 22, h.Carried)
	return CloseSkippable(b, start)
}

// Parse reads the payload of a block header frame.
func (h *BlockHeader) Parse(p []byte) error {
	p, err := checked(p)
	if err != nil {
		return err
	}
	return h.ParseFields(p)
}

// ParseFields reads them as an index has them: without a checksum.
func (h *BlockHeader) ParseFields(p []byte) error {
	*h = BlockHeader{}
	err := eachField(p, func(f protoscan.Field) error {
		switch f.Num {
		case 1:
			h.Compressed = f.Uint
		case 2:
			h.Sum = uint32(f.Uint)
		case 3:
			h.Uncompressed = f.Uint
		case 4:
			h.Entries = f.Uint
		case 5:
			h.First = session.Seq(f.Uint)
		case 6:
			h.Last = session.Seq(f.Uint)
		case 7:
			h.Min = int64(f.Uint)
		case 8:
			h.Max = int64(f.Uint)
		case 9:
			h.Messages = f.Uint
		case 10:
			h.MessageBytes = int64(f.Uint)
		case 11:
			h.Gaps = f.Uint
		case 12:
			h.Lost = f.Uint
		case 13:
			h.Conn = f.Uint
		case 14:
			h.Stream = f.Uint
		case 15:
			h.Epoch = f.Uint
		case 16:
			h.Content = f.Uint
		case 17:
			h.Contents = f.Uint
		case 18:
			var err error
			h.Streams, err = parsePacked(h.Streams, f.Body, MaxBlockStreams)
			return err
		case 19:
			h.ManyStreams = f.Uint != 0
		case 20:
			if len(h.Labels) < maxBlockLabels {
				h.Labels = append(h.Labels, string(f.Body))
			}
		case 21:
			h.ManyLabels = f.Uint != 0
		case 22:
			h.Carried = f.Uint != 0
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.check()
}

func (h *BlockHeader) check() error {
	switch {
	case h.Uncompressed > MaxBlock:
		return fmt.Errorf("a block of %d bytes is longer than any that is written", h.Uncompressed)
	case h.Compressed > MaxCompressed(h.Uncompressed):
		return fmt.Errorf("a block of %d bytes cannot take up %d when compressed", h.Uncompressed, h.Compressed)
	case h.Entries == 0 || h.First == 0 || h.Last < h.First || h.Entries-1 > uint64(h.Last-h.First):
		return fmt.Errorf("a block cannot hold %d entries from %d to %d", h.Entries, h.First, h.Last)
	case h.Last > MaxSeq:
		return fmt.Errorf("entry %d has a higher number than any that is written", h.Last)
	case h.Content > MaxContents || h.Contents > MaxContents-h.Content:
		return fmt.Errorf("a block cannot define %d contents from %d", h.Contents, h.Content)
	}
	return nil
}

// Add notes an entry that is put into the block.
func (h *BlockHeader) Add(e *session.Entry, labels []string) {
	at := Nanos(e.Time)
	if h.Entries == 0 {
		h.First, h.Min, h.Max = e.Seq, at, at
	}
	h.Last, h.Min, h.Max = e.Seq, min(h.Min, at), max(h.Max, at)
	h.Entries++
	h.Conn, h.Stream = max(h.Conn, uint64(e.Conn)), max(h.Stream, uint64(e.Stream))
	if e.Message != nil {
		h.Messages++
		h.MessageBytes += e.Message.Size
	}
	if e.Gap != nil && !e.Gap.Cause.Chosen() {
		h.Gaps++
		h.Lost += e.Gap.Entries
	}
	if e.Stream != 0 && !h.ManyStreams {
		h.addStream(uint64(e.Stream))
	}
	for _, l := range labels {
		h.addLabel(l)
	}
}

func (h *BlockHeader) addStream(s uint64) {
	at, found := slices.BinarySearch(h.Streams, s)
	switch {
	case found:
	case len(h.Streams) == MaxBlockStreams:
		h.Streams, h.ManyStreams = h.Streams[:0], true
	default:
		h.Streams = slices.Insert(h.Streams, at, s)
	}
}

func (h *BlockHeader) addLabel(l string) {
	switch {
	case h.ManyLabels || slices.Contains(h.Labels, l):
	case len(h.Labels) == maxBlockLabels || len(l) > maxLabel:
		h.Labels, h.ManyLabels = h.Labels[:0], true
	default:
		h.Labels = append(h.Labels, l)
	}
}

// Clear begins another block. It keeps the memory of the sets.
func (h *BlockHeader) Clear() {
	*h = BlockHeader{Streams: h.Streams[:0], Labels: h.Labels[:0]}
}
