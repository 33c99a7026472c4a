package notes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// PathOf is where the notes on a recording are.
func PathOf(recording string) string { return recording + ".notes" }

// Read reads the notes on a recording that began at a time, which is zero of what
// has no header. There are none if there is no file. An error says what the file
// is that is there, and why it is left alone.
func Read(recording string, began time.Time) (*Notes, error) {
	n, err := read(PathOf(recording))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return New(began), nil
	case err != nil:
		return New(began), fmt.Errorf("%s is left alone: %w", filepath.Base(PathOf(recording)), err)
	case !n.Began.Equal(began):
		return New(began), fmt.Errorf("%s is left alone: it belongs to another recording, which began at %s",
			filepath.Base(PathOf(recording)), when(n.Began))
	}
	return n, nil
}

func when(t time.Time) string {
	if t.IsZero() {
		return "no time that it says"
	}
	return t.UTC().Format(time.RFC3339)
}

func read(path string) (*Notes, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // it might never end, or be somebody else's
		return nil, errors.New("it is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, plain(err)
	}
	return parse(string(text))
}

// plain is an error of a file without its name, which is said before.
func plain(err error) error {
	if p, is := errors.AsType[*fs.PathError](err); is {
		return p.Err
	}
	if l, is := errors.AsType[*os.LinkError](err); is {
		return l.Err
	}
	return err
}

// File is the notes on a recording that somebody looks at, who may change them.
// It may be used by several goroutines.
type File struct {
	recording string
	began     time.Time

	mu      sync.Mutex
	changed map[session.Seq]Note // that the file does not have yet
	saving  sync.Mutex           // held while it is written
}

// NewFile is the file for the notes on a recording, which need not be there.
func NewFile(recording string, began time.Time) *File {
	return &File{recording: recording, began: began, changed: make(map[session.Seq]Note)}
}

// Read reads what is there.
func (f *File) Read() (*Notes, error) { return Read(f.recording, f.began) }

// Set says what stands beside an entry from now on; Save writes it.
func (f *File) Set(seq session.Seq, n Note) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n.Text = Clean(n.Text)
	f.changed[seq] = n
}

// Unsaved is on how many entries there is something that the file does not have.
func (f *File) Unsaved() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.changed)
}

func (f *File) unsaved() map[session.Seq]Note {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.changed)
}

// Save writes what the file does not have, in one step: who reads meanwhile finds
// all of it or what was there before. What others wrote into it stays.
func (f *File) Save() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	changed := f.unsaved()
	if len(changed) == 0 {
		return nil
	}
	n, err := f.Read()
	if err != nil {
		return err
	}
	maps.Copy(n.Entries, changed)
	if err := n.write(PathOf(f.recording)); err != nil {
		return fmt.Errorf("%s cannot be written: %w", filepath.Base(PathOf(f.recording)), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.changed, func(seq session.Seq, n Note) bool { return changed[seq] == n })
	return nil
}

// Write makes a new file of notes beside a recording, unless there are none. One
// that is there already stays, and is an error.
func Write(recording string, n *Notes) error {
	if len(n.Entries) == 0 {
		return nil
	}
	path := PathOf(recording)
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is there already", filepath.Base(path))
	}
	return n.write(path)
}

// write puts a file into place in one step. It is for its owner alone, as
// recordings are.
func (n *Notes) write(path string) error {
	if len(n.Entries) > MaxEntries {
		return fmt.Errorf("there are notes on more than %d entries", MaxEntries)
	}
	text := n.format()
	if len(text) > maxFile {
		return fmt.Errorf("there would be more than %d MiB of notes", maxFile>>20)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return plain(err)
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return plain(err)
	}
	return nil
}
