//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package columns

import (
	"os"
	"syscall"
)

// lock keeps others from writing the directory, until f is closed or the process
// dies. It is false if somebody does.
func lock(f *os.File) bool {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err != syscall.EWOULDBLOCK // where there are no locks, there are none
		}
	}
}
