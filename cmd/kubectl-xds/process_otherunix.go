//go:build unix && !linux

package main

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a group of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
