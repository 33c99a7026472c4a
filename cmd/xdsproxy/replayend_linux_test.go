package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A command that does not heed the first signal does not outlive the second.
func TestReplayEndsItsCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	cmd := command(t, "replay", "../../check/testdata/sessions/demo.xdsp", "--client", "demo-envoy", "--as", "server", "--",
		"sh", "-c", `trap "" TERM; echo $$ > "$1.new"; mv "$1.new" "$1"; while :; do sleep 1; done`, "sh", file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for range 6000 {
		if text, _ = os.ReadFile(file); len(text) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		_ = cmd.Process.Kill()
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-pid, syscall.SIGKILL) }()
	over := make(chan error)
	go func() { over <- cmd.Wait() }()
	for {
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-over:
			stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if len(stat) > 0 && !strings.Contains(string(stat), ") Z ") {
				t.Errorf("exit code %d, and the command is there: %s", cmd.ProcessState.ExitCode(), stat)
			}
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}
