package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/xdsproxy/xdsproxy/internal/session"
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
}

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

func (s *survey) add(at int64, size int, h *blockHeader) {
	s.places = append(s.places, place{
		at: at, first: h.first, last: h.last, max: h.max, before: s.entries,
		epoch: h.epoch, content: h.content, contents: h.contents,
	})
	s.entries += h.entries
	s.facts.LastSeq = h.last
	if !h.carried || s.carried {
		s.facts.countBlock(h)
	}
	s.at = at + int64(size) + int64(h.compressed)
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
		fresh := survey{begun: true, at: s.at, facts: s.facts, carried: s.carried}
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
	b, err := s.peek(f, frameHeadSize, size)
	if err != nil {
		return err
	}
	magic, n := binary.LittleEndian.Uint32(b), int(binary.LittleEndian.Uint32(b[4:]))
	length := frameHeadSize + int64(n)
	switch {
	case magic&^0xF != magicSkippable || magic == magicHeader && s.at > 0:
		return s.damage("there is no frame where one must be")
	case magic == magicIndex && n <= maxIndex:
		if s.at+length > size {
			return errShort
		}
		s.pass(length)
		return nil
	case n > maxSkippable:
		return s.damage(fmt.Sprintf("a header cannot be %d bytes long", n))
	}
	if b, err = s.peek(f, frameHeadSize+n, size); err != nil {
		return err
	}
	b = b[frameHeadSize:]
	switch magic {
	case magicBlock:
		var h blockHeader
		if err := h.parse(b); err != nil {
			return s.damage(err.Error())
		}
		if s.at+length+int64(h.compressed) > size {
			return errShort
		}
		if h.first <= s.facts.LastSeq || h.epoch < s.epoch {
			return s.damage(fmt.Sprintf("entry %d again", h.first))
		}
		s.epoch = h.epoch
		s.add(s.at, int(length), &h)
		return nil
	case magicEnd:
		var m endMark
		if err := m.parse(b); err != nil {
			return s.damage(err.Error())
		}
		if s.at+length != size || m.entries != s.entries {
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
	if size < endSize {
		return errNoIndex
	}
	var tail [endSize]byte
	if _, err := f.ReadAt(tail[:], size-endSize); err != nil {
		return err
	}
	var m endMark
	if binary.LittleEndian.Uint32(tail[:]) != magicEnd || m.parse(tail[frameHeadSize:]) != nil {
		return errNoIndex
	}
	// The frames name each other from the last to the first.
	var frames []int64
	for at, before := m.index, size; at != 0; {
		if at < 0 || at > before-frameHeadSize-8 {
			return errNoIndex
		}
		var head [frameHeadSize + 8]byte
		if _, err := f.ReadAt(head[:], at); err != nil {
			return err
		}
		if binary.LittleEndian.Uint32(head[:]) != magicIndex {
			return errNoIndex
		}
		frames = append(frames, at)
		at, before = int64(binary.LittleEndian.Uint64(head[frameHeadSize:])), at
	}
	for i := len(frames) - 1; i >= 0; i-- {
		if err := s.indexFrame(f, frames[i], size); err != nil {
			return err
		}
	}
	if s.entries != m.entries {
		return errNoIndex
	}
	s.facts.Complete, s.facts.Bytes, s.at = true, size, size
	return nil
}

func (s *survey) indexFrame(f file, at, size int64) error {
	var head [frameHeadSize]byte
	if _, err := f.ReadAt(head[:], at); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(head[4:]))
	if n > maxIndex || at+frameHeadSize+n > size {
		return errNoIndex
	}
	payload := make([]byte, n)
	if _, err := f.ReadAt(payload, at+frameHeadSize); err != nil {
		return err
	}
	_, err := parseIndex(payload, func(from int64, size int, h *blockHeader) error {
		if h.first <= s.facts.LastSeq || h.epoch < s.epoch || from < s.at || from >= at {
			return errNoIndex
		}
		s.epoch = h.epoch
		s.add(from, size, h)
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
func (s *survey) spans(i int) (epoch uint64, spans []span) {
	switch {
	case i < len(s.places):
		epoch = s.places[i].epoch
	case i > 0:
		epoch = s.places[i-1].epoch
	}
	from := s.find(func(p *place) bool { return p.epoch >= epoch })
	for _, p := range s.places[from:max(from, i)] {
		if p.contents > 0 {
			spans = append(spans, span{first: p.content, count: p.contents, at: p.at})
		}
	}
	return epoch, spans
}
