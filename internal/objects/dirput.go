package objects

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// uploadPrefix is what a file under way is called, in metaDir.
const uploadPrefix = ".upload-"

// tidy removes what uploads that were killed have left: nothing is written to it any
// more for a day.
func (s *directory) tidy() {
	entries, err := fs.ReadDir(s.root.FS(), metaDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), uploadPrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > 24*time.Hour {
			_ = s.root.Remove(path.Join(metaDir, e.Name()))
		}
	}
}

// Put writes a file that nobody sees, brings it to the disk, and then gives it its
// name.
func (s *directory) Put(ctx context.Context, key string, body io.ReaderAt, size int64, meta map[string]string) error {
	if err := checkFile(key); err != nil {
		return err
	}
	if err := checkMeta(meta); err != nil {
		return err
	}
	if err := s.put(ctx, key, body, size, meta); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return &Error{What: fmt.Sprintf("there is a file %s already, and none is overwritten", s.URL(key)), Err: fs.ErrExist}
		}
		return dirError("write", s.URL(key), err)
	}
	return nil
}

func (s *directory) put(ctx context.Context, key string, body io.ReaderAt, size int64, meta map[string]string) error {
	if _, err := s.root.Lstat(key); err == nil {
		return fs.ErrExist
	}
	for _, dir := range []string{path.Dir(key), path.Join(metaDir, path.Dir(key))} {
		if err := s.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	temp := path.Join(metaDir, uploadPrefix+rand.Text())
	defer func() { _ = s.root.Remove(temp) }()
	if err := s.write(ctx, temp, io.NewSectionReader(body, 0, size), size); err != nil {
		return err
	}
	if err := s.name(temp, key); err != nil {
		return err
	}
	s.syncDir(path.Dir(key))
	// A crash right here loses the metadata, and nothing that is in the object.
	text, err := json.Marshal(meta)
	if err != nil || len(meta) == 0 {
		return err
	}
	return s.root.WriteFile(path.Join(metaDir, key+".json"), append(text, '\n'), 0o644)
}

// write makes a file of size bytes that is on the disk.
func (s *directory) write(ctx context.Context, name string, from io.Reader, size int64) error {
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	// In pieces, so that a share that is away does not outlast ctx for long.
	n, err := io.Copy(onlyWriter{f}, readerFunc(func(b []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return from.Read(b)
	}))
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// onlyWriter keeps io.Copy from reading the rest in one call.
type onlyWriter struct{ io.Writer }

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// name gives a file its name, unless that is taken.
func (s *directory) name(temp, key string) error {
	err := s.root.Link(temp, key)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without links.
	if _, err := s.root.Lstat(key); err == nil {
		return fs.ErrExist
	}
	return s.root.Rename(temp, key)
}

// syncDir brings the name of a file to the disk, where that can be asked for.
func (s *directory) syncDir(dir string) {
	if d, err := s.root.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}
