package dump

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/trigger"
	"github.com/xdsproxy/xdsproxy/session"
)

// A file system that is really full: there is no dump and nothing is left of it,
// and the next one is written when there is room again.
func TestFullFileSystem(t *testing.T) {
	dir := t.TempDir()
	const size = 256 << 10
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=262144"); err != nil {
		t.Skipf("cannot mount a tmpfs: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	for name, report := range map[string]bool{"recording": false, "report": true} {
		t.Run(name, func(t *testing.T) {
			filler := filepath.Join(dir, "filler")
			k, all := keeperOf(t, Options{Log: ringOf(t, 10), Dir: dir, Before: time.Hour, Report: report})
			_ = os.WriteFile(filler, make([]byte, 2*size), 0o600) // as much as there is room for
			add := func() {
				if !k.Add(trigger.Moment{What: "x", Seq: 8, Seqs: []session.Seq{8}, At: time.Unix(1e9+60*7, 0)}) {
					t.Error("it is not tried")
				}
			}
			add()
			for range 10_000 {
				if k.Stats().Failed == 1 {
					break
				}
				time.Sleep(time.Millisecond)
			}
			if left := there(t, dir); len(left) != 1 {
				t.Errorf("there is %q", left)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			add()
			k.Close(t.Context(), time.Hour)
			if k.Stats() != (Stats{Written: 1, Failed: 1}) || len(*all) != 2 || (*all)[0].err == nil || (*all)[1].err != nil {
				t.Fatalf("%+v, %+v", *all, k.Stats())
			}
			if left := there(t, dir); len(left) != 1 || left[0] != filepath.Base((*all)[1].path) {
				t.Errorf("there is %q", left)
			}
			if err := os.Remove((*all)[1].path); err != nil {
				t.Fatal(err)
			}
		})
	}
}
