package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest/terminal"
)

// screen is what came to a terminal, in which keys are typed.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	far  *os.File
}

// attended is a terminal that is read all the time.
func attended(t *testing.T) (s *screen, near *os.File) {
	t.Helper()
	far, near := terminal.Pair(t)
	s = &screen{far: far}
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := far.Read(b)
			s.mu.Lock()
			s.text.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s, near
}

func (s *screen) shows() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// until waits until it shows something.
func (s *screen) until(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.shows(), want); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not show %q, but %q", want, s.shows())
		}
	}
}

func (s *screen) types(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.far.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// At a terminal what is long is paged, lines that repeat others are written anew, and
// a recording can be looked at on the screen.
func TestAtTerminal(t *testing.T) {
	plainHome(t)
	_, dir := filled(t)
	state := filepath.Join(dir, "state")
	for name, value := range map[string]string{"XDG_STATE_HOME": state, "TERM": "xterm-256color", "PAGER": "", "XDSPROXY_PAGER": "", "NO_COLOR": "1"} {
		t.Setenv(name, value)
	}
	for _, c := range []struct {
		args []string
		env  map[string]string
		wait string // for the screen, on which q is typed then
		want []string
		not  string
		code int
	}{
		{args: []string{"watch", "loop.xds"}, want: []string{"       x1  gw-0 LDS the same again as 10, until 12 at 00:00:03.000\r\n", "\x1b[1A\x1b[2K", "! an error, ~ a warning, i a note of a rule; see xdsproxy explain RULE\r\n"}},
		{args: []string{"watch", "loop.xds"}, env: map[string]string{"TERM": "dumb"}, want: []string{"x10 "}, not: "\x1b[1A"},
		{args: []string{"watch", "loop.xds", "-o", "jsonl"}, want: []string{`{"schema":"xdsproxy/v1"`}, not: "an error, ~"},
		{args: []string{"watch", "fleet", "--filter", "kind:nack"}, want: []string{"gw-0  !   48 "}},
		{args: []string{"check", "loop.xds"}, want: []string{"what it means and what to do: xdsproxy explain "}, code: 10},
		{args: []string{"check", "note.xds"}, not: "what it means"},
		{args: []string{"explain", "nack-received"}, env: map[string]string{"PAGER": "cat >paged"}, not: "What it means"},
		{args: []string{"open", "loop.xds"}, wait: "gw-1", not: "error"},
		{args: []string{"open", "loop.xds", "--filter", "kind:nack"}, wait: "no such filter"},
		{args: []string{"open", "nack.xdsp", "--no-remember"}, wait: "envoy"},
		{args: []string{"open", "loop.xds"}, env: map[string]string{"TERM": "dumb"}, want: []string{"open draws on a terminal, and there is none"}, code: 2},
		{args: []string{"open", "nowhere.xds"}, want: []string{"cannot open"}, code: 1},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			s, near := attended(t)
			ended := make(chan int, 1)
			go func() {
				code := 0
				if c.wait == "" {
					code = main1(c.args, near, near, near)
				} else { // the screen is that of a terminal of its own
					cmd := command(t, c.args...)
					cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
					cmd.Stdin, cmd.Stdout, cmd.Stderr = near, near, near
					cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
					_ = cmd.Run() // the exit code says it
					code = cmd.ProcessState.ExitCode()
				}
				_, _ = near.WriteString("(over)")
				ended <- code
			}()
			if c.wait != "" {
				s.until(t, c.wait)
				s.types(t, "q")
			}
			s.until(t, "(over)")
			if code := <-ended; code != c.code {
				t.Errorf("it ends with %d", code)
			}
			for _, want := range c.want {
				if !strings.Contains(s.shows(), want) {
					t.Errorf("there is no %q in %q", want, s.shows())
				}
			}
			if c.not != "" && strings.Contains(s.shows(), c.not) {
				t.Errorf("there is %q in %q", c.not, s.shows())
			}
		})
	}
}
