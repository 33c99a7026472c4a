package recorder

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
)

// lookEvery is how often the writer looks whether its file is still there.
const lookEvery = 500 * time.Millisecond

// Loss says that somebody else took the file of a recording away while it was
// written.
type Loss struct {
	Path string    // of the file
	Why  string    // what became of it: "was removed or renamed"
	At   time.Time // when that was noticed
	Next string    // the file in which the recording goes on
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
	if why != "" {
		loss := Loss{Path: l.path, Why: why, At: l.now()}
		if loss.Next, err = w.leave(); err == nil {
			l.o.Logger.Error("the file of the recording is lost; recording goes on in another",
				zap.String("path", loss.Path), zap.String("why", loss.Why), zap.String("next", loss.Next))
			l.o.OnLost(loss)
		}
	}
	if was := w.adrift; was != (err != nil) {
		w.adrift = err != nil
		l.mu.Lock()
		l.stats.Failing = w.failing || w.adrift
		l.mu.Unlock()
		if w.adrift {
			err = fmt.Errorf("the recording %s %s, and what passes is not kept: %w", l.path, why, err)
			l.o.Logger.Error(err.Error())
		}
		if l.o.OnError != nil {
			l.o.OnError(err)
		}
	}
}

// astray is what became of the file, or "" if it is there. What cannot be found
// out is no loss.
func (w *writer) astray() string {
	d, ok := w.file.f.(disk)
	if !ok {
		return ""
	}
	own, err := d.Stat()
	if err != nil {
		return ""
	}
	if own.Size() < w.file.end {
		return fmt.Sprintf("was truncated to %d of %d bytes", own.Size(), w.file.end)
	}
	there, err := os.Stat(w.log.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "was removed or renamed"
	case err == nil && !os.SameFile(own, there):
		return "was replaced by another file"
	}
	return ""
}

// leave begins another segment beside the lost file, under a name that nothing
// has. What is left of the old one ends where it is.
func (w *writer) leave() (path string, err error) {
	l, old := w.log, w.segment
	home := old.shelf.(*family)
	f, err := home.fresh()
	if err != nil {
		return "", err
	}
	s := &segment{shelf: home, header: old.header, begun: l.o.Now(), before: old.before}
	s.header.segment++
	s.header.created = l.now()
	s.header.first = max(w.file.last+1, old.header.first)
	b, err := w.begin(f, &s.header, true)
	if err != nil { // the old one cannot be read any more
		b, err = w.begin(f, &s.header, false)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(f.Name())
		return "", err
	}
	// One that was renamed is whole; a truncated one refuses to be written.
	_ = w.file.finish(w.file.last)
	w.file.tail.finish()
	s.carried = b.entries
	b.hook = w.file.hook
	w.sync.swap(f, w.file.f)
	home.move(f.Name(), s.header.segment)
	w.file, w.segment = b, s
	l.mu.Lock()
	l.path = f.Name()
	l.parts[len(l.parts)-1] = partFacts{header: s.header, own: b.own, all: b.all}
	l.stats.Losses++
	w.countLocked()
	l.mu.Unlock()
	l.bell.ring()
	return f.Name(), nil
}

// begin writes the beginning of a segment to f.
func (w *writer) begin(f disk, h *fileHeader, carry bool) (*blockFile, error) {
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	b, err := newBlockFile(f, h, nil)
	if err != nil {
		return nil, err
	}
	b.tail = w.log.tail.begin(h, b.end)
	if carry {
		if err := w.carry(b, w.own); err != nil {
			w.log.tail.drop(b.tail)
			return nil, err
		}
	}
	return b, nil
}

// own reads the file that is written by what the writer holds of it.
func (w *writer) own() (*Reader, error) {
	d, ok := w.file.f.(disk)
	if !ok {
		return nil, fs.ErrNotExist
	}
	r := newFileReader(w.log.path, osFile(d), io.NopCloser(nil))
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
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrExist) && n < 10_000 {
			continue
		}
		if err != nil {
			return disk{}, err
		}
		if err := lock(file); err != nil {
			_ = file.Close()
			_ = os.Remove(path)
			return disk{}, err
		}
		return disk{file}, nil
	}
}

// errShrunk says that a write would leave a hole.
var errShrunk = errors.New("somebody else has truncated it")

// WriteAt writes what continues the file, or what is in it, and leaves no hole
// where somebody has truncated it.
func (d disk) WriteAt(p []byte, at int64) (int, error) {
	info, err := d.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() < at {
		return 0, errShrunk
	}
	return d.File.WriteAt(p, at)
}

// Truncate shortens the file, and never fills up what somebody has cut off.
func (d disk) Truncate(size int64) error {
	info, err := d.Stat()
	if err != nil {
		return err
	}
	if info.Size() < size {
		return errShrunk
	}
	return d.File.Truncate(size)
}
