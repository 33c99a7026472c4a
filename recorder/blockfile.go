package recorder

import (
	"fmt"
	"hash/crc32"
	"io"
	"runtime/debug"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"

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
const spillSize = format.HeaderRoom + format.BlockTarget + format.BlockTarget/format.CompressSlack + format.MaxSkippable

// blockFile writes blocks of entries, each as a whole or not at all.
type blockFile struct {
	f      sink
	end    int64  // of the last whole block
	torn   bool   // there may be bytes beyond end
	begins []byte // the header that it begins with
	// foreign is why it must not be written any more, or shortened: what is in
	// it is not ours.
	foreign error
	tail    *tailPart

	entries uint64      // in it
	last    session.Seq // of them
	// carrying marks blocks as repeated from an earlier segment.
	carrying bool

	enc  *zstd.Encoder
	hook func([]byte) []byte // Options.Content

	// The epoch: how many there were, what is known in it, and how many
	// blocks define that.
	epoch  uint64
	known  contents
	blocks int

	// The entry that was measured last: without its data, its data, and the
	// epoch that this is of.
	next []byte
	plan plan
	of   uint64

	// The block that is being made: what goes to the file after the bytes
	// that were spilled. If there are none it begins with room for the
	// header, which is put at the end of that room.
	head     format.BlockHeader
	out      []byte
	spilled  int64
	headSize int   // of the header, once something was spilled
	failed   error // why spilling did not work

	index indexWriter

	// own is what is in the file so far, all the same with what was repeated
	// from an earlier segment.
	own, all Facts
}

func newBlockFile(f sink, h *format.FileHeader, hook func([]byte) []byte) (*blockFile, error) {
	b := &blockFile{f: f, hook: hook}
	enc, err := zstd.NewWriter((*compressed)(b),
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1),
		zstd.WithLowerEncoderMem(true),
		zstd.WithEncoderCRC(false),
		zstd.WithWindowSize(window))
	if err != nil {
		return nil, fmt.Errorf("cannot start the compressor: %w", err)
	}
	b.enc = enc
	b.begins = h.Append(nil)
	if err := b.write(b.begins); err != nil {
		return nil, err
	}
	b.own.Bytes, b.all.Bytes = b.end, b.end
	b.renew()
	b.reset()
	return b, nil
}

// renew begins a new epoch, in which nothing is known.
func (b *blockFile) renew() {
	b.epoch++
	b.blocks = 0
	b.known.reset()
}

// reset begins a new block.
func (b *blockFile) reset() {
	var room [format.HeaderRoom]byte
	if b.known.full || b.blocks >= format.MaxEpochBlocks {
		b.renew()
	}
	b.head.Clear()
	b.spilled, b.failed = 0, nil
	b.out = append(b.out[:0], room[:]...)
	if cap(b.next) > keepHead {
		b.next = nil
	}
	b.enc.Reset((*compressed)(b))
}

// empty says that the block has no entry yet.
func (b *blockFile) empty() bool { return b.head.Entries == 0 }

// measure encodes an entry, but for the bytes of its data, and says whether it
// fits into the block. The one that add adds is the one that was measured last,
// and each that was measured must be added: it may define content that later
// ones refer to.
func (b *blockFile) measure(e *session.Entry) (fits bool, err error) {
	b.of = b.epoch
	b.plan.reset()
	if m := e.Message; m != nil && len(m.Data) > 0 {
		if m.Data.Len() > format.MaxData {
			strip(e)
		} else if err = b.planData(e.Side, m.Data); err != nil {
			dropData(e)
			e.Problems = append(e.Problems[:len(e.Problems):len(e.Problems)], problemUnprepared)
		} else if b.plan.masked && !m.Masked {
			m := *e.Message
			m.Masked = true
			e.Message = &m
		}
	}
	b.next = format.AppendEntry(b.next[:0], e)
	if len(b.next) > format.MaxHead {
		b.plan.drop(&b.known)
		b.next = format.AppendEntry(b.next[:0], strip(e))
	}
	return b.empty() || b.head.Uncompressed+uint64(len(b.next))+uint64(b.plan.size()) <= format.BlockTarget, err
}

// planData plans the data of a message, all or nothing.
func (b *blockFile) planData(side session.Side, data session.Chunks) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &panicError{cause: cause, stack: debug.Stack()}
		}
		if err != nil {
			b.plan.drop(&b.known)
		}
	}()
	return b.plan.make(side, data, &b.known, b.hook)
}

// strip removes what can be of any size, in favour of a word about it, because
// no reader would accept an entry that large.
func strip(e *session.Entry) *session.Entry {
	e.Headers, e.Sent, e.Peer, e.Status, e.GoAway, e.Note, e.Method = nil, nil, nil, nil, nil, nil, ""
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
func (b *blockFile) add(e *session.Entry, labels []string) {
	if b.of != b.epoch {
		// What it refers to was left behind with the block before.
		_, _ = b.measure(e)
	}
	var length [10]byte
	n := uint64(len(b.next)) + uint64(b.plan.size())
	prefix := protowire.AppendVarint(length[:0], n)
	h := &b.head
	if h.Entries == 0 {
		h.Carried = b.carrying
		h.Epoch, h.Content = b.epoch, uint64(len(b.known.sums)-b.plan.fresh)
	}
	h.Add(e, labels)
	h.Contents += uint64(b.plan.fresh)
	h.Uncompressed += uint64(len(prefix)) + n
	// Nothing here fails: what the file says waits for commit.
	_, _ = b.enc.Write(prefix)
	_, _ = b.enc.Write(b.next)
	b.plan.write(func(p []byte) { _, _ = b.enc.Write(p) })
	b.plan.reset()
}

// compressed is where the compressor puts the block. It never fails.
type compressed blockFile

func (c *compressed) Write(p []byte) (int, error) {
	n := len(p)
	c.head.Sum = crc32.Update(c.head.Sum, format.Castagnoli(), p)
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
	out := b.out
	if b.spilled == 0 {
		provisional := b.head
		provisional.Compressed = format.MaxCompressed(b.head.Uncompressed)
		out = b.headed(&provisional)
		b.headSize = len(out) - (len(b.out) - format.HeaderRoom)
		b.failed = b.cutTail()
	}
	if b.failed == nil {
		b.torn = true
		_, b.failed = b.f.WriteAt(out, b.end+b.spilled)
	}
	b.spilled += int64(len(out))
	b.out = b.out[:0]
}

// headed is what is in memory, headed by h.
func (b *blockFile) headed(h *format.BlockHeader) []byte {
	var room [format.HeaderRoom]byte
	head := h.Append(room[:0])
	return append(b.out[:format.HeaderRoom-len(head)], head...)[format.HeaderRoom-len(head) : len(b.out)]
}

// commit writes the block to the file and begins a new one, whether or not
// that succeeded: after an error the block is lost, and the file is as before.
func (b *blockFile) commit() error {
	if b.empty() {
		return nil
	}
	at := b.end
	err := b.commitBlock()
	if err != nil {
		b.renew() // what the block defined is lost with it
	} else {
		b.entries += b.head.Entries
		b.last = max(b.last, b.head.Last)
		if b.head.Contents > 0 {
			b.blocks++
		}
		b.index.add(at, &b.head)
		if b.index.count >= format.IndexEvery || len(b.index.raw) >= format.IndexBytes {
			_ = b.writeIndex() // it is tried again after the next block
		}
		b.count()
	}
	b.reset()
	return err
}

func (b *blockFile) commitBlock() error {
	if err := b.enc.Close(); err != nil {
		return fmt.Errorf("cannot compress a block: %w", err)
	}
	if b.spilled == 0 {
		b.head.Compressed = uint64(len(b.out) - format.HeaderRoom)
		return b.write(b.headed(&b.head))
	}
	b.head.Compressed = uint64(b.spilled) + uint64(len(b.out)) - uint64(b.headSize)
	at, err := b.end+b.spilled, b.failed
	if err == nil {
		_, err = b.f.WriteAt(b.out, at)
	}
	if err == nil {
		_, err = b.f.WriteAt(b.head.Append(nil), b.end)
	}
	if err != nil {
		_ = b.cutTail()
		return err
	}
	b.end, b.torn = at+int64(len(b.out)), false
	b.tail.passed(b.end)
	return nil
}

// count adds the block that was committed to the facts.
func (b *blockFile) count() {
	b.all.countBlock(&b.head)
	if !b.head.Carried {
		b.own.countBlock(&b.head)
	}
	b.own.Bytes, b.all.Bytes = b.end, b.end
}

// finish writes the index and the end mark. Nothing may be written after it.
func (b *blockFile) finish(last session.Seq) error {
	if err := b.writeIndex(); err != nil {
		return err
	}
	m := format.EndMark{Entries: b.entries, Last: last, Index: b.index.last}
	err := b.write(m.Append(b.out[:0]))
	b.own.Bytes, b.all.Bytes = b.end, b.end
	b.own.Complete, b.all.Complete = err == nil, err == nil
	return err
}

// write puts p at the end of the file.
func (b *blockFile) write(p []byte) error {
	if err := b.cutTail(); err != nil {
		return err
	}
	if _, err := b.f.WriteAt(p, b.end); err != nil {
		b.torn = true
		_ = b.cutTail()
		return err
	}
	b.end += int64(len(p))
	b.tail.wrote(p, b.end)
	return nil
}

// cutTail removes what a failed write left behind. If that fails too it is
// tried again before the next block.
func (b *blockFile) cutTail() error {
	if b.foreign != nil || !b.torn {
		return b.foreign
	}
	err := b.f.Truncate(b.end)
	b.torn = err != nil
	return err
}
