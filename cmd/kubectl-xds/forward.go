package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// forward is kubectl port-forward, started again when it ends, until stop. Before it
// stands a listener of our own: kubectl also ends when one connection through it
// goes wrong, and xdsproxy would take the next one that fails for the proxy's.
type forward struct {
	v        *view
	remote   int
	listener net.Listener
	// port is where the kubectl of now listens, 0 if there is none.
	port atomic.Int32

	cancel context.CancelFunc
	over   sync.WaitGroup
}

// one is one process of kubectl.
type one struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it is gone
	said  *tail         // read after that
}

// again is how soon kubectl is started after its end.
const again = time.Second

// start returns when a proxy answers at the other end of the port.
func (f *forward) start(ctx context.Context) error {
	ctx, f.cancel = context.WithCancel(ctx)
	deadline, done := context.WithTimeout(ctx, f.v.o.wait)
	defer done()
	for {
		child, port, err := f.launch(deadline)
		if err != nil {
			// Nothing was forwarded at all: no such pod, no right.
			return err
		}
		conn, _, err := f.reach(deadline, port, []byte(preface))
		if err == nil {
			hangUp(conn)
			f.port.Store(int32(port))
			f.over.Go(func() { f.keep(ctx, child) })
			return f.listen(ctx)
		}
		child.kill()
		err = failed(fmt.Sprintf("is the proxy run with --viewer 127.0.0.1:%d? --port names another", f.remote),
			"no viewer answers on port %d of %s: %s", f.remote, f.v.to, child.said.or(err))
		select {
		case <-deadline.Done():
			return err
		case <-time.After(again):
		}
	}
}

// keep starts kubectl again when it ends, for the pod may have been replaced.
// Nothing is said of it: a screen may be drawn, and xdsproxy says that it waits.
func (f *forward) keep(ctx context.Context, child *one) {
	for {
		select {
		case <-ctx.Done():
			child.kill()
			return
		case <-child.ended:
		}
		f.port.Store(0)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(again):
			}
			next, port, err := f.launch(ctx)
			if err == nil {
				child = next
				f.port.Store(int32(port))
				break
			}
		}
	}
}

// stop ends kubectl and all connections, and returns when they are gone.
func (f *forward) stop() {
	if f.cancel != nil {
		f.cancel()
	}
	f.over.Wait()
}

var forwarding = regexp.MustCompile(`^Forwarding from 127\.0\.0\.1:(\d{1,5}) -> `)

// launch starts kubectl and waits until it has said which port it listens on.
func (f *forward) launch(ctx context.Context) (c *one, local int, err error) {
	argv := f.v.o.kubectl("port-forward", "--address", "127.0.0.1", f.v.to.String(), ":"+strconv.Itoa(f.remote))
	c = &one{cmd: exec.Command(f.v.kubectl, argv[1:]...), ended: make(chan struct{}), said: &tail{}}
	c.cmd.Stderr = c.said
	// A group of its own: Ctrl-C is for xdsproxy, which may go on.
	apart(c.cmd)
	stdout, err := c.cmd.StdoutPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, 0, failed("", "cannot run kubectl: %v", err)
	}
	port := make(chan int, 1)
	go func() {
		lines := bufio.NewReaderSize(stdout, 4<<10)
		for {
			// A line that is longer comes in pieces, none of which fits.
			text, err := lines.ReadSlice('\n')
			if m := forwarding.FindSubmatch(text); m != nil {
				n, _ := strconv.Atoi(string(m[1]))
				select {
				case port <- n:
				default:
				}
			}
			if err != nil && err != bufio.ErrBufferFull {
				break
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		_ = c.cmd.Wait() // how it ended is said on standard error
		close(c.ended)
	}()
	select {
	case local = <-port:
		return c, local, nil
	case <-c.ended:
		select {
		case local = <-port:
			return c, local, nil
		default:
		}
		return nil, 0, failed("", "kubectl port-forward %s: %s", f.v.to, c.said.or(nil))
	case <-ctx.Done():
		c.kill()
		return nil, 0, failed("--wait gives it more time", "kubectl port-forward %s does not begin: %s", f.v.to, c.said.or(ctx.Err()))
	}
}

// kill ends a kubectl and waits for that.
func (c *one) kill() {
	end(c.cmd.Process, false)
	select {
	case <-c.ended:
	case <-time.After(2 * time.Second):
		end(c.cmd.Process, true)
		<-c.ended
	}
}
