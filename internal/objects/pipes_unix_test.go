//go:build unix

package objects_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/objects"
)

// A named pipe is no object and has none of the metadata of one, and nobody waits for
// who writes to it.
func TestNamedPipes(t *testing.T) {
	dir := t.TempDir()
	pipe, meta := filepath.Join(dir, "f.xdsp"), filepath.Join(dir, ".meta", "g.xdsp.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(meta), 0o755), os.WriteFile(filepath.Join(dir, "g.xdsp"), []byte("abc"), 0o644)); err != nil {
		t.Fatal(err)
	}
	s, _, err := objects.Open("file://"+dir+"/", objects.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, ask := range map[string]func() error{
		pipe: func() error {
			if _, err := s.Open(t.Context(), "f.xdsp"); !errors.Is(err, fs.ErrNotExist) {
				return errors.Join(errors.New("it was opened"), err)
			}
			for o, err := range s.List(t.Context(), "f.xdsp/") {
				return errors.Join(fmt.Errorf("%q is in it", o.Key), err)
			}
			return nil
		},
		meta: func() error {
			c, err := s.Open(t.Context(), "g.xdsp")
			if err != nil {
				return err
			}
			if n := len(c.Object().Meta); n > 0 {
				err = errors.New("it has metadata")
			}
			_, wrong := s.Stat(t.Context(), "g.xdsp")
			return errors.Join(err, wrong, c.Close())
		},
	} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		done := make(chan error, 1)
		go func() { done <- ask() }()
		for waits := true; waits; {
			select {
			case err := <-done:
				if waits = false; err != nil {
					t.Errorf("%s: %v", path, err)
				}
			default:
				// This succeeds where somebody waits, and ends that.
				if f, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
					t.Errorf("%s is waited for", path)
					_ = f.Close()
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}
