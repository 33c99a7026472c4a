package recorder

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/format"
	"github.com/xdsproxy/xdsproxy/session"
)

// rotateAgain is how long to wait after a rotation that did not work.
const rotateAgain = 10 * time.Second

// segment is the part of a recording that is being written.
type segment struct {
	store  segmentStore
	header format.FileHeader
	// carried are the entries that were repeated at its beginning.
	carried uint64
	begun   time.Time
	before  int64     // bytes of earlier segments
	again   time.Time // no attempt to end it before
}

// due says whether it is time for another segment.
func (w *writer) due() bool {
	o, s := &w.log.o, w.segment
	if s == nil || w.failing || w.adrift || !w.file.Empty() || w.file.Entries <= s.carried {
		return false
	}
	if o.MaxSize > 0 && w.file.End >= o.MaxSize || o.MaxAge > 0 && o.Now().Sub(s.begun) >= o.MaxAge {
		// What is in the place of a lost file is not ours to rename.
		return !o.Now().Before(s.again) && w.astray() == ""
	}
	return false
}

// rotate begins another segment if it is time, and says whether it did. If that
// fails the old one grows on.
func (w *writer) rotate() bool {
	if !w.due() {
		return false
	}
	err := w.nextSegment()
	if err != nil {
		w.segment.again = w.log.o.Now().Add(rotateAgain)
		w.log.o.Logger.Error("cannot begin another segment of the recording, the old one grows on",
			zap.String("path", w.log.path), zap.Error(err))
	}
	return err == nil
}

// nextSegment begins a segment under another name, repeats there what it needs
// to be understood alone, puts it in the place of the old one, and ends that.
func (w *writer) nextSegment() error {
	path, old := w.log.path, w.segment
	f, err := old.store.begin()
	if err != nil {
		return err
	}
	s := w.following()
	b, err := w.begin(f, &s.header, func(b *logFile) error {
		return w.carry(context.Background(), b, w.log.o.Carry, old.store.current)
	})
	if err == nil {
		if err = s.store.install(old.header.Segment); err != nil {
			w.log.tail.drop(b.tail)
		}
	}
	if err != nil {
		old.store.abandon(f)
		return err
	}
	if err := w.file.Finish(w.file.Last); err != nil {
		w.log.o.Logger.Error("a segment of the recording has no end", zap.String("path", path), zap.Error(err))
	}
	s.before += w.file.End
	w.log.addPart(&s.header, w.file, b)
	w.goOn(b, s)
	w.log.committed.send()
	if err := s.store.forget(w.log.o.Keep, w.log.o.Spare); err != nil {
		w.log.o.Logger.Warn("cannot delete an old segment of the recording", zap.String("path", path), zap.Error(err))
	}
	if w.log.o.Keep > 0 || path == "" {
		w.log.dropParts(s.store)
	}
	if w.log.o.Rotated != nil {
		w.log.o.Rotated()
	}
	return nil
}

// following is the segment that comes after the one that is written.
func (w *writer) following() *segment {
	old := w.segment
	s := &segment{store: old.store, header: old.header, begun: w.log.o.Now(), before: old.before}
	s.header.Segment++
	s.header.Created = w.log.now()
	s.header.First = max(w.file.Last+1, old.header.First)
	return s
}

// begin writes the beginning of a segment to f, with what carry repeats in it;
// nothing if that is nil.
func (w *writer) begin(f blocks.File, h *format.FileHeader, carry func(*logFile) error) (*logFile, error) {
	b, err := w.log.newFile(f, h, nil)
	if err != nil {
		return nil, err
	}
	if carry != nil {
		if err := carry(b); err != nil {
			w.log.tail.drop(b.tail)
			return nil, err
		}
	}
	return b, nil
}

// goOn makes b, the beginning of s, the file that is written.
func (w *writer) goOn(b *logFile, s *segment) {
	w.file.tail.finish()
	s.carried = b.Entries
	b.Hook = w.file.Hook
	w.sync.swap(b.File, w.file.File)
	w.file, w.segment = b, s
}

// carry repeats in b the entries that needed names, as far as they are in the
// segment that ends, which current opens.
func (w *writer) carry(ctx context.Context, b *logFile, needed func() []session.Seq, current func() (*Reader, error)) error {
	seqs := w.carried(needed)
	if len(seqs) == 0 {
		return nil
	}
	r, err := current()
	if err != nil {
		return err
	}
	defer r.Close()
	r.dict.Pieces, r.dict.Large = true, true
	b.Carrying = true
	defer func() { b.Carrying = false }()
	for _, seq := range seqs {
		if o := &w.log.o; o.MaxSize > 0 && b.End > o.MaxSize/2 {
			w.log.o.Logger.Warn("a segment repeats only a part of what it needs to be understood alone: it is too much",
				zap.String("path", w.log.path))
			break
		}
		if len(r.rest) > 0 && r.last < seq && seq <= r.head.Last {
			r.fromSeq = seq // the block that it is in is at hand
		} else if err := r.Seek(seq); err != nil {
			return err
		}
		e, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if e.Seq != seq {
			continue // it was lost
		}
		e.Carried = true
		if err := b.Put(&e, r.head.Labels); err != nil {
			return err
		}
	}
	return b.Commit()
}

// carried asks which entries to repeat.
func (w *writer) carried(needed func() []session.Seq) (seqs []session.Seq) {
	if needed == nil {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			seqs = nil
			w.log.o.Logger.Error("a segment repeats nothing: finding out what failed", zap.Error(blocks.Panicked(cause)))
		}
	}()
	seqs = slices.Clone(needed())
	slices.Sort(seqs)
	return slices.Compact(seqs)
}
