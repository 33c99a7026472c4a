package objects

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// directory is a store in a directory, out of which no link leads. What begins with
// a dot is not an object: metadata is beside them, in .meta, and an upload under way
// is there, too.
//
// An upload is a link to a file that is whole, which the file system refuses where
// the name is taken: nothing is overwritten, whoever else writes. Where it knows no
// links the name is asked for first. A file that changes its size or its time while
// it is read is told; one that only grows is read as long as it was.
type directory struct {
	root *os.Root
	path string
}

const metaDir = ".meta"

// openDir opens the directory that path is or is in.
func openDir(name string, o Options) (*directory, string, error) {
	clean, key := filepath.Clean(name), ""
	info, err := os.Stat(clean)
	if errors.Is(err, fs.ErrNotExist) && o.Create {
		if err = os.MkdirAll(clean, 0o755); err == nil {
			info, err = os.Stat(clean)
		}
	}
	if err == nil && !info.IsDir() || errors.Is(err, fs.ErrNotExist) && !strings.HasSuffix(name, "/") {
		clean, key = filepath.Dir(clean), filepath.Base(clean)
	} else if err != nil {
		return nil, "", dirError("open", name, err)
	}
	root, err := os.OpenRoot(clean)
	if err != nil {
		return nil, "", dirError("open", clean, err)
	}
	s := &directory{root: root, path: clean}
	if o.Create {
		s.tidy()
	}
	return s, key, nil
}

// dirError is an error of the file system in one sentence.
func dirError(did, name string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	cause := err
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		cause = p.Err
	case errors.As(err, &l):
		cause = l.Err
	}
	// A disk that is full, or a share that is away, may be there again later.
	again := !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission)
	return &Error{What: fmt.Sprintf("cannot %s %s: %s", did, printable(name), printable(cause.Error())), Err: err, Again: again}
}

func (s *directory) URL(key string) string {
	return schemeFile + strings.ReplaceAll(filepath.ToSlash(filepath.Join(s.path, key)), "%", "%25")
}

func (s *directory) List(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		dir := ""
		if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
			dir = prefix[:i]
		}
		if dir != "" && !plain(dir) {
			return
		}
		// Below what is no directory there is nothing; to list a named pipe would be to
		// wait for who writes to it.
		if info, err := s.root.Stat(cmp.Or(dir, ".")); err == nil && !info.IsDir() {
			return
		}
		s.walk(ctx, dir, prefix, yield)
	}
}

// walk gives what is below dir, by the bytes of whole keys: "a.b" is before "a/b".
func (s *directory) walk(ctx context.Context, dir, prefix string, yield func(Object, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield(Object{}, err)
		return false
	}
	entries, err := fs.ReadDir(s.root.FS(), cmp.Or(dir, "."))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		yield(Object{}, dirError("list", s.URL(dir), err))
		return false
	}
	name := func(e fs.DirEntry) string {
		if e.IsDir() {
			return e.Name() + "/"
		}
		return e.Name()
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(name(a), name(b)) })
	for _, e := range entries {
		key := path.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if e.IsDir() {
			if key += "/"; !strings.HasPrefix(key, prefix) && !strings.HasPrefix(prefix, key) {
				continue
			}
			if !plain(strings.TrimSuffix(key, "/")) {
				if !yield(Object{}, &KeyError{Key: key}) {
					return false
				}
				continue
			}
			if !s.walk(ctx, strings.TrimSuffix(key, "/"), prefix, yield) {
				return false
			}
			continue
		}
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		if !plain(key) {
			if !yield(Object{}, &KeyError{Key: key}) {
				return false
			}
			continue
		}
		info, err := s.root.Stat(key)
		if err != nil || !info.Mode().IsRegular() {
			continue // gone meanwhile, or it leads out of the directory
		}
		if !yield(objectOf(key, info), nil) {
			return false
		}
	}
	return true
}

func objectOf(key string, info fs.FileInfo) Object {
	return Object{Key: key, Size: info.Size(), Modified: info.ModTime().UTC(), ETag: fmt.Sprintf("%x-%x", info.Size(), info.ModTime().UnixNano())}
}

// checkFile refuses keys that cannot be files here.
func checkFile(key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	for part := range strings.SplitSeq(key, "/") {
		if strings.HasPrefix(part, ".") || len(part) > 255 {
			return &Error{What: fmt.Sprintf("%q cannot be a file of a store: no part of it may begin with a dot or be longer than 255 bytes", printable(key))}
		}
	}
	return nil
}

func (s *directory) Stat(ctx context.Context, key string) (Object, error) {
	if err := errors.Join(ctx.Err(), checkFile(key)); err != nil {
		return Object{}, err
	}
	info, err := s.root.Stat(key)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Object{}, dirError("look at", s.URL(key), err)
	}
	o := objectOf(key, info)
	o.Meta = s.meta(key)
	return o, nil
}

// meta is what was stored beside an object; nothing if that cannot be read.
func (s *directory) meta(key string) map[string]string {
	f, _, err := s.open(metaDir + "/" + key + ".json")
	if err != nil {
		return map[string]string{}
	}
	defer f.Close()
	var meta map[string]string
	if err := json.NewDecoder(io.LimitReader(f, 2*maxMeta)).Decode(&meta); err != nil {
		return map[string]string{}
	}
	return metaOf(meta)
}

// open opens a regular file; there are no others here. What it is is asked first:
// to open a named pipe is to wait for who writes to it.
func (s *directory) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := s.root.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := s.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() { // it took the place of one
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// file is an object of a directory that is being read.
type file struct {
	ctx  context.Context
	f    *os.File
	url  string
	obj  Object
	read atomic.Int64
}

func (s *directory) Open(ctx context.Context, key string) (Content, error) {
	if err := errors.Join(ctx.Err(), checkFile(key)); err != nil {
		return nil, err
	}
	f, info, err := s.open(key)
	if err != nil {
		return nil, dirError("open", s.URL(key), err)
	}
	o := objectOf(key, info)
	o.Meta = s.meta(key)
	return &file{ctx: ctx, f: f, url: s.URL(key), obj: o}, nil
}

func (f *file) Object() Object { return f.obj }
func (f *file) Read() int64    { return f.read.Load() }
func (f *file) Close() error   { return f.f.Close() }

func (f *file) ReadAt(b []byte, off int64) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, errors.New("a read before the beginning")
	}
	if off >= f.obj.Size {
		return 0, io.EOF
	}
	var end error
	if int64(len(b)) > f.obj.Size-off {
		b, end = b[:f.obj.Size-off], io.EOF
	}
	n, err := f.f.ReadAt(b, off)
	f.read.Add(int64(n))
	info, statErr := f.f.Stat()
	grown := statErr == nil && info.Size() > f.obj.Size
	if statErr == nil && !grown && (info.Size() < f.obj.Size || !info.ModTime().Equal(f.obj.Modified)) {
		return 0, &Error{What: fmt.Sprintf("%s was changed while it was read", f.url), Hint: "read it again", Err: ErrChanged}
	}
	if err != nil && n < len(b) {
		return n, dirError("read", f.url, err)
	}
	return n, end
}
