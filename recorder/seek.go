package recorder

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// errPipe is what seeking in a pipe says.
var errPipe = errors.New("a recording that comes through a pipe can only be read from its beginning")

// Seek makes Next go on with the first entry whose number is at least seq. It
// reads block headers or the index, and no entries; Next reads the blocks that
// hold the entry and what it refers to. A *DamageError says that what is after
// the damage cannot be reached.
func (r *Reader) Seek(seq session.Seq) error {
	r.drop()
	r.timed = false
	r.fromSeq = seq
	return r.seek(func(p *place) bool { return p.last >= seq })
}

// SeekTime makes Next go on with the first entry that is not before t.
func (r *Reader) SeekTime(t time.Time) error {
	at := format.Nanos(t)
	r.drop()
	r.fromSeq, r.fromTime, r.timed = 0, at, true
	return r.seek(func(p *place) bool { return p.max >= at })
}

func (r *Reader) seek(is func(*place) bool) error {
	if errors.Is(r.err, errClosed) {
		return r.err
	}
	if r.family == nil {
		_, err := r.seekHere(is)
		return err
	}
	var damage error
	for from := uint64(1); ; from = r.header.Segment + 1 {
		if from > 1 || r.header.Segment != 1 { // what is known of the first stays known
			next, err := r.family.find(from)
			if errors.Is(err, fs.ErrNotExist) {
				return damage // or at the end of the newest
			}
			if err == nil {
				err = r.enter(next)
			}
			if err != nil {
				return err
			}
		}
		switch found, err := r.seekHere(is); {
		case found:
			return nil
		case isDamage(err):
			damage = err // but it may be in a later one
		case err != nil:
			return err
		}
	}
}

// seekHere goes to the first place in this file for which is is true, or to the
// end of the file.
func (r *Reader) seekHere(is func(*place) bool) (found bool, err error) {
	src, ok := r.src.(*fileSource)
	if !ok {
		return false, errPipe
	}
	damage := r.look(src)
	if damage != nil && !isDamage(damage) {
		return false, damage
	}
	s := &r.survey
	i := s.find(is)
	if i == len(s.places) && damage != nil {
		return false, damage
	}
	r.stand(src, i)
	return i < len(s.places), nil
}

// look brings the survey up to date.
func (r *Reader) look(src *fileSource) error {
	if !r.survey.begun {
		r.survey.at, r.survey.facts = r.first, Facts{Path: r.path, Bytes: r.first}
		_, r.survey.keep = r.far()
	}
	return r.survey.run(src.file)
}

// Want says of which blocks Next gives the entries: those for which f is true,
// all if f is nil. The others are not read, where that is possible, and Facts
// does not count what is in them. f must not keep the block.
func (r *Reader) Want(f func(*Block) bool) {
	r.halt()
	r.want, r.chosen = f, 0
}

// fetch reads the contents that the block at at defines.
func (r *Reader) fetch(at int64) ([][]byte, error) {
	src := r.src.(*fileSource)
	broken := func(reason string) error {
		return &DamageError{Path: r.path, Offset: at, AfterSeq: r.last, Reason: reason}
	}
	size, h, err := headerAt(src, at)
	if wrong, is := errors.AsType[noBlock](err); is {
		return nil, broken(string(wrong))
	}
	if err != nil {
		return nil, err
	}
	expect(src.file, at+size, int64(h.Compressed))
	body := io.NewSectionReader(src.file, at+size, int64(h.Compressed))
	_, contents, _, err := r.inflate(body, nil, h)
	if err != nil {
		return nil, broken(err.Error())
	}
	return contents, nil
}

// noBlock is why there is no block where one is looked for.
type noBlock string

func (e noBlock) Error() string { return string(e) }

// headerAt reads the block header at at, and returns its length as a frame.
func headerAt(f io.ReaderAt, at int64) (size int64, h *format.BlockHeader, err error) {
	var head [format.HeaderRoom]byte
	n, err := f.ReadAt(head[:], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, nil, err
	}
	return parseHead(head[:n])
}

// parseHead is headerAt for the bytes that are there. Every error is a noBlock.
func parseHead(b []byte) (size int64, h *format.BlockHeader, err error) {
	if len(b) < format.FrameHeadSize || binary.LittleEndian.Uint32(b) != format.MagicBlock {
		return 0, nil, noBlock("there is no block where one must be")
	}
	size = format.FrameHeadSize + int64(binary.LittleEndian.Uint32(b[4:]))
	if size > int64(len(b)) {
		return 0, nil, noBlock("a block header is longer than any that is written")
	}
	h = new(format.BlockHeader)
	if err := h.Parse(b[format.FrameHeadSize:size]); err != nil {
		return 0, nil, noBlock(err.Error())
	}
	return size, h, nil
}

// Inspect returns the facts about the recording at path, which may still be
// growing, from its block headers: no entry is read, and damage within a block
// is not found. The facts come with a *DamageError if the rest could not be
// found.
func Inspect(path string) (Facts, error) {
	r, err := Open(path)
	if err != nil {
		return Facts{Path: path}, err
	}
	defer r.Close()
	return r.Inspect()
}

// Inspect is the function of that name for what r reads, of which nothing was read
// before, and nothing can be read after.
func (r *Reader) Inspect() (Facts, error) {
	src, ok := r.src.(*fileSource)
	if !ok {
		return r.Facts(), errPipe
	}
	all := r.facts
	all.Bytes, all.Complete = 0, true
	r.survey.carried = true
	for {
		held := writing(src.file) // before the look: who holds it then may end it now
		err := r.look(src)
		all.addSegment(&r.survey.facts)
		all.Writing, all.UpTo = held && !r.survey.facts.Complete, 0
		if r.header.Segment != 0 && isOlder(r.path, r.header.Segment) {
			all.UpTo = r.header.Segment
		}
		if err != nil || r.family == nil {
			return all, err
		}
		lost := r.facts.Lost
		r.last, r.ended = r.survey.facts.LastSeq, r.survey.facts.Complete
		moved, err := r.advance()
		if err != nil || !moved {
			return all, err
		}
		all.Lost += r.facts.Lost - lost
		src = r.src.(*fileSource)
	}
}
