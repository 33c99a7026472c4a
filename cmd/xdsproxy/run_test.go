package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
)

// echo is an upstream that gives back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	return answering(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
}

// running is a proxy in a process of its own.
type running struct {
	*exec.Cmd
	addr, path string
	stderr     *bufio.Reader
	stdout     bytes.Buffer
}

// ready is the line that scripts wait for.
var ready = regexp.MustCompile(`^listening on (\S+), upstream (\S+), recording (\S+)\n$`)

func startRun(t *testing.T, args ...string) *running {
	t.Helper()
	r := &running{}
	args = append([]string{"run", "--listen", "127.0.0.1:0", "-w", filepath.Join(t.TempDir(), "s.xdsp")}, args...)
	r.Cmd = command(t, args...)
	r.Stdout = &r.stdout
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
	if err != nil {
		t.Fatal(err)
	}
	m := ready.FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("not the line that scripts wait for: %q", line)
	}
	r.addr, r.path = m[1], m[3]
	return r
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("xdsproxy", args...)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
	return cmd
}

// end waits for the process and returns the rest of standard error, and the
// exit code.
func (r *running) end(t *testing.T) (string, int) {
	t.Helper()
	rest, err := io.ReadAll(r.stderr)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Wait() // the exit code says it
	return string(rest), r.ProcessState.ExitCode()
}

func (r *running) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := r.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// pass sends bytes through the proxy and expects them back.
func (r *running) pass(t *testing.T, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v", got, err)
	}
	return c
}

func TestRunForwardsAndEndsInPeace(t *testing.T) {
	r := startRun(t, "--upstream", echo(t))
	c := r.pass(t, "neither HTTP nor anything else")

	// A reader follows what is being recorded, and ends with it.
	follower := command(t, "watch", r.path, "-o", "jsonl")
	lines, err := follower.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(lines)
	first, err := in.ReadString('\n')
	if err != nil || !strings.Contains(first, `"kind":"connect"`) {
		t.Fatalf("%q, %v", first, err)
	}

	c.Close()
	r.signal(t, syscall.SIGTERM)
	stderr, code := r.end(t)
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, want := range []string{"recorded " + r.path + ", ", " on 1 connection, no gaps\n", "read it with: xdsproxy watch " + r.path + "\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("standard error has no %q:\n%s", want, stderr)
		}
	}
	if r.stdout.Len() > 0 {
		t.Errorf("standard output has %q", r.stdout.String())
	}
	rest, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	if err := follower.Wait(); err != nil {
		t.Errorf("the reader that followed: %v", err)
	}
	if !bytes.Contains(rest, []byte(`"kind":"disconnect"`)) {
		t.Errorf("the reader that followed did not see the end:\n%s", rest)
	}
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	r := startRun(t, "--upstream", echo(t), "--drain", "24h")
	// The beginning of a frame that never comes to its end.
	r.pass(t, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x06\x04\x00")
	r.signal(t, syscall.SIGTERM)
	if line, err := r.stderr.ReadString('\n'); err != nil || line != "stopping; again to stop at once\n" {
		t.Fatalf("%q, %v", line, err)
	}
	r.signal(t, syscall.SIGTERM)
	stderr, code := r.end(t)
	if code != console.ExitInterrupted {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	out, err := command(t, "info", r.path).Output()
	if err != nil || !bytes.Contains(out, []byte("complete")) || bytes.Contains(out, []byte("incomplete")) {
		t.Errorf("%v: %s", err, out)
	}
}

// A reader that goes away early is no failure.
func TestClosedPipe(t *testing.T) {
	demo := demoRecording(t)
	for _, args := range [][]string{
		{"watch", demo},
		{"watch", demo, "-o", "jsonl"},
		{"show", demo, "1.."},
		{"info", demo},
		{"config"},
		{"version"},
		{"help", "environment"},
		{"run", "--help"},
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		cmd := command(t, args...)
		cmd.Stdout = w
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err = cmd.Run()
		w.Close()
		if err != nil || stderr.Len() > 0 {
			t.Errorf("%v: %v\n%s", args, err, stderr.String())
		}
	}
}

// One client too many is refused, and the log says by what and what helps.
func TestTooManyClients(t *testing.T) {
	r := startRun(t, "--headless", "--upstream", echo(t), "--max-connections", "1")
	first := r.pass(t, "hello")
	second, err := net.Dial("tcp", r.addr)
	if err == nil { // it may be reset before Dial returns
		if n, err := second.Read(make([]byte, 1)); err == nil {
			t.Errorf("read %d bytes of a proxy that is full", n)
		}
		second.Close()
	}
	first.Close()
	r.signal(t, syscall.SIGTERM)
	out, code := r.end(t)
	if code != 0 || !regexp.MustCompile(`(?m)^\S+ warn refused the client \S+ on \S+: 1 connections are open, as many as may be.*\nxdsproxy: hint: raise --max-connections`).MatchString(out) {
		t.Errorf("ended with %d:\n%s", code, out)
	}
}

// lineWith reads standard error up to a line that has all the words, and
// returns all of it.
func (r *running) lineWith(t *testing.T, words ...string) string {
	t.Helper()
	late := time.AfterFunc(time.Minute, func() { _ = r.Process.Kill() })
	defer late.Stop()
	for text := ""; ; {
		line, err := r.stderr.ReadString('\n')
		text += line
		if err != nil {
			t.Fatalf("no line with %q: %v\n%s", words, err, text)
		}
		all := true
		for _, w := range words {
			all = all && strings.Contains(line, w)
		}
		if all {
			return text
		}
	}
}

// After its last words a proxy is gone: a prober in the middle of its question,
// for whom it waits a second, was answered or left before.
func TestLastWordsAreLast(t *testing.T) {
	r := startRun(t, "--upstream", echo(t), "--admin", "127.0.0.1:0")
	line, err := r.stderr.ReadString('\n')
	addr, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "health and metrics on http://")
	if err != nil || !found {
		t.Fatalf("%q, %v", line, err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	r.pass(t, "something").Close() // the question has come by then
	r.signal(t, syscall.SIGTERM)
	for !strings.HasPrefix(line, "recorded ") {
		if line, err = r.stderr.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("it is still there, and waits for a prober")
	}
}
