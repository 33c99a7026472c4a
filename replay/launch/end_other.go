//go:build !unix

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

func setApart(*exec.Cmd) {}

// signal ends the process: there is no gentler way.
func signal(p *os.Process, _ syscall.Signal) error { return p.Kill() }
