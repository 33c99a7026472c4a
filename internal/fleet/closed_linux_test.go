package fleet

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// What cannot be read of a directory is said, but what is only gone is not.
func TestDirectoryLeftOut(t *testing.T) {
	if os.Getuid() == 0 { // who may read everything
		runtime.LockOSThread() // and never unlocked: the thread ends with the test
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	named(t, filepath.Join(root, "a"), "x.xdsp")
	closed := filepath.Join(root, "b")
	if err := os.Mkdir(closed, 0); err != nil {
		t.Fatal(err)
	}
	var told []string
	found := all(t, root, Options{Tell: func(f string, a ...any) { told = append(told, fmt.Sprintf(f, a...)) }})
	if len(found) != 1 || len(told) != 1 || !strings.HasPrefix(told[0], "a directory is left out: ") {
		t.Errorf("%d recordings, told %q", len(found), told)
	}
	if err := refused(t.Context(), t, closed); !strings.HasPrefix(err.Error(), "cannot read the directory: ") {
		t.Errorf("%v", err)
	}
}
