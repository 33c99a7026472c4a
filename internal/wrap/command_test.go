//go:build unix

package wrap

import (
	"io"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

// From the end of the command to that of the program, no signal may take the
// place of the command's exit code. A signal that is not caught ends the tests.
func TestSignalsStayCaughtToTheEnd(t *testing.T) {
	c := newCommand([]string{"sh", "-c", "exit 5"}, nil, &console.Console{Stdout: io.Discard, Stderr: io.Discard})
	t.Cleanup(func() { signal.Stop(c.signals) })
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if code := c.Wait(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	c.Stop()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if s != syscall.SIGTERM && signal.Ignored(s) {
			continue // as nohup has it, and a shell for what it runs in the background
		}
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		// It may come later than Kill returns, and would then end another test.
		select {
		case got := <-c.signals:
			if got != s {
				t.Errorf("%v came, and %v was sent", got, s)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%v has not come", s)
		}
	}
}
