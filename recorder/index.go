package recorder

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	// indexEvery is how many blocks an index frame is about; fewer, if their
	// headers are more than indexBytes. So neither the writer nor a frame grows
	// with the recording.
	indexEvery = 16 << 10
	indexBytes = 1 << 20
	// maxIndex is the longest index that is read, before and after
	// decompression.
	maxIndex = indexEvery * (headerRoom + 20)
)

// indexWriter collects the headers of the blocks since the last index frame.
type indexWriter struct {
	raw   []byte // of each block: where it is after the end of the one before, length of its header, header
	count int
	end   int64 // of the last block in raw
	last  int64 // where the last index frame is; 0 if there is none
}

// add notes a block that was written at at.
func (x *indexWriter) add(at int64, h *blockHeader) {
	var room [headerRoom]byte
	frame := h.append(room[:0])
	header := frame[frameHeadSize : len(frame)-crcSize]
	x.raw = protowire.AppendVarint(x.raw, uint64(at-x.end))
	x.raw = protowire.AppendBytes(x.raw, header)
	x.end = at + int64(len(frame)) + int64(h.compressed)
	x.count++
}

// frame is an index frame of what was collected, for a file that ends at at.
func (x *indexWriter) frame() ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("cannot start the compressor: %w", err)
	}
	b := appendSkippableHead(nil, magicIndex)
	b = binary.LittleEndian.AppendUint64(b, uint64(x.last))
	b = enc.EncodeAll(x.raw, b)
	return closeSkippable(b, 0), enc.Close()
}

// writeIndex writes what was collected as a frame of its own.
func (b *blockFile) writeIndex() error {
	x := &b.index
	if x.count == 0 {
		return nil
	}
	frame, err := x.frame()
	if err != nil {
		return err
	}
	at := b.end
	if err := b.write(frame); err != nil {
		return err
	}
	*x = indexWriter{raw: x.raw[:0], last: at}
	return nil
}

// parseIndex reads the payload of an index frame: where the one before is, and
// what it says of each block.
func parseIndex(p []byte, each func(at int64, size int, h *blockHeader) error) (previous int64, err error) {
	p, err = checked(p)
	if err != nil {
		return 0, err
	}
	if len(p) < 8 {
		return 0, errWire
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxIndex))
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
		var h blockHeader
		if err := h.parseFields(header); err != nil {
			return 0, err
		}
		if gap > 1<<62-uint64(end) || h.compressed > 1<<61 {
			return 0, errWire
		}
		at, size := end+int64(gap), frameHeadSize+len(header)+crcSize
		if err := each(at, size, &h); err != nil {
			return 0, err
		}
		end = at + int64(size) + int64(h.compressed)
	}
	return int64(binary.LittleEndian.Uint64(p)), nil
}
