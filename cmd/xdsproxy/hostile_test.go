package main

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/xdsproxy/xdsproxy/check/script"
	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/recorder"
)

// leap SCRIPT FILE makes a recording of a conversation whose last entries are of
// times that somebody made up: nine years later, eighteen years later, and the
// latest that there is.
func leap(ts *testscript.TestScript, neg bool, args []string) {
	s, err := script.Parse(args[0], []byte(ts.ReadFile(args[0])))
	ts.Check(err)
	log, err := recorder.Create(ts.MkAbs(args[1]), recorder.Options{NoTicks: true})
	ts.Check(err)
	var last time.Time
	for e := range s.Entries() {
		last = e.Time
		log.Append(e)
	}
	for _, at := range []time.Time{last.AddDate(9, 0, 0), last.AddDate(18, 0, 0), time.Unix(0, math.MaxInt64)} {
		log.Append(session.Entry{Kind: session.KindTime, Side: session.Proxy, Time: at})
	}
	ts.Check(log.Close())
}

// Every command that reads ends when it is asked to, also while it waits for
// what a pipe has not brought yet.
func TestSignalWhileReading(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no named pipes")
	}
	whole, err := os.ReadFile(demoRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"status PIPE", "tree PIPE demo-envoy", "check PIPE", "watch PIPE", "watch PIPE --no-follow", "show PIPE 1..",
		"info PIPE", "export PIPE -o csv", "export PIPE -o script", "diff PIPE ingress",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "PIPE")
			if err := syscall.Mkfifo(name, 0o600); err != nil {
				t.Skip(err)
			}
			cmd := command(t, strings.Fields(strings.Replace(args, "PIPE", name, 1))...)
			var complaints strings.Builder
			cmd.Stderr = &complaints
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			to, err := os.OpenFile(name, os.O_WRONLY, 0) // when there is a reader
			if err != nil {
				t.Fatal(err)
			}
			defer to.Close()
			if _, err := to.Write(whole[:len(whole)/2]); err != nil {
				t.Fatal(err)
			}
			interrupted(t, cmd)
			if t.Failed() {
				t.Log(complaints.String())
			}
		})
	}
}

// The same of standard input.
func TestSignalWhileWaitingForInput(t *testing.T) {
	cmd := command(t, "watch", "-")
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	whole, err := os.ReadFile(demoRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(whole[:len(whole)-1]); err != nil {
		t.Fatal(err)
	}
	if _, err := from.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	interrupted(t, cmd)
}

// interrupted asks a command to end.
func interrupted(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit, is := errors.AsType[*exec.ExitError](cmd.Wait())
	if !is || exit.ExitCode() != exitInterrupted {
		t.Errorf("it ended with %v", exit)
	}
}
