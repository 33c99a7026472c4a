package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

const (
	// pollEvery is how often a following Reader looks for more.
	pollEvery = 50 * time.Millisecond
	// openGrace is how long Open waits for a header.
	openGrace = 100 * time.Millisecond
	// maxWindow is the largest zstd window that is allocated for a block.
	maxWindow = 64 << 20
	// keepBlock is the largest buffer that is kept for the next block.
	keepBlock = 2 * blockTarget
)

// Reader gives back the entries of a recording, in order. One goroutine may
// use it.
type Reader struct {
	src    source
	closer io.Closer
	follow bool
	began  bool // the header was read
	err    error
	facts  Facts
	zstd   *zstd.Decoder

	block  []byte      // the block being given back
	shared bool        // an entry refers to it
	rest   []byte      // what of it is still to give
	head   blockHeader // of it
	given  uint64      // entries of it that were given
	start  int64       // where its header is in the file
}

// Open opens a recording, one that is still being written included. What is
// none is a *FormatError, one of another version a *VersionError.
func Open(path string) (*Reader, error) {
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
	r := &Reader{closer: f, facts: Facts{Path: path}}
	if !info.Mode().IsRegular() {
		r.src = newStreamSource(f)
		return r, nil
	}
	r.src = newFileSource(f)
	// A writer that has just created the file is about to write its header.
	for range 10 {
		if err = r.begin(); !errors.Is(err, errShort) {
			break
		}
		time.Sleep(openGrace / 10)
	}
	if err != nil {
		err = r.headless(err)
		_ = f.Close()
		return nil, err
	}
	return r, nil
}

// NewReader reads a recording from a pipe. What Open says at once, Next says
// when it is first called. A Read of src is not interrupted by the context of
// Next.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: newStreamSource(src)}
}

// Follow says what to do at the end of what is there: if on, Next waits while
// a writer holds the file; if off, it returns io.EOF.
func (r *Reader) Follow(on bool) { r.follow = on }

// Facts returns what was met so far.
func (r *Reader) Facts() Facts { return r.facts }

// Close lets go of the file.
func (r *Reader) Close() error {
	if r.zstd != nil {
		r.zstd.Close()
		r.zstd = nil
	}
	r.rest, r.err = nil, errClosed
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
func (r *Reader) Next(ctx context.Context) (session.Entry, error) {
	for last := false; ; {
		if err := ctx.Err(); err != nil {
			return session.Entry{}, err
		}
		if len(r.rest) > 0 {
			e, err := r.entry()
			return e, r.keep(err)
		}
		if r.err != nil {
			return session.Entry{}, r.err
		}
		err := r.frame()
		switch {
		case err == nil:
		case !errors.Is(err, errShort):
			return session.Entry{}, r.keep(err)
		case !r.follow || last:
			return session.Entry{}, io.EOF
		case !r.src.waits():
			last = true // what came between the look and the question
		default:
			select {
			case <-ctx.Done():
			case <-time.After(pollEvery):
			}
		}
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

// begin reads the header. errShort says that it is not all there.
func (r *Reader) begin() error {
	magic, payload, err := r.peekFrame()
	switch {
	case isDamage(err), err == nil && magic != magicHeader:
		return &FormatError{Path: r.facts.Path, Reason: "it does not begin as one"}
	case err != nil:
		return err
	}
	var h fileHeader
	if err := h.parse(payload); err != nil {
		return &FormatError{Path: r.facts.Path, Reason: err.Error()}
	}
	if h.version != formatVersion {
		return &VersionError{Path: r.facts.Path, Version: h.version}
	}
	r.facts.Version, r.facts.Created = h.version, h.created
	r.facts.Program, r.facts.Masked = h.program, h.masked
	r.began = true
	return r.pass(frameHeadSize + int64(len(payload)))
}

// headless turns an error of begin into what to say for good.
func (r *Reader) headless(err error) error {
	if !errors.Is(err, errShort) {
		return err
	}
	if empty, err := r.src.drained(); empty && err == nil {
		return &FormatError{Path: r.facts.Path, Reason: "it is empty"}
	}
	return &FormatError{Path: r.facts.Path, Reason: "it ends within its header"}
}

// frame reads the next frame, which may be a block. It returns errShort, and
// stays where it is, if there is no whole one.
func (r *Reader) frame() error {
	if !r.began {
		if err := r.begin(); err != nil {
			return r.headless(err)
		}
	}
	magic, payload, err := r.peekFrame()
	if err != nil {
		return err
	}
	length := frameHeadSize + int64(len(payload))
	switch magic {
	case magicBlock:
		err := r.load(payload)
		if isDamage(err) {
			// A writer that failed in the middle may have put another
			// block in the place of the one that was looked at.
			if _, ok := r.src.(*fileSource); ok {
				if magic, payload, err = r.peekFrame(); err == nil && magic == magicBlock {
					err = r.load(payload)
				}
			}
		}
		return err
	case magicEnd:
		return r.end(payload, length)
	case magicHeader:
		return r.damage("a second header")
	}
	return r.pass(length)
}

// peekFrame looks at the skippable frame at the current position.
func (r *Reader) peekFrame() (magic uint32, payload []byte, err error) {
	b, err := r.src.peek(frameHeadSize)
	if len(b) >= 4 {
		magic = binary.LittleEndian.Uint32(b)
		if magic&^0xF != magicSkippable {
			return magic, nil, r.damage("there is no frame where one must be")
		}
	}
	if err != nil {
		return magic, nil, err
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if n > maxSkippable || n < crcSize && magic >= magicHeader && magic <= magicEnd {
		return magic, nil, r.damage(fmt.Sprintf("a header cannot be %d bytes long", n))
	}
	b, err = r.src.peek(frameHeadSize + int(n))
	if err != nil {
		return magic, nil, err
	}
	return magic, b[frameHeadSize:], nil
}

// load reads the block whose header is payload, at the current position.
func (r *Reader) load(payload []byte) error {
	var h blockHeader
	if err := h.parse(payload); err != nil {
		return r.damage(err.Error())
	}
	if h.first <= r.facts.LastSeq {
		return r.damage(fmt.Sprintf("entry %d again", h.first))
	}
	skip := frameHeadSize + len(payload)
	body, err := r.src.body(skip, int64(h.compressed))
	if err != nil {
		return err
	}
	if r.shared || cap(r.block) > keepBlock {
		r.block, r.shared = nil, false
	}
	if r.block, err = r.inflate(body, r.block[:0], int(h.uncompressed)); err != nil {
		if errors.Is(err, errShort) {
			r.err = io.EOF // a pipe cannot be read again
			return err
		}
		return r.damage(err.Error())
	}
	r.start = r.facts.Bytes
	if err := r.pass(int64(skip) + int64(h.compressed)); err != nil {
		return err
	}
	r.head, r.given, r.rest = h, 0, r.block
	return nil
}

// inflate fills b with what body holds, which must be n bytes. The buffer at
// most doubles with what really came.
func (r *Reader) inflate(body io.Reader, b []byte, n int) (_ []byte, err error) {
	if r.zstd == nil {
		r.zstd, err = newZstdReader(body, maxWindow)
	} else {
		err = r.zstd.Reset(body)
	}
	for err == nil {
		if len(b) == cap(b) {
			if len(b) > n {
				return b, errors.New("a block is longer than its header says")
			}
			grown := make([]byte, len(b), min(n+1, max(2*len(b), blockTarget)))
			copy(grown, b)
			b = grown
		}
		var got int
		got, err = r.zstd.Read(b[len(b):cap(b)])
		b = b[:len(b)+got]
	}
	switch {
	case !errors.Is(err, io.EOF):
		return b, fmt.Errorf("a block cannot be decompressed: %w", err)
	case len(b) != n:
		return b, errors.New("a block is not as long as its header says")
	}
	return b, nil
}

// entry returns the next entry of the block.
func (r *Reader) entry() (session.Entry, error) {
	n, w := protowire.ConsumeVarint(r.rest)
	if w < 0 || n > uint64(len(r.rest)-w) {
		return session.Entry{}, r.damageAt(r.start, "an entry is longer than its block")
	}
	e, err := parseEntry(r.rest[w : w+int(n)])
	if err != nil {
		return session.Entry{}, r.damageAt(r.start, err.Error())
	}
	r.rest = r.rest[w+int(n):]
	r.given++
	h := &r.head
	switch {
	case e.Seq <= r.facts.LastSeq, r.given == 1 && e.Seq != h.first, r.given == h.entries && e.Seq != h.last,
		(r.given == h.entries) != (len(r.rest) == 0):
		return session.Entry{}, r.damageAt(r.start, "the entries of a block are not those that its header announces")
	}
	if e.Message != nil && len(e.Message.Data) > 0 {
		// An entry that is most of its block keeps it; another would keep
		// all its neighbours too.
		if data := e.Message.Data[0]; len(data) > len(r.block)/2 {
			r.shared = true
		} else {
			e.Message.Data[0] = bytes.Clone(data)
		}
	}
	r.facts.count(&e)
	return e, nil
}

// end reads the end mark.
func (r *Reader) end(payload []byte, length int64) error {
	var m endMark
	if err := m.parse(payload); err != nil {
		return r.damage(err.Error())
	}
	if m.entries != r.facts.Entries || m.last < r.facts.LastSeq {
		return r.damage(fmt.Sprintf("it ends with %d entries where %d were written", r.facts.Entries, m.entries))
	}
	if err := r.pass(length); err != nil {
		return err
	}
	if drained, err := r.src.drained(); err != nil {
		return err
	} else if !drained {
		return r.damage("something follows its end")
	}
	r.facts.Complete = true
	return io.EOF
}

// pass goes on by n bytes.
func (r *Reader) pass(n int64) error {
	if err := r.src.pass(n); err != nil {
		return err
	}
	r.facts.Bytes += n
	return nil
}

// damage is about the frame that comes next.
func (r *Reader) damage(reason string) error { return r.damageAt(r.facts.Bytes, reason) }

func (r *Reader) damageAt(offset int64, reason string) error {
	return &DamageError{Path: r.facts.Path, Offset: offset, AfterSeq: r.facts.LastSeq, Reason: reason}
}

func isDamage(err error) bool {
	_, ok := errors.AsType[*DamageError](err)
	return ok
}
