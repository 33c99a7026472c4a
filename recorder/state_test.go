package recorder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDefaultPathAndLast(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	if _, err := Last(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before there is one: %v", err)
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.FixedZone("", 3600))
	path, err := DefaultPath(now)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(state, "xdsproxy", "recordings")
	if filepath.Dir(path) != dir || !strings.HasPrefix(filepath.Base(path), "20260304T040607.008Z-") ||
		filepath.Ext(path) != ".xdsp" {
		t.Errorf("path %s", path)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if info, err := os.Stat(d); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", d, info.Mode(), err)
		}
	}
	l, err := Create(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	elsewhere := create(t, Options{})
	for _, p := range []string{path, elsewhere.Path()} {
		if err := MarkLast(p); err != nil {
			t.Fatal(err)
		}
		if got, err := Last(); err != nil || got != p {
			t.Errorf("last is %s, %v", got, err)
		}
	}
	if err := os.Remove(elsewhere.Path()); err != nil {
		t.Fatal(err)
	}
	if _, err := Last(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the last is gone: %v", err)
	}
}

func TestStateDirWithoutXDG(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", "relative/does/not/count")
	path, err := DefaultPath(time.Now())
	if want := filepath.Join(home, ".local", "state", "xdsproxy", "recordings"); err != nil || filepath.Dir(path) != want {
		t.Errorf("path %s, %v", path, err)
	}
}
