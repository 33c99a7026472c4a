package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// Bytes are those of a file of a recording that lies elsewhere. Nobody adds to
// them while they are read. One goroutine at a time uses them.
type Bytes interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Expecter is what Bytes may be, too: they are told what is read next, so that
// it can be fetched at once.
type Expecter interface{ Expect(at, n int64) }

// Parker is what Bytes may be, too: Park lets go of all that can be had again.
type Parker interface{ Park() }

// Holder is what Bytes may be, too: Held says whether a writer held the file when it
// was opened.
type Holder interface{ Held() bool }

// Held says whether a writer holds a file; false where the system does not tell.
func Held(f *os.File) bool { return !writerGone(f) }

// writing says whether somebody holds f, as far as that can be known.
func writing(f file) bool {
	far, is := f.(farFile)
	if !is {
		return f.waits()
	}
	h, is := far.Bytes.(Holder)
	return is && h.Held()
}

// Part is a segment of a recording that lies elsewhere.
type Part struct {
	// Name is what errors call it.
	Name string
	// Segment is its number as its name has it; 0 for a name without a number.
	// What it says itself counts, and may not be less.
	Segment uint64
	Open    func() (Bytes, error)
}

// OpenAt opens one file of a recording, alone, as it is now.
func OpenAt(name string, b Bytes) (*Reader, error) {
	r := newFileReader(name, farFile{b}, b)
	if err := r.begin(); err != nil {
		return nil, errors.Join(r.headless(err), b.Close())
	}
	return r, nil
}

// OpenParts opens a recording whose segments lie elsewhere, in the order in which
// they come. Those that cannot be opened as what they are taken for are passed
// over, and skipped is told why, once each; what was in them is counted as lost.
// If there is none that can be opened, the error is that of the last.
func OpenParts(parts []Part, skipped func(name string, err error)) (*Reader, error) {
	if len(parts) == 0 {
		return nil, fs.ErrNotExist
	}
	f := &farFamily{parts: parts, skipped: skipped, told: make(map[int]bool)}
	r, err := f.find(1)
	if err != nil {
		if f.why != nil {
			err = f.why
		}
		return nil, err
	}
	f.began = r.header
	if r.header.Segment == 0 { // it has no others
		return r, nil
	}
	r.family = f
	r.countDeleted()
	return r, nil
}

// farFile is bytes that do not grow.
type farFile struct{ Bytes }

func (f farFile) size() (int64, error) { return f.Bytes.Size(), nil }
func (f farFile) waits() bool          { return false }

// expect says that n bytes from at on are read next.
func expect(f file, at, n int64) {
	far, is := f.(farFile)
	if !is {
		return
	}
	if e, is := far.Bytes.(Expecter); is {
		e.Expect(at, n)
	}
}

// farFamily are segments that lie elsewhere.
type farFamily struct {
	parts   []Part
	began   format.FileHeader // of the first that was opened
	skipped func(name string, err error)
	told    map[int]bool // whose fault was told, by their place
	why     error        // the last of these
}

func (f *farFamily) find(from uint64) (*Reader, error) {
	for i := range f.parts {
		p := &f.parts[i]
		if p.Segment != 0 && p.Segment < from || f.told[i] {
			continue
		}
		r, err := f.open(p)
		if err == nil && (r.header.Segment < from && from > 1) {
			_ = r.Close()
			continue
		}
		if err == nil {
			return r, nil
		}
		if final(err) {
			return nil, err
		}
		f.told[i], f.why = true, err
		if f.skipped != nil {
			f.skipped(p.Name, err)
		}
	}
	return nil, fs.ErrNotExist
}

// final says that an error is of more than one segment: the recording cannot be
// read on. What is not there, or is no recording, is of one.
func final(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if _, is := errors.AsType[*FormatError](err); is {
		return false
	}
	_, is := errors.AsType[*VersionError](err)
	return !is
}

func (f *farFamily) open(p *Part) (*Reader, error) {
	b, err := p.Open()
	if err != nil {
		return nil, err
	}
	r, err := OpenAt(p.Name, b)
	if err != nil {
		return nil, err
	}
	wrong := ""
	switch h := &r.header; {
	case p.Segment != 0 && h.Segment != p.Segment && (h.Segment != 0 || len(f.parts) > 1):
		wrong = fmt.Sprintf("it says that it is segment %d, and its name says %d", h.Segment, p.Segment)
	case f.began.Version != 0 && !h.Began.Equal(f.began.Began):
		wrong = "it is a segment of another recording"
	}
	if wrong != "" {
		_ = r.Close()
		return nil, &FormatError{Path: p.Name, Reason: wrong}
	}
	return r, nil
}

// Begins is the number of the first entry that is this file's own, and not repeated
// from an earlier segment; 0 if it is no segment.
func (r *Reader) Begins() session.Seq { return r.header.First }

// Alone says whether this file can be understood without earlier ones: it is the
// first, or repeats entries of them.
func (r *Reader) Alone() bool {
	src, is := r.src.(*fileSource)
	if !is || r.header.Segment <= 1 {
		return r.header.Segment <= 1
	}
	_, h, err := headerAt(src, r.first)
	return err == nil && h.Carried
}

// Park lets go of all memory and files that can be had again: the next call of
// Next reads the block that is being given once more, without what of it was
// given. It has an effect on Bytes that are a Parker, and where nothing is read
// ahead.
func (r *Reader) Park() error {
	src, far := r.far()
	if !far || r.early || r.err != nil {
		return nil
	}
	if len(r.rest) > 0 {
		r.fromSeq = max(r.fromSeq, r.last+1)
		r.dict.Forget()
		r.dict.Unread(r.start)
		r.facts.Bytes -= r.at - r.start
		r.rest, r.at, src.at, r.last, r.passed = nil, r.start, r.start, r.head.First-1, r.passed-r.head.Entries
		r.chosen = r.start
	}
	r.dict.Forget()
	r.block, r.shared = nil, false
	src.buf, src.r = nil, newFileSource(nil).r
	if r.zstd != nil {
		r.zstd.Close()
		r.zstd = nil
	}
	if p, is := src.file.(farFile).Bytes.(Parker); is {
		p.Park()
	}
	return nil
}

// far is the source of a recording that lies elsewhere.
func (r *Reader) far() (*fileSource, bool) {
	src, is := r.src.(*fileSource)
	if !is {
		return nil, false
	}
	_, is = src.file.(farFile)
	return src, is
}

// leap passes over the blocks that are not wanted, as the index has them, of a
// recording that lies elsewhere: to look at each header would be a request each.
// Without an index that can be used, and at the end, it does nothing.
func (r *Reader) leap() error {
	src, far := r.far()
	if !far || r.want == nil || r.chosen == r.at {
		return nil
	}
	if err := r.look(src); err != nil {
		if isDamage(err) {
			return nil // it is met where it is
		}
		return err
	}
	s := &r.survey
	if s.heads == nil {
		return nil
	}
	i, found := slices.BinarySearchFunc(s.places, r.at, func(p place, at int64) int { return int(min(max(p.at-at, -1), 1)) })
	if !found && (i == len(s.places) || i == 0 || r.last != s.places[i-1].last) {
		return nil
	}
	to := i
	for ; to < len(s.places); to++ {
		var h format.BlockHeader
		if err := h.ParseFields(s.heads[to]); err != nil {
			return r.damage(err.Error())
		}
		if r.want(blockOf(&h)) {
			r.chosen = s.places[to].at
			break
		}
	}
	if to == i {
		return nil
	}
	before := r.at
	r.stand(src, to)
	r.facts.Bytes += r.at - before
	return nil
}

// stand goes to the block that is number i in the survey, or behind all.
func (r *Reader) stand(src *fileSource, i int) {
	s := &r.survey
	to, last, passed := s.at, s.facts.LastSeq, s.entries
	switch {
	case i < len(s.places):
		to, passed, last = s.places[i].at, s.places[i].before, session.Seq(0)
		if i > 0 {
			last = s.places[i-1].last
		}
	case s.facts.Complete:
		to -= format.EndSize // it is read again, and says io.EOF
	}
	r.dict.Jump(s.spans(i))
	r.rest, r.err = nil, nil
	src.at, r.at = to, to
	r.last, r.passed = last, passed
}
