package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// hopSize is how much is read at once where block headers are looked for: in
// busy recordings several lie within it.
const hopSize = 16 << 10

// survey is what the block headers of a file say, read without the blocks:
// from its index if it was closed, by hopping over it if not. It goes on where
// it ended when the file has grown.
type survey struct {
	places []place
	at     int64 // of the frame that comes next
	begun  bool
	facts  Facts
	// carried counts what is repeated from earlier segments, too.
	carried bool
	entries uint64 // repeated ones included
	epoch   uint64
	buf     []byte
	from    int64 // where buf is in the file

	// heads are the fields of the headers of places, as an index has them; nil
	// unless keep, and where there is no index. They are of no more than maxHeads.
	heads [][]byte
	keep  bool
	kept  int
}

// maxHeads is how many bytes of headers are kept of a recording: more than a
// recording of 100 GB has.
const maxHeads = 64 << 20

// place is where a block is, and what is needed to go there.
type place struct {
	at          int64
	first, last session.Seq
	max         int64  // the latest time
	before      uint64 // entries in earlier blocks
	epoch       uint64
	content     uint64
	contents    uint64
}

func (s *survey) add(at int64, size int, h *format.BlockHeader) {
	s.places = append(s.places, place{
		at: at, first: h.First, last: h.Last, max: h.Max, before: s.entries,
		epoch: h.Epoch, content: h.Content, contents: h.Contents,
	})
	s.entries += h.Entries
	s.facts.LastSeq = h.Last
	if !h.Carried || s.carried {
		s.facts.countBlock(h)
	}
	s.at = at + int64(size) + int64(h.Compressed)
	s.facts.Bytes = s.at
}

// run brings the survey of f up to its end. A *DamageError says that the rest
// cannot be found.
func (s *survey) run(f file) error {
	size, err := f.size()
	if err != nil {
		return err
	}
	if !s.begun {
		s.begun = true
		fresh := survey{begun: true, at: s.at, facts: s.facts, carried: s.carried, keep: s.keep}
		if s.byIndex(f, size) == nil {
			return nil
		}
		*s = fresh
	}
	for !s.facts.Complete {
		if err := s.hop(f, size); err != nil {
			if errors.Is(err, errShort) {
				return nil
			}
			return err
		}
	}
	return nil
}

// hop passes over the frame at s.at.
func (s *survey) hop(f file, size int64) error {
	b, err := s.peek(f, format.FrameHeadSize, size)
	if err != nil {
		return err
	}
	magic, n := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint32(b[4:]))
	length := format.FrameHeadSize + int64(n)
	switch {
	case magic&^0xF != format.MagicSkippable || magic == format.MagicHeader && s.at > 0:
		return s.damage("there is no frame where one must be")
	case magic == format.MagicIndex && n <= format.MaxIndex:
		if s.at+length > size {
			return errShort
		}
		s.pass(length)
		return nil
	case n > format.MaxSkippable:
		return s.damage(fmt.Sprintf("a header cannot be %d bytes long", n))
	}
	if b, err = s.peek(f, format.FrameHeadSize+n, size); err != nil {
		return err
	}
	b = b[format.FrameHeadSize:]
	switch magic {
	case format.MagicBlock:
		var h format.BlockHeader
		if err := h.Parse(b); err != nil {
			return s.damage(err.Error())
		}
		if s.at+length+int64(h.Compressed) > size {
			return errShort
		}
		if h.First <= s.facts.LastSeq || h.Epoch < s.epoch {
			return s.damage(fmt.Sprintf("entry %d again", h.First))
		}
		s.epoch = h.Epoch
		s.add(s.at, int(length), &h)
		return nil
	case format.MagicEnd:
		var m format.EndMark
		if err := m.Parse(b); err != nil {
			return s.damage(err.Error())
		}
		if s.at+length != size || m.Entries != s.entries {
			return s.damage("its end does not fit to it")
		}
		s.facts.Complete = true
	}
	s.pass(length)
	return nil
}

func (s *survey) pass(n int64) {
	s.at += n
	s.facts.Bytes = s.at
}

// peek returns the next n bytes, which are there if size says so.
func (s *survey) peek(f file, n int, size int64) ([]byte, error) {
	if s.at+int64(n) > size {
		return nil, errShort
	}
	if s.at < s.from || s.at+int64(n) > s.from+int64(len(s.buf)) {
		want := int(min(int64(max(n, hopSize)), size-s.at))
		if cap(s.buf) < want {
			s.buf = make([]byte, want)
		}
		s.buf, s.from = s.buf[:want], s.at
		if got, err := f.ReadAt(s.buf, s.at); got < want {
			s.buf = s.buf[:0]
			if errors.Is(err, io.EOF) {
				err = errShort
			}
			return nil, err
		}
	}
	at := int(s.at - s.from)
	return s.buf[at : at+n], nil
}

func (s *survey) damage(reason string) error {
	s.facts.Damaged = true
	return &DamageError{Path: s.facts.Path, Offset: s.at, AfterSeq: s.facts.LastSeq, Reason: reason}
}

var errNoIndex = errors.New("there is no index that can be used")

// byIndex takes it all from the index of a file that was closed.
func (s *survey) byIndex(f file, size int64) error {
	if size < format.EndSize {
		return errNoIndex
	}
	var tail [format.EndSize]byte
	if _, err := f.ReadAt(tail[:], size-format.EndSize); err != nil {
		return err
	}
	var m format.EndMark
	if binary.LittleEndian.Uint32(tail[:]) != format.MagicEnd || m.Parse(tail[format.FrameHeadSize:]) != nil {
		return errNoIndex
	}
	// The frames name each other from the last to the first.
	var frames []int64
	for at, before := m.Index, size; at != 0; {
		if at < 0 || at > before-format.FrameHeadSize-8 {
			return errNoIndex
		}
		var head [format.FrameHeadSize + 8]byte
		if _, err := f.ReadAt(head[:], at); err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(head[:]) != format.MagicIndex {
			return errNoIndex
		}
		frames = append(frames, at)
		at, before = int64(binary.LittleEndian.Uint64(head[format.FrameHeadSize:])), at
	}
	for i := len(frames) - 1; i >= 0; i-- {
		if err := s.indexFrame(f, frames[i], size); err != nil {
			return err
		}
	}
	if s.entries != m.Entries {
		return errNoIndex
	}
	s.facts.Complete, s.facts.Bytes, s.at = true, size, size
	return nil
}

func (s *survey) indexFrame(f file, at, size int64) error {
	var head [format.FrameHeadSize]byte
	if _, err := f.ReadAt(head[:], at); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	if n > format.MaxIndex || at+format.FrameHeadSize+n > size {
		return errNoIndex
	}
	expect(f, at+format.FrameHeadSize, n)
	payload := make([]byte, n)
	if _, err := f.ReadAt(payload, at+format.FrameHeadSize); err != nil {
		return err
	}
	_, err := format.ParseIndex(payload, func(from int64, size int, h *format.BlockHeader, fields []byte) error {
		if h.First <= s.facts.LastSeq || h.Epoch < s.epoch || from < s.at || from >= at {
			return errNoIndex
		}
		s.epoch = h.Epoch
		s.add(from, size, h)
		if s.kept += len(fields); s.keep && s.kept <= maxHeads {
			s.heads = append(s.heads, fields)
		} else {
			s.heads, s.keep = nil, false
		}
		return nil
	})
	return err
}

// find is the first place for which is is true of it and all later ones.
func (s *survey) find(is func(*place) bool) int {
	return sort.Search(len(s.places), func(i int) bool { return is(&s.places[i]) })
}

// spans are the contents of the epoch that place i is in, or would be in,
// that blocks before it define.
func (s *survey) spans(i int) (epoch uint64, spans []format.Span) {
	switch {
	case i < len(s.places):
		epoch = s.places[i].epoch
	case i > 0:
		epoch = s.places[i-1].epoch
	}
	from := s.find(func(p *place) bool { return p.epoch >= epoch })
	for _, p := range s.places[from:max(from, i)] {
		if p.contents > 0 {
			spans = append(spans, format.Span{First: p.content, Count: p.contents, At: p.at})
		}
	}
	return epoch, spans
}
