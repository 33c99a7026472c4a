//go:build unix

package main

import (
	"os"
	"syscall"
)

// endings are the signals that end a command.
func endings() []os.Signal { return []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} }

func number(s os.Signal) int {
	n, _ := s.(syscall.Signal)
	return int(n)
}

func killedBy(state *os.ProcessState) int {
	w, _ := state.Sys().(syscall.WaitStatus)
	return int(w.Signal())
}

// end ends a process that apart has started, and those that it has started.
func end(p *os.Process, hard bool) {
	s := syscall.SIGTERM
	if hard {
		s = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, s)
}
