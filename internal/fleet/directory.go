package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/xdsproxy/xdsproxy/recorder"
)

// directory is a local one. Links are followed, and what was entered by one way is
// not entered by another: a loop does not matter.
type directory struct{ root string }

// maxDepth bounds how deep directories lie in each other.
const maxDepth = 64

func (d directory) source(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

func (d directory) open(_ context.Context, key string) (recorder.Bytes, error) {
	return openFile(d.source(key))
}

func (d directory) list(ctx context.Context, tell func(string, ...any)) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		w := &walk{ctx: ctx, d: d, tell: tell, yield: yield, entered: make(map[string]bool)}
		if err := w.dir("", 0); err != nil && !errors.Is(err, errStop) {
			yield(object{}, err)
		}
	}
}

var errStop = errors.New("nobody wants more")

type walk struct {
	ctx     context.Context
	d       directory
	tell    func(string, ...any)
	yield   func(object, error) bool
	entered map[string]bool // by the path without links
}

func (w *walk) dir(key string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	where := w.d.source(key)
	real, err := realPath(where)
	var entries []os.DirEntry
	if err == nil && !w.entered[real] {
		w.entered[real] = true
		entries, err = os.ReadDir(where)
	}
	switch {
	case err == nil:
	case depth == 0:
		return fmt.Errorf("cannot read the directory: %w", err)
	default: // others can be read
		if !errors.Is(err, fs.ErrNotExist) && w.tell != nil {
			w.tell("a directory is left out: %v", err)
		}
		return nil
	}
	for _, e := range entries {
		if err := w.entry(key, e.Name(), depth); err != nil {
			return err
		}
	}
	return nil
}

// realPath is the path from the root without links: of a relative one a link that
// leads back as an absolute one would be another.
func realPath(where string) (string, error) {
	where, err := filepath.Abs(where)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(where)
}

func (w *walk) entry(key, base string, depth int) error {
	if strings.HasPrefix(base, ".") {
		return nil
	}
	if key != "" {
		key += "/"
	}
	key += base
	info, err := os.Stat(w.d.source(key))
	switch {
	case err != nil: // it is gone, or a link that leads nowhere
		return nil
	case info.IsDir() && depth < maxDepth:
		return w.dir(key, depth+1)
	case !info.Mode().IsRegular():
		return nil
	}
	if !w.yield(object{key: key, path: key, above: filepath.ToSlash(w.d.root), size: info.Size(), modified: info.ModTime()}, nil) {
		return errStop
	}
	return nil
}

// localFile is the bytes of a file as it was when it was opened, which is open
// while it is read and closed by Park.
type localFile struct {
	path string
	info os.FileInfo
	held bool // by a writer, before that was its size
	mu   sync.Mutex
	f    *os.File
}

func openFile(path string) (*localFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the recording: %w", err)
	}
	held := recorder.Held(f)
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("cannot open the recording: %w", err)
	}
	return &localFile{path: path, info: info, held: held, f: f}, nil
}

func (l *localFile) Held() bool { return l.held }

func (l *localFile) Size() int64 { return l.info.Size() }

func (l *localFile) ReadAt(p []byte, at int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		again, err := openFile(l.path)
		if err != nil {
			return 0, err
		}
		if !os.SameFile(l.info, again.info) || again.info.Size() < l.info.Size() {
			_ = again.f.Close()
			return 0, fmt.Errorf("cannot read the recording: %s was replaced or truncated while it was read", l.path)
		}
		l.f = again.f
	}
	return l.f.ReadAt(p, at)
}

func (l *localFile) Park() { _ = l.Close() }

func (l *localFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	err := l.f.Close()
	l.f = nil
	return err
}
