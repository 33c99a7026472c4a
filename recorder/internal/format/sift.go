package format

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/session"
)

// WholeBlock is the longest block that is put together in memory as it is, in bytes.
// What is longer has one entry, whose message is too large to be decoded: no writer
// spends more than an eighth of the data on what is between its parts.
const WholeBlock = session.MostRead + session.MostRead/8 + MaxHead + BlockTarget

const (
	// fieldAside stands for a part of the data that Sift took out of an entry, by
	// its number. It is in memory only.
	fieldAside protowire.Number = 1 << 20
	// asidePiece is the largest chunk of what is taken aside, and leastAside the
	// shortest part that is, in bytes.
	asidePiece = 1 << 20
	leastAside = 64 << 10
)

// Aside is the data of an entry that is too large to be decoded.
type Aside struct {
	keep  bool // its bytes, and not only how many there are
	parts []asidePart
}

type asidePart struct {
	chunks session.Chunks
	left   int64
}

// Sift reads a block of length bytes that is longer than WholeBlock, and returns it
// without what its message consists of, but for contents. That is taken aside, in
// pieces, if keep says so; else only its length is known.
func Sift(r io.Reader, length uint64, keep bool) (block []byte, aside *Aside, err error) {
	s := sieve{in: bufio.NewReaderSize(r, leastAside), aside: &Aside{keep: keep}, left: length}
	n, err := s.varint()
	if err != nil {
		return nil, nil, err
	}
	if n != s.left {
		return nil, nil, errors.New("a block of several entries is longer than any that is written")
	}
	for s.left > 0 {
		if err := s.field(); err != nil {
			return nil, nil, err
		}
	}
	if _, err := s.in.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("a block is longer than its header says")
	}
	s.leave()
	return append(protowire.AppendVarint(nil, uint64(len(s.out))), s.out...), s.aside, nil
}

// sieve reads one entry.
type sieve struct {
	in    *bufio.Reader
	out   []byte
	aside *Aside
	left  uint64 // bytes of the entry that are not read yet
	gone  int64  // of data that was left out
}

// ReadByte reads one byte of the entry.
func (s *sieve) ReadByte() (byte, error) {
	if s.left == 0 {
		return 0, errWire
	}
	s.left--
	b, err := s.in.ReadByte()
	return b, broken(err)
}

func (s *sieve) varint() (v uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := s.ReadByte()
		if err != nil {
			return 0, err
		}
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v, nil
		}
	}
	return 0, errWire
}

// field reads one field, and puts it out or aside.
func (s *sieve) field() error {
	tag, err := s.varint()
	if err != nil {
		return err
	}
	num, typ := protowire.DecodeTag(tag)
	if num < protowire.MinValidNumber || num == fieldAside {
		return errWire
	}
	if typ != protowire.BytesType {
		s.out = protowire.AppendTag(s.out, num, typ)
	}
	switch typ {
	case protowire.VarintType:
		v, err := s.varint()
		s.out = protowire.AppendVarint(s.out, v)
		return errors.Join(err, s.bounded())
	case protowire.Fixed64Type:
		return s.copy(8)
	case protowire.Fixed32Type:
		return s.copy(4)
	case protowire.BytesType:
		n, err := s.varint()
		if err != nil || n > s.left {
			return errWire
		}
		if num == FieldData && (!s.aside.keep || n >= leastAside) {
			return s.take(n)
		}
		s.out = protowire.AppendVarint(protowire.AppendTag(s.out, num, typ), n)
		return s.copy(n)
	}
	return errWire
}

// copy puts n bytes out.
func (s *sieve) copy(n uint64) error {
	if n > s.left || uint64(len(s.out))+n > WholeBlock {
		return errWire
	}
	for n > 0 {
		from := len(s.out)
		s.out = append(s.out, make([]byte, min(n, asidePiece))...)
		got, err := io.ReadFull(s.in, s.out[from:])
		if err != nil {
			return broken(err)
		}
		n, s.left = n-uint64(got), s.left-uint64(got)
	}
	return s.bounded()
}

func (s *sieve) bounded() error {
	if len(s.out) > WholeBlock {
		return errors.New("a block is longer than any that is written")
	}
	return nil
}

// take takes n bytes of data aside.
func (s *sieve) take(n uint64) error {
	s.left -= n
	if !s.aside.keep {
		got, err := io.CopyN(io.Discard, s.in, int64(n))
		s.gone += got
		return broken(err)
	}
	var part asidePart
	for n > 0 {
		chunk := make([]byte, min(n, asidePiece))
		if _, err := io.ReadFull(s.in, chunk); err != nil {
			return broken(err)
		}
		part.chunks = append(part.chunks, chunk)
		n -= uint64(len(chunk))
	}
	s.add(part)
	return nil
}

// leave says how much was left out.
func (s *sieve) leave() {
	if s.gone > 0 {
		s.add(asidePart{left: s.gone})
	}
}

func (s *sieve) add(part asidePart) {
	s.out = protowire.AppendTag(s.out, fieldAside, protowire.VarintType)
	s.out = protowire.AppendVarint(s.out, uint64(len(s.aside.parts)))
	s.aside.parts = append(s.aside.parts, part)
}

// broken is an error of a stream that ends, or is damaged, within a block.
func broken(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("a block cannot be decompressed: %w", err)
}
