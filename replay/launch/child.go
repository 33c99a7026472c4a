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
	signals "os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/clip"
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
	argv, env []string
	tail      tail
	over      chan struct{} // closed when it has ended, and not to be started again

	mu  sync.Mutex
	now *process // nil: it is being started again
}

// process is a command while it runs once.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	over  chan struct{} // closed when it has ended
}

// Start runs a command.
func Start(argv, env []string) (*Child, error) {
	c := &Child{argv: argv, env: env, over: make(chan struct{})}
	return c, c.start()
}

func (c *Child) start() error {
	p := &process{cmd: exec.Command(c.argv[0], c.argv[1:]...), over: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = c.env, &c.tail, &c.tail
	p.cmd.WaitDelay = hearing // others may have its output open
	setApart(p.cmd)
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.now = p
	c.mu.Unlock()
	go func() { // ends with the process, which end sees to
		_ = p.cmd.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		close(p.over)
		if c.now == p {
			close(c.over)
		}
	}()
	return nil
}

// Again ends the command and starts it once more, unless it has ended itself.
func (c *Child) Again() {
	c.mu.Lock()
	old := c.now
	if !c.Ended() {
		c.now = nil
	}
	c.mu.Unlock()
	if c.Ended() {
		return
	}
	old.end()
	if err := c.start(); err != nil {
		_, _ = fmt.Fprintln(&c.tail, err)
		c.mu.Lock()
		c.now = old
		c.mu.Unlock()
		close(c.over)
	}
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

// End ends the command, and what it started, and waits for it. Nobody starts it
// again then.
func (c *Child) End() {
	c.now.end()
	<-c.over
}

func (p *process) end() {
	_ = p.stdin.Close()
	select {
	case <-p.over:
	default:
		_ = signal(p.cmd.Process, syscall.SIGTERM)
	}
	// Who has asked us twice to end does not wait for it.
	again := make(chan os.Signal, 1)
	signals.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signals.Stop(again)
	select {
	case <-p.over:
	case <-again:
	case <-time.After(parting):
	}
	_ = signal(p.cmd.Process, syscall.SIGKILL)
	<-p.over
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
	state := c.now.cmd.ProcessState
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return fmt.Sprintf("signal %d, %s", s.Signal(), s.Signal())
	}
	return fmt.Sprintf("exit code %d", Code(state))
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
		out = append(out, strings.ToValidUTF8(clip.Text(line, longest), "\uFFFD"))
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
