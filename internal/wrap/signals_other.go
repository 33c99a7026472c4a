//go:build !unix

package wrap

import (
	"os"
	"syscall"
)

// passedSignals are those that a wrapped command is given.
func passedSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// sentByTerminal says whether a command in the same console got a signal itself.
func sentByTerminal(s os.Signal) bool { return s == os.Interrupt }
