package format

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// IndexEvery is how many blocks an index frame is about; fewer, if their
	// headers are more than indexBytes. So neither the writer nor a frame grows
	// with the recording.
	IndexEvery = 16 << 10
	IndexBytes = 1 << 20
	// MaxIndex is the longest index that is read, before and after
	// decompression.
	MaxIndex = IndexEvery * (HeaderRoom + 20)
)

// ParseIndex reads the payload of an index frame: where the one before is, and
// what it says of each block: parsed, and as ParseFields takes it.
func ParseIndex(p []byte, each func(at int64, size int, h *BlockHeader, fields []byte) error) (previous int64, err error) {
	p, err = checked(p)
	if err != nil {
		return 0, err
	}
	if len(p) < 8 {
		return 0, errWire
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(MaxIndex))
	if err != nil {
		return 0, fmt.Errorf("cannot start the decompressor: %w", err)
	}
	defer dec.Close()
	raw, err := dec.DecodeAll(p[8:], nil)
	if err != nil {
		return 0, fmt.Errorf("an index cannot be decompressed: %w", err)
	}
	var end int64
	for len(raw) > 0 {
		gap, n := protowire.ConsumeVarint(raw)
		if n < 0 {
			return 0, errWire
		}
		header, k := protowire.ConsumeBytes(raw[n:])
		if k < 0 {
			return 0, errWire
		}
		raw = raw[n+k:]
		var h BlockHeader
		if err := h.ParseFields(header); err != nil {
			return 0, err
		}
		if gap > 1<<62-uint64(end) || h.Compressed > 1<<61 {
			return 0, errWire
		}
		at, size := end+int64(gap), FrameHeadSize+len(header)+CRCSize
		if err := each(at, size, &h, header); err != nil {
			return 0, err
		}
		end = at + int64(size) + int64(h.Compressed)
	}
	return int64(binary.LittleEndian.Uint64(p)), nil
}
