package wrap

import (
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/replay/launch"
)

// Command is a command that runs in our place: on our terminal, with our standard
// streams, and with the signals that were meant for it.
type Command struct {
	plan    *Plan
	cmd     *exec.Cmd // from Start on
	signals chan os.Signal
	over    chan struct{} // closed by stop
	watcher sync.WaitGroup

	mu    sync.Mutex
	ended bool
	late  []func() // for the signals after its end, one each
}

// ignoredAtStart are the signals that whoever started the program has ignored: nohup,
// or a shell that put it into the background. The program itself may catch them.
var ignoredAtStart = slices.DeleteFunc(passedSignals(), func(s os.Signal) bool { return !signal.Ignored(s) })

// Command is the command of a plan. From here on signals are kept for it.
func (p *Plan) Command() *Command {
	c := &Command{plan: p, signals: make(chan os.Signal, 16), over: make(chan struct{})}
	// What is ignored here would be ignored there as well; what is caught is not.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	for _, s := range passedSignals() {
		if slices.Contains(ignoredAtStart, s) {
			signal.Ignore(s)
		} else {
			signal.Notify(c.signals, s)
		}
	}
	return c
}

// Start runs the command, once its bootstrap has been written. Signals that come
// from now on are passed on. Where one has asked the program to end before, the
// command is not started: nobody would ask again.
func (c *Command) Start() error {
	if err := c.plan.con.Ctx.Err(); err != nil {
		return err
	}
	c.cmd = exec.Command(c.plan.argv[0], c.plan.argv[1:]...)
	c.cmd.Env = c.plan.env
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = c.plan.con.Stdin, c.plan.con.Stdout, c.plan.con.Stderr
	// It writes to our streams itself. Through a pipe of ours its end would be waited for
	// until whoever it left behind with the pipe has ended, too.
	if p, wrapped := c.plan.con.Stdout.(console.Pipe); wrapped {
		c.cmd.Stdout = p.W
	}
	if e, wrapped := c.plan.con.Stderr.(*console.Stderr); wrapped {
		c.cmd.Stderr = e.W
	}
	if err := c.cmd.Start(); err != nil {
		return console.NotRunnable(c.cmd.Path, err)
	}
	c.watcher.Go(c.watch)
	return nil
}

func (c *Command) watch() {
	for {
		select {
		case <-c.over:
			return
		case s := <-c.signals:
			c.mu.Lock()
			ended := c.ended
			var late func()
			if ended && len(c.late) > 0 && (s == os.Interrupt || s == syscall.SIGTERM) {
				late, c.late = c.late[0], c.late[1:]
			}
			c.mu.Unlock()
			switch {
			case late != nil:
				late()
			case !ended && !sentByTerminal(s):
				_ = c.cmd.Process.Signal(s) // it may have ended just now
			}
		}
	}
}

// Wait returns the exit code of the command, as a shell would have it.
func (c *Command) Wait() int {
	err := c.cmd.Wait()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	if code := launch.Code(c.cmd.ProcessState); code != 0 || err == nil {
		return code
	}
	return console.ExitFailed
}

// Afterwards says what the signals do that come when the command has ended: the
// first one, the second one.
func (c *Command) Afterwards(f ...func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = f
}

// Stop ends the passing on of signals. They stay caught: what is left to do is
// to exit with the code of the command, and a signal that ended the program
// would put another in its place.
func (c *Command) Stop() {
	close(c.over)
	c.watcher.Wait()
}
