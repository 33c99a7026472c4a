package blocks

import (
	"fmt"
	"hash/crc32"
	"io"
	"runtime/debug"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// window is how far back the compression of a block looks: a whole block, where
// it does not hold a single large message.
const window = 4 << 20

// File is the file that a recording is written to.
type File interface {
	io.WriterAt
	io.Closer
	Truncate(size int64) error
}

// maxBegins is more than any two recordings begin with alike.
const maxBegins = 1 << 10

// keepHead is the largest buffer for an entry without its data that is kept.
const keepHead = 1 << 20

// SpillSize is how much of a block is held in memory. Only a block of a single
// large entry can be longer; what is too much of it goes to the file before it
// is complete.
const SpillSize = format.HeaderRoom + format.BlockTarget + format.BlockTarget/format.CompressSlack + format.MaxSkippable

// Writer writes blocks of entries, each as a whole or not at all.
type Writer struct {
	File   File
	End    int64  // of the last whole block
	torn   bool   // there may be bytes beyond End
	Begins []byte // at most maxBegins bytes of its header
	// Foreign is why it must not be written any more, or shortened: what is in
	// it is not ours.
	Foreign error

	// Wrote is told of bytes that were put at the end of the file, which is whole
	// up to end now; b is nil if they are not at hand any more. Committed is told
	// of each block. Both may be nil.
	Wrote     func(b []byte, end int64)
	Committed func(h *format.BlockHeader)

	Complete bool // its end was written

	Entries uint64      // in it
	Last    session.Seq // of them
	// Carrying marks blocks as repeated from an earlier segment.
	Carrying bool

	enc  *zstd.Encoder
	Hook func([]byte) []byte // Options.Content

	// The epoch: how many there were, what is known in it, and how many
	// blocks define that.
	Epoch  uint64
	Known  contents
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
}

func New(f File, h *format.FileHeader, hook func([]byte) []byte) (*Writer, error) {
	b := &Writer{File: f, Hook: hook}
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
	begins := h.Append(nil)
	b.Begins = begins[:min(len(begins), maxBegins)]
	if err := b.write(begins); err != nil {
		return nil, err
	}
	b.renew()
	b.reset()
	return b, nil
}

// renew begins a new epoch, in which nothing is known.
func (b *Writer) renew() {
	b.Epoch++
	b.blocks = 0
	b.Known.reset()
}

// reset begins a new block.
func (b *Writer) reset() {
	var room [format.HeaderRoom]byte
	if b.Known.Full || b.blocks >= format.MaxEpochBlocks {
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

// Empty says that the block has no entry yet.
func (b *Writer) Empty() bool { return b.head.Entries == 0 }

// Measure encodes an entry, but for the bytes of its data, and says whether it
// fits into the block. The one that add adds is the one that was measured last,
// and each that was measured must be added: it may define content that later
// ones refer to.
func (b *Writer) Measure(e *session.Entry) (fits bool, err error) {
	b.of = b.Epoch
	b.plan.reset()
	if m := e.Message; m != nil && len(m.Data) == 0 && m.Large() {
		DropData(e) // a Reader has left it out
	} else if m != nil {
		if m.Data.Len() > format.MaxData {
			strip(e)
		} else if err = b.planData(e.Side, m.Data); err != nil {
			DropData(e)
			e.Problems = append(e.Problems[:len(e.Problems):len(e.Problems)], ProblemUnprepared)
		} else if b.plan.masked && !m.Masked {
			m := *e.Message
			m.Masked = true
			e.Message = &m
		}
	}
	b.next = format.AppendEntry(b.next[:0], e)
	if len(b.next) > format.MaxHead {
		b.plan.drop(&b.Known)
		b.next = format.AppendEntry(b.next[:0], strip(e))
	}
	return b.Empty() || b.head.Uncompressed+uint64(len(b.next))+uint64(b.plan.size()) <= format.BlockTarget, err
}

// planData plans the data of a message, all or nothing.
func (b *Writer) planData(side session.Side, data session.Chunks) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = Panicked(cause)
		}
		if err != nil {
			b.plan.drop(&b.Known)
		}
	}()
	return b.plan.make(side, data, &b.Known, b.Hook)
}

// ProblemUnprepared is what an entry says that lost its payload because a hook
// failed.
const ProblemUnprepared = "not recorded: preparing it for the recording failed"

// Panicked is what a hook did that panicked with cause.
func Panicked(cause any) error { return &PanicError{Cause: cause, Stack: debug.Stack()} }

// PanicError says that a hook panicked.
type PanicError struct {
	Cause any
	Stack []byte
}

func (p *PanicError) Error() string { return fmt.Sprintf("panic of type %T", p.Cause) }

// strip removes what can be of any size, in favour of a word about it, because
// no reader would accept an entry that large.
func strip(e *session.Entry) *session.Entry {
	e.Headers, e.Sent, e.Peer, e.Status, e.GoAway, e.Note, e.Method = nil, nil, nil, nil, nil, nil, ""
	DropData(e)
	e.Problems = []string{"too large to be recorded"}
	return e
}

// DropData removes the payload of an entry, if it has one.
func DropData(e *session.Entry) {
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

// Add puts the entry that was measured last into the block. Its data goes
// through the compressor piece by piece and is not copied before.
func (b *Writer) Add(e *session.Entry, labels []string) {
	if b.of != b.Epoch {
		// What it refers to was left behind with the block before.
		_, _ = b.Measure(e)
	}
	var length [10]byte
	n := uint64(len(b.next)) + uint64(b.plan.size())
	prefix := protowire.AppendVarint(length[:0], n)
	h := &b.head
	if h.Entries == 0 {
		h.Carried = b.Carrying
		h.Epoch, h.Content = b.Epoch, uint64(len(b.Known.Sums)-b.plan.fresh)
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

// Put adds an entry, to this block or to the next one.
func (b *Writer) Put(e *session.Entry, labels []string) error {
	fits, _ := b.Measure(e) // what cannot be prepared loses its payload, and says so itself
	if !fits {
		if err := b.Commit(); err != nil {
			return err
		}
	}
	b.Add(e, labels)
	return nil
}

// compressed is where the compressor puts the block. It never fails.
type compressed Writer

func (c *compressed) Write(p []byte) (int, error) {
	n := len(p)
	c.head.Sum = crc32.Update(c.head.Sum, format.Castagnoli(), p)
	for len(p) > 0 {
		if len(c.out) == SpillSize {
			(*Writer)(c).spill()
		}
		fits := min(len(p), SpillSize-len(c.out))
		c.out, p = append(c.out, p[:fits]...), p[fits:]
	}
	return n, nil
}

// spill moves what is in memory to the file. The header that goes with it
// claims more bytes than will come, so that the block does not count until
// commit puts the right one in its place.
func (b *Writer) spill() {
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
		_, b.failed = b.File.WriteAt(out, b.End+b.spilled)
	}
	b.spilled += int64(len(out))
	b.out = b.out[:0]
}

// headed is what is in memory, headed by h.
func (b *Writer) headed(h *format.BlockHeader) []byte {
	var room [format.HeaderRoom]byte
	head := h.Append(room[:0])
	return append(b.out[:format.HeaderRoom-len(head)], head...)[format.HeaderRoom-len(head) : len(b.out)]
}

// Commit writes the block to the file and begins a new one, whether or not
// that succeeded: after an error the block is lost, and the file is as before.
func (b *Writer) Commit() error {
	if b.Empty() {
		return nil
	}
	at := b.End
	err := b.commitBlock()
	if err != nil {
		b.renew() // what the block defined is lost with it
	} else {
		b.Entries += b.head.Entries
		b.Last = max(b.Last, b.head.Last)
		if b.head.Contents > 0 {
			b.blocks++
		}
		b.index.add(at, &b.head)
		if b.index.count >= format.IndexEvery || len(b.index.raw) >= format.IndexBytes {
			_ = b.WriteIndex() // it is tried again after the next block
		}
		if b.Committed != nil {
			b.Committed(&b.head)
		}
	}
	b.reset()
	return err
}

func (b *Writer) commitBlock() error {
	if err := b.enc.Close(); err != nil {
		return fmt.Errorf("cannot compress a block: %w", err)
	}
	if b.spilled == 0 {
		b.head.Compressed = uint64(len(b.out) - format.HeaderRoom)
		return b.write(b.headed(&b.head))
	}
	b.head.Compressed = uint64(b.spilled) + uint64(len(b.out)) - uint64(b.headSize)
	at, err := b.End+b.spilled, b.failed
	if err == nil {
		_, err = b.File.WriteAt(b.out, at)
	}
	if err == nil {
		_, err = b.File.WriteAt(b.head.Append(nil), b.End)
	}
	if err != nil {
		_ = b.cutTail()
		return err
	}
	b.End, b.torn = at+int64(len(b.out)), false
	b.grown(nil)
	return nil
}

func (b *Writer) grown(p []byte) {
	if b.Wrote != nil {
		b.Wrote(p, b.End)
	}
}

// Finish writes the index and the end mark. Nothing may be written after it.
func (b *Writer) Finish(last session.Seq) error {
	if err := b.WriteIndex(); err != nil {
		return err
	}
	m := format.EndMark{Entries: b.Entries, Last: last, Index: b.index.last}
	err := b.write(m.Append(b.out[:0]))
	b.Complete = err == nil
	return err
}

// Free lets go of the compressor.
func (b *Writer) Free() { _ = b.enc.Close() }

// Forget lets go of messages as they came.
func (b *Writer) Forget() { b.Known.lately = lately{} }

// CutExcess removes what somebody else has put behind the end.
func (b *Writer) CutExcess() {
	b.torn = true
	_ = b.cutTail()
}

// write puts p at the end of the file.
func (b *Writer) write(p []byte) error {
	if err := b.cutTail(); err != nil {
		return err
	}
	if _, err := b.File.WriteAt(p, b.End); err != nil {
		b.torn = true
		_ = b.cutTail()
		return err
	}
	b.End += int64(len(p))
	b.grown(p)
	return nil
}

// cutTail removes what a failed write left behind. If that fails too it is
// tried again before the next block.
func (b *Writer) cutTail() error {
	if b.Foreign != nil || !b.torn {
		return b.Foreign
	}
	err := b.File.Truncate(b.End)
	b.torn = err != nil
	return err
}
