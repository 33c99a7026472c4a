//go:build unix

package wrap

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedSignals are those that a wrapped command is given.
func passedSignals() []os.Signal {
	return []os.Signal{
		syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	}
}

// sentByTerminal says whether a signal came to everybody in the foreground of
// the terminal, and so to a command in the same process group: a second one
// would mean more than the first. Who sent it is not known, so it is assumed
// where a terminal could have.
func sentByTerminal(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGWINCH:
	default:
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
