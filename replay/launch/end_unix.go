//go:build unix

package launch

import (
	"os"
	"os/exec"
	"syscall"
)

// setApart puts a command and all that it starts into a process group of their
// own, so that a script does not leave its Envoy behind. A signal of the terminal
// comes to us, who end it.
func setApart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func signal(p *os.Process, s syscall.Signal) error { return syscall.Kill(-p.Pid, s) }
