package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// When the command has ended, what it left behind may finish its message; a
// signal ends that, and the exit code is still the command's.
func TestSignalAfterTheCommandHasEnded(t *testing.T) {
	dir := t.TempDir()
	text := fmt.Sprintf(`{"xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, echo(t))
	file, path := filepath.Join(dir, "bootstrap.json"), filepath.Join(dir, "s.xdsp")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &running{path: path}
	r.Cmd = command(t, "wrap", "--drain", "24h", "-w", path, "--bootstrap", file, "--", "sh", "-c", `trap '' TERM; cat; echo over >&2; exit 5`)
	stdin, err := r.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := r.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stderr = bufio.NewReader(stderr)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	line, err := r.stderr.ReadString('\n')
	m := ready.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("not the line that scripts wait for: %q, %v", line, err)
	}
	r.addr = m[1]
	// The beginning of a frame that never comes to its end.
	r.pass(t, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x06\x04\x00")
	stdin.Close()
	if line, err = r.stderr.ReadString('\n'); line != "over\n" {
		t.Fatalf("%q, %v", line, err)
	}
	// The first ones may still be for the command, which does not heed them.
	done := make(chan struct{})
	go func() {
		defer close(done)
		rest, code := r.end(t)
		if code != 5 {
			t.Errorf("exit code %d\n%s", code, rest)
		}
		if !strings.Contains(rest, "recorded "+path) {
			t.Errorf("no account of the recording:\n%s", rest)
		}
	}()
	for ended := false; !ended; {
		_ = r.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
			ended = true
		default:
			sleep(t.Context(), 10*time.Millisecond)
		}
	}
}
