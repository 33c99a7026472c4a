//go:build unix

package app

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// Where the second signal has not ended the program, the third one does. It is tried on a
// process of its own.
func TestThirdSignal(t *testing.T) {
	const child = "XDSPROXY_TEST_SIGNALS"
	if os.Getenv(child) != "" {
		first := make(chan struct{})
		again, done := SecondSignal(func() { close(first) })
		defer done()
		for _, heard := range []<-chan struct{}{first, again.Done(), nil} {
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			select {
			case <-heard:
			case <-time.After(time.Minute):
				t.Fatal("nothing has come of a signal")
			}
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestThirdSignal$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	exit, is := errors.AsType[*exec.ExitError](err)
	if !is || !exit.Sys().(syscall.WaitStatus).Signaled() || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("%v\n%s", err, out)
	}
}
