package main

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a group of its own. It is killed when this program is.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
