package main

import (
	"os"
	"os/exec"
)

func endings() []os.Signal { return []os.Signal{os.Interrupt} }

func number(os.Signal) int          { return 2 }
func killedBy(*os.ProcessState) int { return 9 }
func apart(*exec.Cmd)               {}
func end(p *os.Process, hard bool)  { _ = p.Kill() }
