//go:build unix

package e2e

import (
	"os/exec"
	"syscall"
)

// alive says whether there is a process of this number.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// ownGroup lets a command, and what it starts, be killed by killGroup.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// groupLives says whether anything of it is left.
func groupLives(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }
