package main

import (
	"os"
	"syscall"
)

// peak is the most memory that a process had, in MiB; 0 if the system does not say.
func peak(p *os.ProcessState) float64 {
	if u, ok := p.SysUsage().(*syscall.Rusage); ok {
		return float64(u.Maxrss) / 1024
	}
	return 0
}
