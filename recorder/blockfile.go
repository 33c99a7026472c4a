package recorder

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// window is how far back the compression of a block looks: a whole block, where
// it does not hold a single large message.
const window = 4 << 20

// sink is the file that a recording is written to.
type sink interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
}

// blockFile writes blocks of entries, each as a whole or not at all.
type blockFile struct {
	f    sink
	end  int64 // of the last whole block
	torn bool  // there may be bytes beyond end

	enc  *zstd.Encoder
	out  pieces // the block that is being made: room for its header, then the zstd frame
	next []byte // the entry that was measured last, without its data
	head blockHeader
}

func newBlockFile(f sink, h *fileHeader) (*blockFile, error) {
	b := &blockFile{f: f}
	enc, err := zstd.NewWriter(&b.out,
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(true),
		zstd.WithWindowSize(window))
	if err != nil {
		return nil, fmt.Errorf("cannot start the compressor: %w", err)
	}
	b.enc = enc
	_, _ = b.out.Write(h.append(nil))
	if err := b.write(); err != nil {
		return nil, err
	}
	b.reset()
	return b, nil
}

// reset begins a new block.
func (b *blockFile) reset() {
	b.head = blockHeader{}
	b.out.reset()
	var room [frameHeadSize + blockHeaderSize]byte
	_, _ = b.out.Write(room[:])
	b.enc.Reset(&b.out)
}

// empty says that the block has no entry yet.
func (b *blockFile) empty() bool { return b.head.entries == 0 }

// measure encodes an entry, but for its data, and says whether it fits into
// the block. The one that add adds is the one that was measured last.
func (b *blockFile) measure(e *session.Entry) (fits bool) {
	var data int64
	b.next, data = appendEntry(b.next[:0], e)
	if len(b.next) > maxHead || data > maxData {
		b.next, data = appendEntry(b.next[:0], strip(e))
	}
	return b.empty() || b.head.uncompressed+uint64(len(b.next))+uint64(data) <= blockTarget
}

// strip removes what can be of any size, in favour of a word about it, because
// no reader would accept an entry that large.
func strip(e *session.Entry) *session.Entry {
	e.Headers, e.Peer, e.Status, e.GoAway, e.Note, e.Method = nil, nil, nil, nil, nil, ""
	dropData(e)
	e.Problems = []string{"too large to be recorded"}
	return e
}

// dropData removes the payload of an entry, if it has one.
func dropData(e *session.Entry) {
	if e.Message == nil {
		return
	}
	m := *e.Message
	m.Data, m.Truncated = nil, true
	if len(m.Encoding) > 1<<10 {
		m.Encoding = ""
	}
	e.Message = &m
}

// add puts the entry that was measured last into the block. Its data goes
// through the compressor piece by piece and is not copied before.
func (b *blockFile) add(e *session.Entry) {
	var data session.Chunks
	if e.Message != nil {
		data = e.Message.Data
	}
	var length [10]byte
	n := uint64(len(b.next)) + uint64(data.Len())
	prefix := protowire.AppendVarint(length[:0], n)
	// Nothing here can fail: the compressor writes into memory.
	_, _ = b.enc.Write(prefix)
	_, _ = b.enc.Write(b.next)
	for _, c := range data {
		_, _ = b.enc.Write(c)
	}
	h, at := &b.head, nanos(e.Time)
	if h.entries == 0 {
		h.first, h.min, h.max = e.Seq, at, at
	}
	h.last, h.min, h.max = e.Seq, min(h.min, at), max(h.max, at)
	h.entries++
	h.uncompressed += uint64(len(prefix)) + n
}

// commit writes the block to the file and begins a new one, whether or not
// that succeeded: after an error the block is lost, and the file is as before.
func (b *blockFile) commit() error {
	if b.empty() {
		return nil
	}
	defer b.reset()
	if err := b.enc.Close(); err != nil {
		return fmt.Errorf("cannot compress a block: %w", err)
	}
	b.head.compressed = uint64(b.out.size - frameHeadSize - blockHeaderSize)
	b.head.append(b.out.list[0][:0])
	return b.write()
}

// finish writes the end mark. Nothing may be written after it.
func (b *blockFile) finish(m endMark) error {
	b.out.reset()
	_, _ = b.out.Write(m.append(nil))
	return b.write()
}

// write puts what is in out at the end of the file. What a failed write left
// behind is cut off, now or before the next one.
func (b *blockFile) write() error {
	if b.torn {
		if err := b.f.Truncate(b.end); err != nil {
			return err
		}
		b.torn = false
	}
	at := b.end
	for _, p := range b.out.list {
		if _, err := b.f.WriteAt(p, at); err != nil {
			b.torn = b.f.Truncate(b.end) != nil
			return err
		}
		at += int64(len(p))
	}
	b.end = at
	return nil
}

// pieceSize is the largest piece; the first is kept for the next block.
const pieceSize = 4 << 20

// pieces is a buffer that grows without copying what is large.
type pieces struct {
	list [][]byte
	size int
}

func (p *pieces) reset() {
	if len(p.list) > 0 {
		clear(p.list[1:])
		p.list = append(p.list[:0], p.list[0][:0])
	}
	p.size = 0
}

// Write never fails.
func (p *pieces) Write(b []byte) (int, error) {
	n := len(b)
	p.size += n
	for len(b) > 0 {
		if len(p.list) == 0 || len(p.list[len(p.list)-1]) >= pieceSize {
			p.list = append(p.list, make([]byte, 0, 64<<10))
		}
		last := &p.list[len(p.list)-1]
		take := min(len(b), pieceSize-len(*last))
		*last = append(*last, b[:take]...)
		b = b[take:]
	}
	return n, nil
}
