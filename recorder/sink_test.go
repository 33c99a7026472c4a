package recorder

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// flaky is a real file that can be made to block, to fail, and to be full.
type flaky struct {
	*os.File
	mu       sync.Mutex
	gate     sync.Mutex // held: writes wait
	room     int64      // bytes that fit; what does not is cut short
	truncate error      // what Truncate says
}

const plenty = 1 << 40

func newFlaky(t *testing.T) *flaky {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "flaky.xdsp"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := lock(f); err != nil {
		t.Fatal(err)
	}
	return &flaky{File: f, room: plenty}
}

func (f *flaky) WriteAt(p []byte, at int64) (int, error) {
	f.gate.Lock()
	defer f.gate.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	if fits := max(f.room-at, 0); int64(len(p)) > fits {
		n, _ := f.File.WriteAt(p[:fits], at)
		return n, fmt.Errorf("write %s: %w", f.Name(), syscall.ENOSPC)
	}
	return f.File.WriteAt(p, at)
}

func (f *flaky) Truncate(n int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.truncate != nil {
		return f.truncate
	}
	return f.File.Truncate(n)
}

// set changes how it behaves.
func (f *flaky) set(room int64, truncate error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.room, f.truncate = room, truncate
}

// size is the length of the file.
func (f *flaky) size(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
