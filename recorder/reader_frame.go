package recorder

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
)

// begin reads the header, and the descriptors behind it. errShort says that they
// are not all there.
func (r *Reader) begin() error {
	if r.first == 0 {
		if err := r.readHeader(); err != nil {
			return err
		}
	}
	if err := r.descriptors(); err != nil {
		return err
	}
	r.began = true
	return nil
}

func (r *Reader) readHeader() error {
	magic, payload, err := r.peekFrame()
	switch {
	case isDamage(err), err == nil && magic != format.MagicHeader:
		return &FormatError{Path: r.path, Reason: "it does not begin as one"}
	case err != nil:
		return err
	}
	var h format.FileHeader
	if err := h.Parse(payload); err != nil {
		return &FormatError{Path: r.path, Reason: err.Error()}
	}
	if h.Version != format.Version {
		return &VersionError{Path: r.path, Version: h.Version}
	}
	if r.header.Version == 0 {
		r.facts.Version, r.facts.Created, r.facts.Masked = h.Version, h.Created, true
	}
	r.header = h
	r.facts.Program, r.facts.Masked = h.Program, r.facts.Masked && h.Masked
	r.first = format.FrameHeadSize + int64(len(payload))
	return r.pass(r.first)
}

// descriptors reads those that the header announces. If what is there is something
// else, there are none, and the recording can be read.
func (r *Reader) descriptors() error {
	if r.header.DescriptorBytes > format.MaxDescriptors {
		r.facts.BadDescriptors = true
		return nil
	}
	for uint64(len(r.packed)) < r.header.DescriptorBytes {
		magic, payload, err := r.peekFrame()
		if err != nil && !isDamage(err) {
			return err
		}
		if err != nil || magic != format.MagicDescriptors {
			r.packed, r.facts.BadDescriptors = nil, true
			return nil
		}
		length := format.FrameHeadSize + int64(len(payload))
		part, err := format.DescriptorsPart(payload)
		if err != nil || len(part) == 0 {
			r.packed, r.facts.BadDescriptors = nil, true
			return nil
		}
		r.packed = append(r.packed, part...)
		r.first += length
		if err := r.pass(length); err != nil {
			return err
		}
	}
	if len(r.packed) > 0 {
		set, err := format.UnpackDescriptors(r.packed)
		r.facts.Descriptors, r.facts.BadDescriptors = string(set), err != nil
		r.packed = nil
		r.header.DescriptorBytes = 0 // they are read
	}
	return nil
}

// headless turns an error of begin into what to say for good.
func (r *Reader) headless(err error) error {
	if !errors.Is(err, errShort) {
		return err
	}
	if empty, err := r.src.drained(); empty && err == nil && r.first == 0 {
		return &FormatError{Path: r.path, Reason: "it is empty"}
	}
	return &FormatError{Path: r.path, Reason: "it ends within its header"}
}

// frame reads the next frame, which may be a block. It returns errShort, and
// stays where it is, if there is no whole one.
func (r *Reader) frame() error {
	if !r.began {
		if err := r.begin(); err != nil {
			return r.headless(err)
		}
		if r.family != nil {
			r.countDeleted()
		}
	}
	r.dict.Aside = nil // it is of the block before
	magic, payload, err := r.peekFrame()
	if err != nil {
		return err
	}
	length := format.FrameHeadSize + int64(len(payload))
	switch magic {
	case format.MagicBlock:
		err := r.load(payload)
		if isDamage(err) {
			// A writer that failed in the middle may have put another
			// block in the place of the one that was looked at.
			if _, ok := r.src.(*fileSource); ok {
				if magic, payload, err = r.peekFrame(); err == nil && magic == format.MagicBlock {
					err = r.load(payload)
				}
			}
		}
		return err
	case format.MagicEnd:
		return r.end(payload, length)
	case format.MagicIndex:
		return r.passIndex()
	case format.MagicHeader:
		return r.damage("a second header")
	}
	return r.pass(length)
}

// peekFrame looks at the skippable frame at the current position.
func (r *Reader) peekFrame() (magic uint32, payload []byte, err error) {
	b, err := r.src.peek(format.FrameHeadSize)
	if len(b) >= 4 {
		magic = binary.LittleEndian.Uint32(b)
		if magic&^0xF != format.MagicSkippable {
			return magic, nil, r.damage("there is no frame where one must be")
		}
	}
	if err != nil {
		return magic, nil, err
	}
	n := binary.LittleEndian.Uint32(b[4:])
	if magic == format.MagicIndex && n <= format.MaxIndex {
		return magic, nil, nil // it need not be in memory to be passed over
	}
	if n > format.MaxSkippable || n < format.CRCSize && magic >= format.MagicHeader && magic <= format.MagicEnd {
		return magic, nil, r.damage(fmt.Sprintf("a header cannot be %d bytes long", n))
	}
	b, err = r.src.peek(format.FrameHeadSize + int(n))
	if err != nil {
		return magic, nil, err
	}
	return magic, b[format.FrameHeadSize:], nil
}

// passIndex passes over an index, if it is all there.
func (r *Reader) passIndex() error {
	b, err := r.src.peek(format.FrameHeadSize)
	if err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(b[4:]))
	if _, err := r.src.body(format.FrameHeadSize, n); err != nil {
		return err
	}
	return r.pass(format.FrameHeadSize + n)
}

// end reads the end mark.
func (r *Reader) end(payload []byte, length int64) error {
	var m format.EndMark
	if err := m.Parse(payload); err != nil {
		return r.damage(err.Error())
	}
	if m.Entries != r.passed || m.Last < r.last {
		return r.damage(fmt.Sprintf("it ends with %d entries where %d were written", r.passed, m.Entries))
	}
	if err := r.pass(length); err != nil {
		return err
	}
	if drained, err := r.src.drained(); err != nil {
		return err
	} else if !drained {
		return r.damage("something follows its end")
	}
	r.facts.Complete = !r.broken
	r.ended = true
	return io.EOF
}

// pass goes on by n bytes.
func (r *Reader) pass(n int64) error {
	if err := r.src.pass(n); err != nil {
		return err
	}
	r.at += n
	r.facts.Bytes += n
	return nil
}

// damage is about the frame that comes next.
func (r *Reader) damage(reason string) error { return r.damageAt(r.at, reason) }

func (r *Reader) damageAt(offset int64, reason string) error {
	return &DamageError{Path: r.path, Offset: offset, AfterSeq: r.last, Reason: reason}
}

func isDamage(err error) bool {
	_, ok := errors.AsType[*DamageError](err)
	return ok
}
