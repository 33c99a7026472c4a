package blocks

import (
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// indexWriter collects the headers of the blocks since the last index frame.
type indexWriter struct {
	raw   []byte // of each block: where it is after the end of the one before, length of its header, header
	count int
	end   int64 // of the last block in raw
	last  int64 // where the last index frame is; 0 if there is none
}

// add notes a block that was written at at.
func (x *indexWriter) add(at int64, h *format.BlockHeader) {
	var room [format.HeaderRoom]byte
	frame := h.Append(room[:0])
	header := frame[format.FrameHeadSize : len(frame)-format.CRCSize]
	x.raw = protowire.AppendVarint(x.raw, uint64(at-x.end))
	x.raw = protowire.AppendBytes(x.raw, header)
	x.end = at + int64(len(frame)) + int64(h.Compressed)
	x.count++
}

// frame is an index frame of what was collected, for a file that ends at at.
func (x *indexWriter) frame() ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("cannot start the compressor: %w", err)
	}
	b := format.AppendSkippableHead(nil, format.MagicIndex)
	b = binary.LittleEndian.AppendUint64(b, uint64(x.last))
	b = enc.EncodeAll(x.raw, b)
	return format.CloseSkippable(b, 0), enc.Close()
}

// WriteIndex writes what was collected as a frame of its own.
func (b *Writer) WriteIndex() error {
	x := &b.index
	if x.count == 0 {
		return nil
	}
	frame, err := x.frame()
	if err != nil {
		return err
	}
	at := b.End
	if err := b.write(frame); err != nil {
		return err
	}
	*x = indexWriter{raw: x.raw[:0], last: at}
	return nil
}
