//go:build !unix

package e2e

import (
	"os"
	"os/exec"
)

// alive says whether there is a process of this number.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		_ = p.Release()
	}
	return err == nil
}

// Here are no groups of processes: what the command has started lives on.
func ownGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func groupLives(*exec.Cmd) bool { return false }
