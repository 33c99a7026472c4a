package recorder

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// A file system that is really full, where the machine lets us mount one;
// elsewhere the limit is our own.
func TestFullFileSystem(t *testing.T) {
	const size = 256 << 10
	dir := t.TempDir()
	filler := filepath.Join(dir, "filler")
	var (
		l          *Log
		fill, free func()
	)
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		if l, err = Create(filepath.Join(dir, "full.xdsp"), Options{NoTicks: true}); err != nil {
			t.Fatal(err)
		}
		fill = func() { _ = os.WriteFile(filler, make([]byte, size), 0o600) }
		free = func() { _ = os.Remove(filler) }
	} else {
		t.Logf("cannot mount a tmpfs (%v): limiting a file instead", err)
		f := newFlaky(t)
		l = startOn(t, f, Options{NoTicks: true})
		fill = func() { f.set(f.size(t), nil) }
		free = func() { f.set(plenty, nil) }
	}
	append100 := func() {
		for i := range 100 {
			noise := make([]byte, 100)
			for k := range noise {
				noise[k] = byte(rand.Uint32())
			}
			l.Append(message(session.StreamID(i+1), string(noise)))
		}
		until(t, "the queue is empty", func() bool { return l.Stats().Queued == 0 })
	}
	append100()
	fill()
	append100()
	if s := l.Stats(); !s.Failing || s.Lost == 0 {
		t.Errorf("while full: %+v", s)
	}
	lost := l.Stats().Lost
	free()
	append100()
	closeLog(t, l)
	all, facts := readAll(t, l.Path())
	explained(t, all)
	if !facts.Complete || facts.Lost != lost || facts.Messages+lost != 300 {
		t.Errorf("%d lost, %+v", lost, facts)
	}
}
