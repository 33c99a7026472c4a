package recorder

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// Rescued says what Salvage could save.
type Rescued struct {
	Entries uint64 // copied
	Partial uint64 // of them: messages that had lost a part
	Damages int    // stretches that were left out
	Lost    uint64 // entries in them; at least one each
	Bytes   int64  // of them
	// Headless says that the header was damaged: who wrote the recording and when,
	// whether secrets in it are masked, and what descriptors it had is not known.
	Headless bool
}

// Problems and notes of what Salvage writes.
const (
	problemPartial   = "a part of this message was in a damaged part of the recording"
	problemUncounted = "how many entries were lost cannot be said"
)

// Salvage copies all that can be read of the recording at from into a new one at
// to, which must not exist. Entries keep their numbers and times. Where bytes
// were damaged a Gap entry says which entries are missing; it has the number of
// the last of them, and names all streams that were open. A message that refers
// to what was lost is copied without it, as Truncated and with a problem. Each
// segment is rescued by itself.
//
// tell, unless it is nil, is told again and again how many bytes of from were
// read and how many entries of them copied.
func Salvage(ctx context.Context, from, to string, tell func(read int64, entries uint64)) (Rescued, error) {
	r, err := openUnread(from)
	if err != nil {
		return Rescued{}, err
	}
	defer r.Close()
	src, ok := r.src.(*fileSource)
	if !ok {
		return Rescued{}, errPipe
	}
	s := newSalvage(r, src, tell)
	if err := s.begin(ctx); err != nil {
		return Rescued{}, err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return Rescued{}, fmt.Errorf("cannot write what is rescued: %w", err)
	}
	err = s.copyTo(ctx, f)
	if err == nil {
		err = disk{f}.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(to)
		return s.done, fmt.Errorf("cannot rescue %s: %w", from, err)
	}
	return s.done, nil
}

// salvage copies one recording.
type salvage struct {
	r    *Reader
	src  *fileSource
	out  *blocks.Writer
	tell func(read int64, entries uint64)
	done Rescued
	last session.Entry // that was copied
	open openStreams
	// before is the last entry that the damage at the beginning may have held; 0 if
	// there was none.
	before session.Seq

	buf, piece []byte // what is looked at, and what is read of a block
	vain       int64  // bytes of blocks that were read, and of which nothing came
}

func newSalvage(r *Reader, src *fileSource, tell func(int64, uint64)) *salvage {
	if tell == nil {
		tell = func(int64, uint64) {}
	}
	return &salvage{r: r, src: src, tell: tell, open: openStreams{}}
}

// copyTo copies what can be read, once it has begun.
func (s *salvage) copyTo(ctx context.Context, to blocks.File) error {
	r := s.r
	r.dict.Lenient, r.dict.Pieces, r.dict.Large, r.dict.Fetch = true, true, true, nil
	h := &r.facts
	packed, err := packedOf(*h, nil)
	if err != nil {
		return err
	}
	s.out, err = blocks.New(to, &format.FileHeader{Created: h.Created, Program: h.Program, Masked: h.Masked, Descriptors: packed}, nil)
	if err != nil {
		return err
	}
	defer s.out.Free()
	s.last.Time = h.Created // for what is missing at the beginning
	if s.before > 0 {
		if err := s.gap(s.before, false); err != nil {
			return err
		}
	}
	return s.run(ctx)
}

// openStreams are those that damage may touch: of which something was copied, and
// not the end. Beyond format.MaxGapStreams they are not told apart any more.
type openStreams map[session.StreamID]session.ConnID

func (o openStreams) step(e *session.Entry) {
	_, known := o[e.Stream]
	switch {
	case e.Kind == session.KindTrailer || e.Kind == session.KindCancel:
		if len(o) < format.MaxGapStreams {
			delete(o, e.Stream)
		}
	case e.Kind == session.KindDisconnect:
		if len(o) < format.MaxGapStreams {
			maps.DeleteFunc(o, func(_ session.StreamID, conn session.ConnID) bool { return conn == e.Conn })
		}
	case e.Kind != session.KindOpen && e.Kind != session.KindMessage || e.Stream == 0 || known:
	case len(o) < format.MaxGapStreams:
		o[e.Stream] = e.Conn
	}
}

func (s *salvage) run(ctx context.Context) error {
	for {
		e, err := s.r.Next(ctx)
		switch {
		case err == nil:
			err = s.copy(&e)
			s.tell(s.r.at, s.done.Entries)
		case errors.Is(err, io.EOF) && s.r.facts.Complete:
			return s.finish()
		case errors.Is(err, io.EOF), isDamage(err):
			var on bool
			if on, err = s.passDamage(ctx, err); err == nil && !on {
				return s.finish()
			}
		}
		if err != nil {
			return err
		}
	}
}

func (s *salvage) copy(e *session.Entry) error {
	if s.r.dict.Missing {
		s.r.dict.Missing = false
		m := *e.Message
		m.Truncated = true
		e.Message = &m
		e.Problems = append(e.Problems[:len(e.Problems):len(e.Problems)], problemPartial)
		s.done.Partial++
	}
	s.done.Entries++
	return s.put(e, s.r.head.Labels)
}

func (s *salvage) put(e *session.Entry, labels []string) error {
	err := s.out.Put(e, labels)
	s.last = *e
	s.last.Message = nil
	s.open.step(e)
	return err
}

func (s *salvage) finish() error {
	err := s.out.Commit()
	if err == nil {
		err = s.out.Finish(s.last.Seq)
	}
	return err
}

// passDamage makes the reader go on at the next block that can be believed, and
// says what is missing. It reports whether there is one.
func (s *salvage) passDamage(ctx context.Context, cause error) (on bool, err error) {
	r := s.r
	from := r.at
	if d, ok := errors.AsType[*DamageError](cause); ok {
		from = d.Offset
	}
	next := from + 1
	headSize, lost, err := headerAt(s.src, from)
	if err == nil {
		next = s.behind(from, headSize, lost)
	}
	at, h, err := s.search(ctx, next, math.MaxInt64)
	if err != nil {
		return false, err
	}
	size, err := s.src.size()
	if err != nil {
		return false, err
	}
	end, closed := s.endMark(size)
	switch {
	case h == nil && !isDamage(cause) && !closed:
		return false, nil // merely torn
	case h == nil && closed && from == size-format.EndSize && s.done.Damages > 0:
		return false, nil // it does not fit to what was passed over, of which was told
	}
	last, counted := session.Seq(0), false
	switch {
	case h != nil:
		last, counted = h.First-1, true
	case closed:
		last, counted = end.Last, true
		at = max(size-format.EndSize, from)
	default:
		at = size
		var magic [4]byte
		if _, err := s.src.ReadAt(magic[:], from); err == nil {
			if m := binary.LittleEndian.Uint32(magic[:]); m == format.MagicIndex || m == format.MagicEnd {
				counted = true // no entry was in it
			}
		}
		if lost != nil && lost.Last > s.last.Seq {
			last, counted = lost.Last, true
		}
	}
	s.done.Damages++
	s.done.Bytes += at - from
	if err := s.gap(last, counted); err != nil || h == nil {
		return false, err
	}
	s.goOn(at, h)
	return true, nil
}

// goOn makes the reader go on with the block at at.
func (s *salvage) goOn(at int64, h *format.BlockHeader) {
	r := s.r
	r.rest, r.err = nil, nil
	r.last = h.First - 1
	s.src.at, r.at = at, at
}

// endMark is that of the file, if it has one.
func (s *salvage) endMark(size int64) (m format.EndMark, is bool) {
	var b [format.EndSize]byte
	n, _ := s.src.ReadAt(b[:], max(size-format.EndSize, 0))
	is = n == format.EndSize && binary.LittleEndian.Uint32(b[:]) == format.MagicEnd && m.Parse(b[format.FrameHeadSize:]) == nil
	return m, is
}

// gap says that all up to last is missing.
func (s *salvage) gap(last session.Seq, counted bool) error {
	if s.last.Seq == format.MaxSeq || counted && last <= s.last.Seq {
		return nil // no number is left, or what was damaged was no entry
	}
	g := session.Gap{First: s.last.Seq + 1, Last: min(max(last, s.last.Seq+1), format.MaxSeq)}
	g.Entries = uint64(g.Last-g.First) + 1
	g.Streams = slices.Sorted(maps.Keys(s.open))
	s.done.Lost += g.Entries
	e := session.Entry{Seq: g.Last, Time: s.last.Time, Kind: session.KindGap, Side: session.Proxy, Gap: &g}
	if !counted {
		e.Problems = []string{problemUncounted}
	}
	return s.put(&e, nil)
}
