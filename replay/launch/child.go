// Package launch runs the other side of a replay: a client or a control plane
// that is a command of somebody. It gives a client its bootstrap, waits for a
// server until that listens, keeps the last words of both, and lets nobody
// outlive the play. It knows no xDS.
package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// parting is how long a command may take to end when it is asked to.
	parting = 5 * time.Second
	// hearing is how long what a command said last may take to be heard, when it
	// has ended itself.
	hearing = time.Second
	// knocking is how often it is looked whether a server listens.
	knocking = 50 * time.Millisecond
)

// Child is a command that runs for as long as a play lasts. What it prints is
// kept, and shown to nobody unless it is asked for. Its standard input is open
// and has nothing in it until the command is to end.
type Child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	tail  tail
	over  chan struct{} // closed when it has ended
	once  sync.Once
}

// Start runs a command.
func Start(argv, env []string) (*Child, error) {
	c := &Child{cmd: exec.Command(argv[0], argv[1:]...), over: make(chan struct{})}
	c.cmd.Env, c.cmd.Stdout, c.cmd.Stderr = env, &c.tail, &c.tail
	c.cmd.WaitDelay = hearing // others may have its output open
	setApart(c.cmd)
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.stdin = stdin
	go func() { // ends with the command, which End sees to
		_ = c.cmd.Wait()
		close(c.over)
	}()
	return c, nil
}

// Ended says whether the command has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.over:
		return true
	default:
		return false
	}
}

// Ending says whether the command has ended, or does so now.
func (c *Child) Ending() bool {
	select {
	case <-c.over:
		return true
	case <-time.After(hearing):
		return false
	}
}

// End ends the command, and what it started, and waits for it.
func (c *Child) End() {
	c.once.Do(func() {
		_ = c.stdin.Close()
		if !c.Ended() {
			_ = signal(c.cmd.Process, syscall.SIGTERM)
		}
		select {
		case <-c.over:
		case <-time.After(parting):
		}
		_ = signal(c.cmd.Process, syscall.SIGKILL)
		<-c.over
	})
}

// During is ctx for as long as the command runs, and a little longer.
func (c *Child) During(ctx context.Context) (context.Context, context.CancelFunc) {
	during, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-during.Done():
			return
		case <-c.over:
		}
		select {
		case <-during.Done():
		case <-time.After(hearing):
			cancel()
		}
	}()
	return during, cancel
}

// Await waits until somebody listens where dial leads, the command has ended, or
// the time is up; it says whether somebody does.
func (c *Child) Await(ctx context.Context, dial func(context.Context) (net.Conn, error), most time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for {
		if conn, err := dial(ctx); err == nil {
			_ = conn.Close()
			return !c.Ended()
		}
		select {
		case <-c.over:
			return false
		case <-ctx.Done():
			return false
		case <-time.After(knocking):
		}
	}
}

// Fate is how the command has ended, such as "exit code 3".
func (c *Child) Fate() string {
	if s, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return fmt.Sprintf("signal %d, %s", s.Signal(), s.Signal())
	}
	return fmt.Sprintf("exit code %d", Code(c.cmd.ProcessState))
}

// Code is the exit code of a process, as a shell would have it.
func Code(s *os.ProcessState) int {
	if s == nil {
		return 1
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// LastWords are the last lines that the command printed.
func (c *Child) LastWords() []string {
	const most, longest = 5, 500
	var out []string
	for line := range strings.Lines(c.tail.String()) {
		if line = strings.TrimRight(line, "\r\n\t "); line == "" {
			continue
		}
		if len(line) > longest {
			line = strings.ToValidUTF8(line[:longest], "") + "…"
		}
		out = append(out, line)
	}
	return out[max(0, len(out)-most):]
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 16 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[max(0, len(b)-maxTail):]...)
	if len(t.text) > 2*maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
