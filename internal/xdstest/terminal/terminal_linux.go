// Package terminal makes terminals, for tests.
package terminal

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// Pair is a terminal of one's own, of 100 columns and 30 rows: the far end, and what a
// program sees of it. Closing the far end is hanging up. Without terminals the test is
// skipped.
func Pair(t testing.TB) (far, near *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { far.Close() })
	raw, err := far.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if cerr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
		if err == nil {
			err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: 30, Col: 100})
		}
	}); cerr != nil || err != nil {
		t.Fatal(cerr, err)
	}
	near, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	return far, near
}
