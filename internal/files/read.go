package files

import (
	"errors"
	"fmt"
	"io"
	"os"
)

var (
	errLarge  = errors.New("too large")
	errNoFile = errors.New("not a regular file")
)

// read reads a file. steady says that nobody wrote to it meanwhile.
func read(path string) (data []byte, steady bool, err error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, true, cause(err)
	case !info.Mode().IsRegular(): // to open a pipe would wait for its other end
		return nil, true, errNoFile
	case info.Size() > MaxSize:
		return nil, true, errLarge
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, true, cause(err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil || !before.Mode().IsRegular() {
		return nil, true, errNoFile
	}
	if data, err = io.ReadAll(io.LimitReader(f, MaxSize+1)); err != nil {
		return nil, true, cause(err)
	}
	if len(data) > MaxSize {
		return nil, true, errLarge
	}
	if data == nil {
		data = []byte{}
	}
	after, err := f.Stat()
	return data, err == nil && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()), nil
}

// unread says that a file is not in the recording.
func (w *Watcher) unread(f *watched, err error) {
	why := err.Error()
	if errors.Is(err, errLarge) {
		why = fmt.Sprintf("it is larger than %d MiB", MaxSize>>20)
	}
	w.tell("unread\x00"+f.path+"\x00"+why, &News{Wrong: true, Text: fmt.Sprintf("%s is not read: %s; what Envoy makes of it is not known", f.path, why)})
}
