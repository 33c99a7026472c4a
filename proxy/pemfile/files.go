// Package pemfile reads certificates, keys and roots from PEM files, and again
// when the files change: certificates in a mesh are replaced every day.
//
// Nothing runs in the background. Whoever is about to use what the files hold
// asks for it, which costs a stat each. What cannot be read or does not fit
// together, such as a new certificate beside a key that is still to be written,
// leaves what was read before in force. The package looks at no name and no
// date: whether a certificate will do is the business of those who verify it.
package pemfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// maxFile is the largest file that is read, in bytes. Bundles of the roots of a
// whole system have some 300 KiB.
const maxFile = 16 << 20

// settled is the age from which on the time of a file's last change tells it
// from every later one. Younger files are read each time, because two changes
// can have the same time.
const settled = 2 * time.Second

// Error says what is wrong with a file.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%q: %v", e.Path, Cause(e.Err)) }
func (e *Error) Unwrap() error { return e.Err }

// Cause is what the operating system said, without the layers around it.
func Cause(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}

// Files is a value that is made of the contents of some files.
type Files[T any] struct {
	paths []string
	parse func(contents [][]byte) (T, error)
	warn  func(error)

	mu    sync.Mutex
	value T
	// seen and contents are of the last attempt to read, good or bad.
	seen     []fs.FileInfo
	contents [][]byte
	settled  bool
	missed   bool // the last attempt did not get as far as to parse
	// complaint is the last thing that was warned of, "" if all is well.
	complaint string
}

// Open reads the files for the first time. From then on, warn is told once
// about each change that is no good; it may be called by several goroutines.
func Open[T any](parse func(contents [][]byte) (T, error), warn func(error), paths ...string) (*Files[T], error) {
	f := &Files[T]{paths: paths, parse: parse, warn: warn}
	return f, f.refresh(time.Now())
}

// Get returns the value that the files hold now, or the last one that was any
// good.
func (f *Files[T]) Get() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.refresh(time.Now())
	switch {
	case err == nil:
		f.complaint = ""
	case err == errSame:
	case err.Error() != f.complaint:
		f.complaint = err.Error()
		f.warn(err)
	}
	return f.value
}

// errSame says that what is there was tried before.
var errSame = errors.New("as it was")

// refresh reads the files if they may have changed.
func (f *Files[T]) refresh(now time.Time) error {
	infos := make([]fs.FileInfo, len(f.paths))
	for i, path := range f.paths {
		var err error
		if infos[i], err = os.Stat(path); err != nil {
			return f.miss(path, err)
		}
	}
	if f.settled && sameFiles(f.seen, infos) {
		return errSame
	}
	contents := make([][]byte, len(f.paths))
	young := false
	for i, path := range f.paths {
		var err error
		if contents[i], err = read(path); err != nil {
			return f.miss(path, err)
		}
		young = young || now.Sub(infos[i].ModTime()) < settled
	}
	f.settled, f.seen = !young, infos
	if sameContents(f.contents, contents) && !f.missed {
		return errSame
	}
	f.missed = false
	f.contents, f.complaint = contents, ""
	value, err := f.parse(contents)
	if err == nil {
		f.value = value
	}
	return err
}

// miss notes that a file could not be read at all.
func (f *Files[T]) miss(path string, err error) error {
	f.seen, f.missed = nil, true
	return &Error{path, err}
}

func sameFiles(a, b []fs.FileInfo) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !os.SameFile(a[i], b[i]) || a[i].Size() != b[i].Size() || !a[i].ModTime().Equal(b[i].ModTime()) {
			return false
		}
	}
	return true
}

func sameContents(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// read refuses what is no file, because a pipe would be waited for, and would
// be empty the second time.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	return b, err
}
