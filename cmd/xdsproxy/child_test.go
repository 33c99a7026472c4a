//go:build unix

package main

import (
	"io"
	"os/signal"
	"syscall"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/settings"
)

// From the end of the command to that of the program, no signal may take the
// place of the command's exit code. A signal that is not caught ends the tests.
func TestSignalsStayCaughtToTheEnd(t *testing.T) {
	c := newChild([]string{"sh", "-c", "exit 5"}, nil, &cli{stdout: io.Discard, stderr: io.Discard, config: settings.New()})
	t.Cleanup(func() { signal.Stop(c.signals) })
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	c.stop()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Error(err)
		}
	}
}
