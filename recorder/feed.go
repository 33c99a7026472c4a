package recorder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// FeedOptions say what of a log a Feed gives.
type FeedOptions struct {
	// Segment is the first segment that will do; if 0, the one that From is in.
	Segment uint64
	// From and To are the first and the last entry that are wanted; To is no
	// limit if 0. A few more may come, because blocks come as a whole.
	From, To session.Seq
	// After is where an earlier feed with the same From has ended; this one goes
	// on there. The beginning if zero.
	After Mark
	// Follow waits for more at the end of what was committed.
	Follow bool
}

// Mark is a place in what a Feed gives. Its zero value is the beginning.
type Mark struct {
	Segment uint64
	At      int64  // in the file: of a frame, or the header
	Entries uint64 // that were given before
	Skip    int64  // bytes that were given of what is there
}

// ErrMark says that a Mark is none that a Feed has given.
var ErrMark = errors.New("there is no such place in the recording")

// Feed gives one segment of a log to somebody elsewhere, as bytes that are a
// recording by themselves: its header, blocks as they were committed, and an end
// mark where the segment has one. It reads no entry: what it costs is reading
// bytes. Blocks before the first entry that is wanted are left out, but for
// those that hold content which later ones may refer to.
//
// It reads what was committed, as a Reader of the same log does, and nothing that
// its user does can hold up the log. One goroutine may use it.
type Feed struct {
	log   *Log
	r     *Reader // which has opened the segment
	file  file
	o     FeedOptions
	leave func()
	over  bool
	// growing says that more was to come when the feed was over.
	growing bool
	at      int64  // of the frame that comes next
	epoch   uint64 // of the block before it
	before  []piece
	out     []piece // to be given
	mark    Mark    // of the next byte
	given   uint64  // entries, when all of out has been given
	head    []byte  // room for a frame's beginning
}

// piece is bytes to be given as a whole: those of the file, or its own.
type piece struct {
	at, size int64
	entries  uint64
	own      []byte
}

// Feed opens a segment of the log; fs.ErrNotExist says that there is no such
// segment, not yet or no more. The caller closes the feed.
func (l *Log) Feed(o FeedOptions) (*Feed, error) {
	f := &Feed{log: l, o: o, leave: l.tail.enter(), head: make([]byte, format.HeaderRoom)}
	if err := f.open(); err != nil {
		f.leave()
		return nil, err
	}
	return f, nil
}

func (f *Feed) open() error {
	wanted, exactly := f.o.Segment, f.o.After != Mark{}
	if exactly {
		wanted = f.o.After.Segment
	}
	r, err := f.log.segment(wanted, f.o.From)
	if err != nil {
		return err
	}
	src, ok := r.src.(*fileSource)
	switch {
	case !ok:
		err = errPipe
	case exactly && r.header.Segment != wanted, f.o.To > 0 && r.header.First > f.o.To && wanted > 0:
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = r.Close()
		return err
	}
	f.r, f.file = r, src.file
	if err := f.begin(); err != nil {
		_ = r.Close()
		return err
	}
	return nil
}

// begin goes to where the feed begins.
func (f *Feed) begin() error {
	f.mark = f.o.After
	f.mark.Segment = f.r.header.Segment
	f.at, f.given = f.mark.At, f.mark.Entries
	if f.at == 0 {
		f.at = f.r.first
		f.out = append(f.out, piece{size: f.r.first})
		return nil
	}
	size, err := f.file.size()
	if err == nil && (f.at < f.r.first || f.at > size || f.mark.Skip < 0) {
		err = ErrMark
	}
	return err
}

// Close lets go of the segment.
func (f *Feed) Close() error {
	f.leave()
	f.leave = func() {}
	return f.r.Close()
}

// Mark is the place up to which the feed was read.
func (f *Feed) Mark() Mark { return f.mark }

// segment opens the first segment from number n on, or that which from is in if n
// is 0.
func (l *Log) segment(n uint64, from session.Seq) (*Reader, error) {
	all := l.segments()
	if all == nil {
		if n > 0 {
			return nil, fs.ErrNotExist
		}
		return l.open(l.segments())
	}
	r, err := all.find(max(n, 1))
	for n == 0 && err == nil {
		var next *Reader
		if next, err = all.find(r.header.Segment + 1); errors.Is(err, fs.ErrNotExist) {
			return r, nil
		}
		if err == nil && next.header.First > from {
			return r, next.Close()
		}
		err = errors.Join(err, r.Close())
		r = next
	}
	return r, err
}

// Last says, when the feed is at its end, whether that is all for now: the segment
// was still being written when its end was met, there is no later one, or nothing
// in that is wanted.
func (f *Feed) Last() bool {
	if f.growing {
		return true // what became of it since is not of this feed
	}
	next, err := f.log.segment(f.r.header.Segment+1, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	first := next.header.First
	_ = next.Close()
	return f.o.To > 0 && first > f.o.To
}

// Read fills p with what is there. It waits only if that is nothing, and if the
// feed follows. At the end of the segment, or of what is wanted, it returns
// io.EOF.
func (f *Feed) Read(ctx context.Context, p []byte) (n int, err error) {
	var woken <-chan struct{} // closed by what is committed after the last look
	for last := false; n < len(p); {
		if len(f.out) > 0 {
			got, err := f.give(p[n:])
			n += got
			if err != nil {
				return n, err
			}
			continue
		}
		if f.over {
			break
		}
		err := f.look()
		switch {
		case err == nil:
			continue
		case !errors.Is(err, errShort):
			return n, err
		case n > 0:
			return n, nil
		case last:
			f.over = true
		case !f.file.waits():
			last = true // what came between the look and the question
		case !f.o.Follow:
			f.over, f.growing = true, true
		case woken == nil:
			woken = f.log.committed.next() // and another look
		default:
			select {
			case <-ctx.Done():
				return n, ctx.Err()
			case <-woken:
			}
			woken = nil
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// give gives bytes of the first piece.
func (f *Feed) give(p []byte) (int, error) {
	first := &f.out[0]
	left := first.size - f.mark.Skip
	if left < 0 {
		return 0, ErrMark
	}
	n := int(min(int64(len(p)), left))
	if first.own != nil {
		copy(p, first.own[f.mark.Skip:])
	} else if got, err := f.file.ReadAt(p[:n], first.at+f.mark.Skip); got < n {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, fmt.Errorf("cannot read the recording: %w", err)
	}
	f.mark.Skip += int64(n)
	if f.mark.Skip == first.size {
		f.mark.At, f.mark.Skip = first.at+first.size, 0
		f.mark.Entries += first.entries
		f.out = f.out[1:]
	}
	return n, nil
}

// look looks at the next frame, and puts what is to be given of it into out.
// errShort says that it is not there as a whole.
func (f *Feed) look() error {
	// The size first: a block that is being written announces more than there
	// was at any time before it was complete.
	size, err := f.file.size()
	if err != nil {
		return err
	}
	b := f.head[:min(int64(len(f.head)), max(size-f.at, 0))]
	if len(b) < format.FrameHeadSize {
		return errShort
	}
	if n, err := f.file.ReadAt(b, f.at); n < len(b) {
		return fmt.Errorf("cannot read the recording: %w", err)
	}
	magic, n := binary.LittleEndian.Uint32(b), int64(binary.LittleEndian.Uint32(b[4:]))
	length := format.FrameHeadSize + n
	if magic&^0xF != format.MagicSkippable || magic == format.MagicBlock && length > format.HeaderRoom {
		return f.damage("there is no frame where one must be")
	}
	if f.at+length > size {
		return errShort
	}
	switch magic {
	case format.MagicBlock:
		var h format.BlockHeader
		if err := h.Parse(b[format.FrameHeadSize:length]); err != nil {
			return f.damage(err.Error())
		}
		if int64(h.Compressed) > size-f.at-length {
			return errShort
		}
		f.block(&h, length+int64(h.Compressed))
		return nil
	case format.MagicEnd:
		var m format.EndMark
		if err := m.Parse(b[format.FrameHeadSize:length]); err != nil {
			return f.damage(err.Error())
		}
		m.Entries, m.Index = f.given, 0 // some may be left out, and the index is
		own := m.Append(nil)
		f.out = append(f.out, piece{at: f.at, size: int64(len(own)), own: own})
		f.over = true
	}
	f.at += length
	return nil
}

// block takes the block that is next and size bytes long.
func (f *Feed) block(h *format.BlockHeader, size int64) {
	p := piece{at: f.at, size: size, entries: h.Entries}
	f.at += size
	if f.o.To > 0 && h.First > f.o.To {
		f.over = true
		return
	}
	if h.Epoch != f.epoch {
		f.before, f.epoch = f.before[:0], h.Epoch
	}
	if h.Last < f.o.From {
		if h.Contents > 0 {
			f.before = append(f.before, p)
		}
		return
	}
	f.out = append(append(f.out[:0], f.before...), p)
	f.before = nil
	for i := range f.out {
		f.given += f.out[i].entries
	}
}

func (f *Feed) damage(reason string) error {
	return &DamageError{Path: f.r.path, Offset: f.at, Reason: reason}
}
