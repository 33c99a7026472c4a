//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package recorder

import (
	"fmt"
	"os"
	"syscall"
)

// CanFollow says whether this system tells that a recording is still being written,
// so that a Reader can wait at its end.
const CanFollow = true

// lock marks a file as being written, until it is closed or the process dies.
func lock(f *os.File) error {
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("cannot lock it: %w", err)
	}
	return nil
}

// writerGone reports whether no writer holds the file any more. f must be
// another open file than the writer's.
func writerGone(f *os.File) bool {
	if err := flock(f, syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return err != syscall.EWOULDBLOCK
	}
	_ = flock(f, syscall.LOCK_UN)
	return true
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}
