package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	// pollEvery is how often a following Reader looks for more that another
	// process writes.
	pollEvery = 50 * time.Millisecond
	// openGrace is how long Open waits for a header.
	openGrace = 100 * time.Millisecond
	// maxWindow is the largest zstd window that is allocated for a block.
	maxWindow = 64 << 20
	// keepBlock is the largest buffer that is kept for the next block.
	keepBlock = 2 * format.BlockTarget
	// keepWaiting is the largest that is kept at the end of what is there.
	keepWaiting = 1 << 20
)

// Reader gives back the entries of a recording, in order. One goroutine may
// use it.
type Reader struct {
	src    source
	closer io.Closer
	follow bool
	began  bool   // the header was read
	first  int64  // where the header ends, with what belongs to it; 0 before it was read
	packed []byte // descriptors that are being read
	path   string
	header format.FileHeader
	at     int64       // of the frame that comes next
	last   session.Seq // of the entry that was passed last
	ended  bool        // the regular end was met

	family    segmentSource // of which the file is a segment; nil if it is read alone
	broken    bool          // an earlier segment has no regular end
	committed *broadcast    // says when there is more; nil if it has to look
	leave     func()        // tells the log that the reader is gone
	err       error
	facts     Facts
	zstd      *zstd.Decoder

	early bool   // read ahead where that is possible
	ahead *ahead // what was; nil if nothing is

	block  []byte             // the block being given back
	shared bool               // an entry refers to it
	rest   []byte             // what of it is still to give
	head   format.BlockHeader // of it
	given  uint64             // entries of it that were given
	start  int64              // where its header is in the file

	dict   format.Dictionary
	passed uint64 // entries in the blocks that were read or jumped over

	survey   survey
	want     func(*Block) bool
	chosen   int64       // the block at which leap has asked want, and which is wanted
	fromSeq  session.Seq // entries before these are not given
	fromTime int64       // nor those before this, if timed
	timed    bool
}

// Open opens a recording, one that is still being written included. What is
// none is a *FormatError, one of another version a *VersionError.
//
// A recording in segments is opened by the name of the newest one: what is left
// of the older ones is read first, and those that come later when they are
// there. What was deleted is counted as lost. An older segment that is opened by
// its own name is read alone.
func Open(path string) (*Reader, error) {
	r, err := openFile(path)
	if err != nil {
		return nil, err
	}
	if err := r.join(); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// openFile opens one file, whatever others belong to it.
func openFile(path string) (*Reader, error) {
	r, err := openUnread(path)
	if err != nil {
		return nil, err
	}
	src, ok := r.src.(*fileSource)
	if !ok {
		return r, nil
	}
	if err := r.beginSoon(); err != nil {
		if f, is := errors.AsType[*FormatError](err); is {
			f.Damaged = looksDamaged(r, src)
		}
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

// openUnread opens one file of which nothing is read yet.
func openUnread(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the recording: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("cannot open the recording: %w", err)
	}
	if info.IsDir() {
		_ = f.Close()
		return nil, &FormatError{Path: path, Reason: "it is a directory"}
	}
	if !info.Mode().IsRegular() {
		return &Reader{closer: f, path: path, facts: Facts{Path: path}, src: newStreamSource(f)}, nil
	}
	return newFileReader(path, osFile{f}, f), nil
}

// beginSoon is begin for a file that a writer may just have created: it is about to
// write its header.
func (r *Reader) beginSoon() (err error) {
	for range 10 {
		if err = r.begin(); !errors.Is(err, errShort) {
			return err
		}
		time.Sleep(openGrace / 10)
	}
	return r.headless(err)
}

// newFileReader reads a file that closer closes, from its header on.
func newFileReader(path string, f file, closer io.Closer) *Reader {
	r := &Reader{closer: closer, path: path, facts: Facts{Path: path}, src: newFileSource(f)}
	r.dict.Fetch = r.fetch
	return r
}

// NewReader reads a recording from a pipe. What Open says at once, Next says
// when it is first called. A Read of src is not interrupted by the context of
// Next.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: newStreamSource(src)}
}

// Follow says what to do at the end of what is there: if on, Next waits while
// a writer holds the file; if off, it returns io.EOF.
func (r *Reader) Follow(on bool) {
	r.halt()
	r.follow = on
}

// Pieces makes the data of messages come in chunks as it is kept: one for each
// content, and some for what is between. A content that comes again comes as
// the same slice, not as a copy. Chunks never change; the list of them is valid
// until the next call of Next.
func (r *Reader) Pieces() {
	r.halt()
	r.dict.Pieces = true
}

// Large makes Next give the data of messages that are too large to be decoded, too
// (session.Message.Large): for those who copy it. Without it they have a length only.
// It is said before the first Next.
func (r *Reader) Large() {
	r.halt()
	r.dict.Large = true
}

// Facts returns what was met so far.
func (r *Reader) Facts() Facts {
	if r.ahead != nil {
		return r.ahead.facts
	}
	return r.facts
}

// Close lets go of the file.
func (r *Reader) Close() error {
	r.drop()
	if r.zstd != nil {
		r.zstd.Close()
		r.zstd = nil
	}
	r.rest, r.err = nil, errClosed
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
	if c := r.closer; c != nil {
		r.closer = nil
		return c.Close()
	}
	return nil
}

// Next returns the next entry; its message's data is one chunk. At the end of
// what is there it returns io.EOF, after which it may be called again for what
// has been written since; Facts says whether it was the regular end. A
// *DamageError is final, and so is any error but io.EOF and that of ctx.
func (r *Reader) Next(ctx context.Context) (e session.Entry, err error) {
	if r.early {
		if given, err := r.taken(ctx, &e); given || err != nil {
			return e, err
		}
	}
	clear(r.dict.Scratch)
	r.dict.Scratch = r.dict.Scratch[:0]
	err = r.next(ctx, &e)
	return e, err
}

// next reads the next entry into e, which is empty.
func (r *Reader) next(ctx context.Context, e *session.Entry) error {
	var woken <-chan struct{} // closed by what is committed after the last look
	if len(r.rest) == 0 && cap(r.block) > keepBlock {
		r.block, r.shared = nil, false // who waits for the next one holds nothing large
	}
	_, piped := r.src.(*streamSource) // whose reads wait by themselves
	for gone := piped; ; {            // gone: nobody wrote here any more before the last look
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(r.rest) > 0 {
			if given, err := r.entry(e); err != nil || given {
				return r.keep(err)
			}
			continue
		}
		if r.err != nil {
			return r.err
		}
		err := r.leap()
		if err == nil {
			err = r.frame()
		}
		if err == nil {
			continue
		}
		r.shrink()
		more := errors.Is(err, errShort) || errors.Is(err, io.EOF) && r.family != nil
		if more && !gone && !r.src.waits() {
			gone = true // what came between the look and the question takes another look
			continue
		}
		if more && r.family != nil && (r.ended || gone) {
			moved, err := r.advance()
			if err != nil {
				return r.keep(err)
			}
			if moved {
				gone = piped
				continue
			}
		}
		switch {
		case !more:
			return r.keep(err)
		case !r.follow || gone:
			return io.EOF
		case r.committed == nil:
			select {
			case <-ctx.Done():
			case <-time.After(pollEvery):
			}
		case woken == nil:
			woken = r.committed.next() // and another look
		default:
			select {
			case <-ctx.Done():
			case <-woken:
			}
			woken = nil
		}
	}
}

// shrink gives back what a large block took: who has read all that is there may
// wait for long, and what comes then is small.
func (r *Reader) shrink() {
	if cap(r.block) <= keepWaiting {
		return
	}
	r.block, r.shared = nil, false
	if r.zstd != nil {
		r.zstd.Close()
		r.zstd = nil
	}
}

// keep remembers an error that is final.
func (r *Reader) keep(err error) error {
	if err != nil {
		r.err, r.rest = err, nil
		r.facts.Damaged = r.facts.Damaged || isDamage(err)
	}
	return err
}
