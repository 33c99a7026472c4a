//go:build unix

package wrap

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

func commandOf(t *testing.T, ctx context.Context, script string) *Command {
	c := (&Plan{argv: []string{"sh", "-c", script}, con: &console.Console{Ctx: ctx, Stdout: io.Discard, Stderr: io.Discard}}).Command()
	t.Cleanup(func() { signal.Stop(c.signals) })
	return c
}

// A signal that comes while the proxy is being put together is not lost: before, the
// command ran on for ever after it.
func TestSignalBeforeTheCommandStarts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := commandOf(t, ctx, ": >'"+file+"'")
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
	if err := c.Start(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want no start", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the command has run")
	}
}

// From the end of the command to that of the program, no signal may take the
// place of the command's exit code. A signal that is not caught ends the tests.
func TestSignalsStayCaughtToTheEnd(t *testing.T) {
	c := commandOf(t, t.Context(), "exit 5")
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

// A signal is the command's while that runs, and after its end the first one that ends programs does one thing, and the
// second another.
func TestSignalsArePassedOn(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	c := commandOf(t, t.Context(), "trap 'exit 7' TERM; : >'"+ready+"'; while :; do sleep 0.01; done")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(ready); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	done := make(chan string, 3)
	c.Afterwards(func() { done <- "first" }, func() { done <- "second" })
	c.signals <- syscall.SIGTERM
	if code := c.Wait(); code != 7 {
		t.Errorf("exit code %d", code)
	}
	for _, s := range []os.Signal{syscall.SIGHUP, os.Interrupt, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGTERM} {
		c.signals <- s
	}
	if a, b := <-done, <-done; a != "first" || b != "second" {
		t.Errorf("%s, then %s", a, b)
	}
	c.Stop()
	if len(done) > 0 {
		t.Errorf("then %s", <-done)
	}
}

// A command that leaves another behind, as a shell that starts an Envoy in the
// background, has ended all the same.
func TestCommandLeavesAnotherBehind(t *testing.T) {
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	con := &console.Console{Ctx: t.Context(), Stdout: console.Pipe{W: out}, Stderr: &console.Stderr{W: out}}
	c := (&Plan{argv: []string{"sh", "-c", "sleep 1000 & echo $!; echo said >&2; exit 5"}, con: con}).Command()
	t.Cleanup(func() { signal.Stop(c.signals) })
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	code := make(chan int)
	go func() { code <- c.Wait() }()
	select {
	case got := <-code:
		if got != 5 {
			t.Errorf("exit code %d", got)
		}
	case <-time.After(time.Minute):
		t.Error("its end is not seen while another that it started runs")
	}
	text, err := os.ReadFile(out.Name())
	left, said, _ := strings.Cut(string(text), "\n")
	if pid, wrong := strconv.Atoi(left); wrong != nil || said != "said\n" {
		t.Errorf("%q, %v, %v", text, err, wrong)
	} else if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	c.Stop()
}
