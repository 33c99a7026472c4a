package recorder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// rotateAgain is how long to wait after a rotation that did not work.
const rotateAgain = 10 * time.Second

// segment is the part of a recording that is being written.
type segment struct {
	family family
	header fileHeader
	// carried are the entries that were repeated at its beginning.
	carried uint64
	before  int64     // bytes of earlier segments
	again   time.Time // no attempt to end it before
}

// due says whether it is time for another segment.
func (w *writer) due() bool {
	o, s := &w.log.o, w.segment
	if s == nil || w.failing || !w.file.empty() || w.file.entries <= s.carried {
		return false
	}
	if o.MaxSize > 0 && w.file.end >= o.MaxSize || o.MaxAge > 0 && w.log.now().Sub(s.header.created) >= o.MaxAge {
		return !w.log.now().Before(s.again)
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
		w.segment.again = w.log.now().Add(rotateAgain)
		w.log.o.Logger.Error("cannot begin another segment of the recording, the old one grows on",
			zap.String("path", w.log.path), zap.Error(err))
	}
	return err == nil
}

// nextSegment begins a segment under another name, repeats there what it needs
// to be understood alone, puts it in the place of the old one, and ends that.
func (w *writer) nextSegment() error {
	path, old := w.log.path, w.segment
	temporary := path + ".next"
	_ = os.Remove(temporary)
	f, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	s := &segment{family: old.family, header: old.header, before: old.before}
	s.header.segment++
	s.header.created = w.log.now()
	s.header.first = w.file.last + 1
	var b *blockFile
	if err = lock(f); err == nil {
		b, err = newBlockFile(disk{f}, &s.header, nil)
	}
	if err == nil {
		err = w.carry(b)
	}
	if err == nil {
		err = replace(path, s.family.older(old.header.segment), temporary)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(temporary)
		return err
	}
	if err := w.file.finish(w.file.last); err != nil {
		w.log.o.Logger.Error("a segment of the recording has no end", zap.String("path", path), zap.Error(err))
	}
	s.carried = b.entries
	s.before += w.file.end
	w.sync.swap(disk{f}, w.file.f)
	b.hook = w.file.hook
	w.file, w.segment = b, s
	w.forget()
	return nil
}

// replace puts the file next in the place of path, which becomes older. Where
// there are links, path exists at any time. It overwrites no other file.
func replace(path, older, next string) error {
	if _, err := os.Lstat(older); err == nil {
		return fmt.Errorf("%s is there already", older)
	}
	if os.Link(path, older) == nil {
		err := os.Rename(next, path)
		if err != nil {
			_ = os.Remove(older)
		}
		return err
	}
	err := os.Rename(path, older)
	if err == nil {
		if err = os.Rename(next, path); err != nil {
			_ = os.Rename(older, path)
		}
	}
	return err
}

// carry repeats in b the entries that Options.Carry names, as far as they are in
// the segment that ends.
func (w *writer) carry(b *blockFile) error {
	seqs := w.carried()
	if len(seqs) == 0 {
		return nil
	}
	r, err := openFile(w.log.path)
	if err != nil {
		return err
	}
	defer r.Close()
	r.dict.pieces = true
	b.carrying = true
	defer func() { b.carrying = false }()
	for _, seq := range seqs {
		if o := &w.log.o; o.MaxSize > 0 && b.end > o.MaxSize/2 {
			w.log.o.Logger.Warn("a segment repeats only a part of what it needs to be understood alone: it is too much",
				zap.String("path", w.log.path))
			break
		}
		if err := r.Seek(seq); err != nil {
			return err
		}
		e, err := r.Next(context.Background())
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
		fits, err := b.measure(&e)
		if err == nil && !fits {
			err = b.commit()
		}
		if err != nil {
			return err
		}
		b.add(&e, r.head.labels)
	}
	return b.commit()
}

// carried asks which entries to repeat.
func (w *writer) carried() (seqs []session.Seq) {
	if w.log.o.Carry == nil {
		return nil
	}
	defer func() {
		if cause := recover(); cause != nil {
			seqs = nil
			w.log.o.Logger.Error("a segment repeats nothing: finding out what failed", zap.Error(&panicError{cause, debug.Stack()}))
		}
	}()
	seqs = slices.Clone(w.log.o.Carry())
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// forget deletes the oldest segments, of which more are there than are to be
// kept.
func (w *writer) forget() {
	keep := w.log.o.Keep
	if keep <= 0 {
		return
	}
	f := &w.segment.family
	numbers, err := f.numbers()
	// Only what is ours, whatever its name.
	ours := slices.DeleteFunc(numbers, func(n uint64) bool {
		r, err := f.open(f.older(n))
		if err == nil {
			_ = r.Close()
		}
		return err != nil
	})
	for ; len(ours) > keep && err == nil; ours = ours[1:] {
		err = os.Remove(f.older(ours[0]))
	}
	if err != nil {
		w.log.o.Logger.Warn("cannot delete an old segment of the recording",
			zap.String("path", w.log.path), zap.Error(err))
	}
}
