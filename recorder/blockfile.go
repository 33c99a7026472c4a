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

// keepHead is the largest buffer for an entry without its data that is kept.
const keepHead = 1 << 20

// spillSize is how much of a block is held in memory. Only a block of a single
// large entry can be longer; what is too much of it goes to the file before it
// is complete.
const spillSize = frameHeadSize + blockHeaderSize + blockTarget + blockTarget/compressSlack + maxSkippable

// blockFile writes blocks of entries, each as a whole or not at all.
type blockFile struct {
	f    sink
	end  int64 // of the last whole block
	torn bool  // there may be bytes beyond end

	enc  *zstd.Encoder
	next []byte // the entry that was measured last, without its data

	// The block that is being made: what goes to the file after the bytes
	// that were spilled. It begins with the room for its header.
	head    blockHeader
	out     []byte
	spilled int64
	failed  error // why spilling did not work
}

func newBlockFile(f sink, h *fileHeader) (*blockFile, error) {
	b := &blockFile{f: f}
	enc, err := zstd.NewWriter((*compressed)(b),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(true),
		zstd.WithWindowSize(window))
	if err != nil {
		return nil, fmt.Errorf("cannot start the compressor: %w", err)
	}
	b.enc = enc
	b.out = h.append(make([]byte, 0, 64<<10))
	if err := b.write(); err != nil {
		return nil, err
	}
	b.reset()
	return b, nil
}

// reset begins a new block.
func (b *blockFile) reset() {
	var room [frameHeadSize + blockHeaderSize]byte
	b.head, b.spilled, b.failed = blockHeader{}, 0, nil
	b.out = append(b.out[:0], room[:]...)
	if cap(b.next) > keepHead {
		b.next = nil
	}
	b.enc.Reset((*compressed)(b))
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
	h, at := &b.head, nanos(e.Time)
	if h.entries == 0 {
		h.first, h.min, h.max = e.Seq, at, at
	}
	h.last, h.min, h.max = e.Seq, min(h.min, at), max(h.max, at)
	h.entries++
	h.uncompressed += uint64(len(prefix)) + n
	// Nothing here fails: what the file says waits for commit.
	_, _ = b.enc.Write(prefix)
	_, _ = b.enc.Write(b.next)
	for _, c := range data {
		_, _ = b.enc.Write(c)
	}
}

// compressed is where the compressor puts the block. It never fails.
type compressed blockFile

func (c *compressed) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if len(c.out) == spillSize {
			(*blockFile)(c).spill()
		}
		fits := min(len(p), spillSize-len(c.out))
		c.out, p = append(c.out, p[:fits]...), p[fits:]
	}
	return n, nil
}

// spill moves what is in memory to the file. The header that goes with it
// claims more bytes than will come, so that the block does not count until
// commit puts the right one in its place.
func (b *blockFile) spill() {
	if b.failed == nil && b.spilled == 0 {
		provisional := b.head
		provisional.compressed = maxCompressed(b.head.uncompressed)
		provisional.append(b.out[:0])
		b.failed = b.cutTail()
	}
	if b.failed == nil {
		b.torn = true
		_, b.failed = b.f.WriteAt(b.out, b.end+b.spilled)
	}
	b.spilled += int64(len(b.out))
	b.out = b.out[:0]
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
	b.head.compressed = uint64(b.spilled) + uint64(len(b.out)) - frameHeadSize - blockHeaderSize
	if b.spilled == 0 {
		b.head.append(b.out[:0])
		return b.write()
	}
	at, err := b.end+b.spilled, b.failed
	if err == nil {
		_, err = b.f.WriteAt(b.out, at)
	}
	if err == nil {
		_, err = b.f.WriteAt(b.head.append(nil), b.end)
	}
	if err != nil {
		_ = b.cutTail()
		return err
	}
	b.end, b.torn = at+int64(len(b.out)), false
	return nil
}

// finish writes the end mark. Nothing may be written after it.
func (b *blockFile) finish(m endMark) error {
	b.out = m.append(b.out[:0])
	return b.write()
}

// write puts what is in memory at the end of the file.
func (b *blockFile) write() error {
	if err := b.cutTail(); err != nil {
		return err
	}
	if _, err := b.f.WriteAt(b.out, b.end); err != nil {
		b.torn = true
		_ = b.cutTail()
		return err
	}
	b.end += int64(len(b.out))
	return nil
}

// cutTail removes what a failed write left behind. If that fails too it is
// tried again before the next block.
func (b *blockFile) cutTail() error {
	if !b.torn {
		return nil
	}
	err := b.f.Truncate(b.end)
	b.torn = err != nil
	return err
}
