package columns

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/check"
)

// A disk that is really full, at whatever moment, is said once, and what is there is
// whole. With room again everything comes.
func TestNoRoom(t *testing.T) {
	if slow {
		t.Skip("the race detector finds nothing in it")
	}
	path := filepath.Join(t.TempDir(), "gw.xdsp")
	record(t, path, days(3, 60, 97*time.Minute), 0)
	once := t.TempDir()
	d := openDir(t, once, Options{PartBytes: 20_000})
	exportFile(t, d, path, 0)
	closeDir(t, d)
	want := everything(t, once)
	failed := 0
	for room := 16 << 10; room <= 1<<20; room *= 2 {
		disk := t.TempDir()
		if err := syscall.Mount("none", disk, "tmpfs", 0, "size=4m"); err != nil {
			t.Skipf("cannot mount a tmpfs (%v): TestFullDisk is about other failures", err)
		}
		unmounted := func() {
			if err := syscall.Unmount(disk, 0); err != nil {
				t.Error(err)
			}
		}
		filler := filepath.Join(disk, "filler")
		if err := os.WriteFile(filler, make([]byte, 4<<20-room), 0o600); err != nil {
			t.Fatal(err)
		}
		root := filepath.Join(disk, "tables")
		d, err := Open(root, Options{PartBytes: 20_000})
		if err == nil {
			_, err = d.Export(recordingOf(path), check.NewChecker(check.Options{}), walkFile(path, 0))
			if closed := d.Close(); err == nil {
				err = closed
			}
		}
		if err != nil {
			failed++
			if _, is := errors.AsType[*WriteError](err); !is || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("with %d bytes of room: %v", room, err)
			}
		}
		files, _ := filepath.Glob(filepath.Join(root, "*", "*", "*", "*"+ending))
		for _, f := range files {
			if _, is := metaOf(f, keySchema); !is {
				t.Errorf("with %d bytes of room: %s is no whole file", room, f)
			}
		}
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		d = openDir(t, root, Options{PartBytes: 20_000})
		exportFile(t, d, path, 0)
		closeDir(t, d)
		same(t, "with room again", everything(t, root), want)
		unmounted()
	}
	if failed == 0 {
		t.Error("there was always room")
	}
	t.Logf("%d times there was no room", failed)
}
