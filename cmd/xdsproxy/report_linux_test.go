package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/terminal"
)

// Who is asked may answer, or go: Ctrl-C at the question ends the program, and
// leaves nothing.
func TestReportAsks(t *testing.T) {
	demo := demoRecording(t)
	for _, c := range []struct {
		typed   string
		code    int
		written bool
	}{{"\x03", console.ExitInterrupted, false}, {"n\n", 0, false}, {"\n", 0, false}, {"\x04", 0, false}, {"Yes\n", 0, true}} {
		path, left := filepath.Join(t.TempDir(), "report.zip"), t.TempDir()
		far, near := terminal.Pair(t)
		cmd := command(t, "report", demo, "-w", path)
		cmd.Env = append(cmd.Env, "TMPDIR="+left)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, near
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		near.Close()
		var said strings.Builder
		some := make([]byte, 4096)
		for !strings.Contains(said.String(), "[y/N] ") {
			n, err := far.Read(some)
			if err != nil {
				t.Fatalf("%v: %q", err, said.String())
			}
			said.Write(some[:n])
		}
		if _, err := far.WriteString(c.typed); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // the exit code says it
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			t.Errorf("%q: it did not end", c.typed)
			<-ended
		}
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%q: exit code %d, want %d", c.typed, code, c.code)
		}
		if _, err := os.Stat(path); (err == nil) != c.written {
			t.Errorf("%q: %v", c.typed, err)
		}
		if all, err := os.ReadDir(left); err != nil || len(all) > 0 {
			t.Errorf("%q: left are %v, %v", c.typed, all, err)
		}
	}
}
