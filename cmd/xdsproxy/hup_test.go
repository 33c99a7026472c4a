//go:build linux

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/settings"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/terminal"
)

// Without a screen, SIGHUP ends neither the proxy nor a connection. It is
// answered with what is read again.
func TestHangupWithoutScreen(t *testing.T) {
	r := startRun(t, "--headless", "--upstream", echo(t))
	c := r.pass(t, "before")
	r.signal(t, syscall.SIGHUP)
	r.lineWith(t, "SIGHUP: nothing to do: certificates and header files are read again")
	if _, err := io.WriteString(c, "after"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	r.signal(t, syscall.SIGTERM)
	if out, code := r.end(t); code != 0 {
		t.Errorf("ended with %d: %s", code, out)
	}
}

// A configuration file that has changed needs a restart, and whoever asks is
// told whether that would work.
func TestHangupWithConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("drain: 1s\n")
	r := startRun(t, "--headless", "--upstream", echo(t), "--config", path)
	for _, step := range []struct{ text, want string }{
		{"drain: 1s\n", "nothing to do: the configuration file is as it was"},
		{"drain: 2s\n", "the configuration file has changed; a restart makes it count"},
		{"drian: 2s\n", `line 1: unknown key \"drian\"`},
		{"listeners: [{listen: ':1', upstream: 'a:1', tls-cert: c}]\n", `listeners[0]: \"tls-cert\" without \"tls-key\"`},
		{strings.Repeat("#", settings.MaxConfigFile+1), "larger than 1048576 bytes"},
	} {
		write(step.text)
		r.signal(t, syscall.SIGHUP)
		r.lineWith(t, "SIGHUP: ", step.want)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	r.signal(t, syscall.SIGHUP)
	r.lineWith(t, "SIGHUP: the configuration file cannot be read any more")
	r.pass(t, "still there").Close()
	r.signal(t, syscall.SIGTERM)
	if out, code := r.end(t); code != 0 {
		t.Errorf("ended with %d: %s", code, out)
	}
}

// When the terminal that a proxy without a screen was started from goes away,
// it goes on until the last client has left, and then ends.
func TestHangupOfTerminal(t *testing.T) {
	far, near := terminal.Pair(t)
	cmd := command(t, "run", "--headless", "--listen", "unix:"+filepath.Join(t.TempDir(), "p"), "--upstream", echo(t), "-w", filepath.Join(t.TempDir(), "s.xdsp"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, near
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	near.Close()
	said := make([]byte, 4096)
	n := 0
	for !strings.Contains(string(said[:n]), "listening on") {
		m, err := far.Read(said[n:])
		if err != nil {
			t.Fatalf("%v: %q", err, said[:n])
		}
		n += m
	}
	far.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Error("it did not end")
	}
}
