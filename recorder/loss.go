package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/recorder/internal/blocks"
	"github.com/xdsproxy/xdsproxy/recorder/internal/queue"
	"github.com/xdsproxy/xdsproxy/session"
)

// lookEvery is how often the writer looks whether its file is still there.
const lookEvery = 500 * time.Millisecond

// What was recorded is read again, to find what another file has to repeat, up
// to so many bytes and for so long.
const (
	maxRecall = 256 << 20
	recallFor = 5 * time.Second
)

// Loss says that somebody else took the file of a recording away while it was
// written.
type Loss struct {
	Path    string    // of the file
	Why     string    // what became of it: "was removed or renamed"
	At      time.Time // when that was noticed
	Next    string    // the file in which the recording goes on
	Entries uint64    // that were written to the lost file, and to no other
}

// looks is the clock of look; nil if nobody asked for it.
func (w *writer) looks() (<-chan time.Time, func()) {
	if w.log.o.OnLost == nil || w.log.path == "" {
		return nil, func() {}
	}
	t := time.NewTicker(lookEvery)
	return t.C, t.Stop
}

// look goes on in another file if the newest is lost. It is called between
// blocks. If no other can be begun, the lost one is written on, for those who
// read along, and each look tries again.
func (w *writer) look() {
	l := w.log
	if l.o.OnLost == nil || l.path == "" {
		return
	}
	why, err := w.astray(), error(nil)
	if why == "" {
		w.missed = time.Time{}
	} else {
		if w.missed.IsZero() {
			w.missed = l.now()
		}
		loss := Loss{Path: l.path, Why: why, At: w.missed}
		if loss.Next, loss.Entries, err = w.leave(why); err == nil {
			w.missed = time.Time{}
			l.o.Logger.Error("the file of the recording is lost; recording goes on in another",
				zap.String("path", loss.Path), zap.String("why", loss.Why), zap.String("next", loss.Next),
				zap.Uint64("entries", loss.Entries))
			l.o.OnLost(loss)
		}
	}
	if was := w.adrift; was != (err != nil) {
		w.adrift = err != nil
		l.mu.Lock()
		l.stats.Failing = w.failing || w.adrift
		l.mu.Unlock()
		if w.adrift {
			kept := "what passes is kept only if that file was renamed"
			if w.intact() != nil {
				kept = "what passes is not kept"
			}
			err = fmt.Errorf("the recording %s %s, no other can be begun, and %s: %w", l.path, why, kept, err)
			l.o.Logger.Error(err.Error())
		}
		if l.o.OnError != nil {
			l.o.OnError(err)
		}
	}
}

// astray is what became of the file, or "" if it is there. What cannot be found
// out is no loss. It is called between blocks. What somebody has put behind the
// end of the file is cut off.
func (w *writer) astray() string {
	d, ok := w.file.File.(disk)
	if !ok {
		return ""
	}
	own, err := d.Stat()
	if err != nil {
		return ""
	}
	w.file.Foreign = nil
	switch err := w.intact(); {
	case errors.Is(err, errShrunk):
		return fmt.Sprintf("was truncated to %d of %d bytes", own.Size(), w.file.End)
	case errors.Is(err, errForeign):
		w.file.Foreign = err
		return "was overwritten"
	}
	there, err := os.Stat(w.log.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "was removed or renamed"
	case err == nil && !os.SameFile(own, there):
		return "was replaced by another file"
	case own.Size() > w.file.End:
		w.file.CutExcess()
	}
	return ""
}

// intact says whether the file that is written is as long as it was, and begins
// as it did: errForeign, errShrunk, or why it cannot be looked at.
func (w *writer) intact() error {
	d, ok := w.file.File.(disk)
	if !ok {
		return fs.ErrNotExist
	}
	begins := make([]byte, len(w.file.Begins))
	n, err := d.ReadAt(begins, 0)
	switch {
	case n == len(begins) && !bytes.Equal(begins, w.file.Begins):
		return errForeign
	case err != nil && !errors.Is(err, io.EOF):
		return err
	}
	return d.reaches(w.file.End)
}

// leave begins another segment beside the lost file, under a name that nothing
// has. What is left of the old one, with so many entries, ends where it is.
func (w *writer) leave(why string) (path string, entries uint64, err error) {
	l, home := w.log, w.segment.store.(*family)
	f, err := home.fresh()
	if err != nil {
		return "", 0, err
	}
	s := w.following()
	b, cannot := w.begin(f, &s.header, w.recall)
	if cannot != nil {
		if err = f.Truncate(0); err == nil {
			b, err = w.begin(f, &s.header, nil)
		}
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return "", 0, err
	}
	// One that was renamed is whole; one that was truncated or overwritten
	// refuses to be written.
	_ = w.file.Finish(w.file.Last)
	entries = w.file.own.Entries
	w.goOn(b, s)
	home.move(f.Name(), s.header.Segment)
	l.mu.Lock()
	l.path = f.Name()
	l.parts[len(l.parts)-1] = b.facts(&s.header)
	l.stats.Losses++
	l.stats.Segment = s.header.Segment
	w.countLocked()
	if cannot != nil {
		l.addLocked(unrepeated(why, cannot), queue.EntryCost, false)
	}
	l.mu.Unlock()
	if cannot != nil {
		l.o.Logger.Warn("nothing of the lost file is repeated in the next one", zap.String("path", f.Name()), zap.Error(cannot))
	}
	l.committed.send()
	return f.Name(), entries, nil
}

// unrepeated says in a file that nothing of the one before is repeated in it.
func unrepeated(why string, err error) session.Entry {
	text := "the file before this one " + why + ", and nothing of it is repeated here"
	if errors.Is(err, errTooMuch) || errors.Is(err, context.DeadlineExceeded) {
		text += ": it is too large"
	}
	return session.Entry{Kind: session.KindNote, Side: session.Proxy, Note: &session.Note{
		Code: session.NoteUnrepeated, Text: text,
		Hint: "streams that were open before are not understood, and hardly judged, until they are opened anew",
	}}
}

// recall repeats in b what is needed of the file that is lost. Where that is not
// all there any more, nothing of it is repeated: an account of half a
// conversation would be a wrong one.
func (w *writer) recall(b *logFile) error {
	ctx, cancel := context.WithTimeout(context.Background(), recallFor)
	defer cancel()
	needed := w.log.o.Carry
	if needed == nil {
		if w.log.o.Recall == nil {
			return nil
		}
		var err error
		if needed, err = w.reread(ctx); err != nil {
			return err
		}
	}
	return w.carry(ctx, b, needed, w.own)
}

// reread lets Options.Recall read the lost file.
func (w *writer) reread(ctx context.Context) (needed func() []session.Seq, err error) {
	if w.file.End > maxRecall {
		return nil, errTooMuch
	}
	r, err := w.own()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	defer func() {
		if cause := recover(); cause != nil {
			err = blocks.Panicked(cause)
		}
	}()
	r.Pieces()
	step, needed := w.log.o.Recall()
	for {
		e, err := r.Next(ctx)
		switch {
		case err == nil:
			step(&e)
		case !errors.Is(err, io.EOF):
			return nil, err
		case r.last != w.file.Last:
			return nil, errShrunk
		default:
			return needed, nil
		}
	}
}

// own reads the file that is written by what the writer holds of it.
func (w *writer) own() (*Reader, error) {
	if err := w.intact(); err != nil {
		return nil, err
	}
	r := newFileReader(w.log.path, osFile(w.file.File.(disk)), io.NopCloser(nil))
	err := r.begin()
	w.log.tail.attach(r)
	return r, err
}

// fresh creates a file beside the first of the family: x-2.xdsp, or the next
// name that is free.
func (f *family) fresh() (disk, error) {
	ext := filepath.Ext(f.path)
	for n := 2; ; n++ {
		path := fmt.Sprintf("%s-%d%s", strings.TrimSuffix(f.path, ext), n, ext)
		f, err := createFile(path)
		if !errors.Is(err, fs.ErrExist) || n == 10_000 {
			return f, err
		}
	}
}

// What is said of a lost file: that a write would leave a hole, that it would go
// into the bytes of somebody else, that there is too much to read.
var (
	errShrunk  = errors.New("somebody else has truncated it")
	errForeign = errors.New("somebody else has overwritten it")
	errTooMuch = errors.New("it is too large to be read again")
)

// reaches is errShrunk if the file is not as long as that.
func (d disk) reaches(at int64) error {
	info, err := d.Stat()
	if err == nil && info.Size() < at {
		err = errShrunk
	}
	return err
}

// WriteAt writes what continues the file, or what is in it, and leaves no hole
// where somebody has truncated it.
func (d disk) WriteAt(p []byte, at int64) (int, error) {
	if err := d.reaches(at); err != nil {
		return 0, err
	}
	return d.File.WriteAt(p, at)
}

// Truncate shortens the file, and never fills up what somebody has cut off.
func (d disk) Truncate(size int64) error {
	if err := d.reaches(size); err != nil {
		return err
	}
	return d.File.Truncate(size)
}
