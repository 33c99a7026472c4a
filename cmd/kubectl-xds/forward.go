package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// forward is kubectl port-forward, started again when it ends, until stop.
type forward struct {
	v      *view
	remote int
	// local is the port on this machine. The first kubectl picks it, later ones
	// have to take the same.
	local int

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
		if err == nil {
			f.local = port
			err = answers(deadline, port)
		}
		if err == nil {
			f.over.Go(func() { f.keep(ctx, child) })
			return nil
		}
		if child != nil {
			child.kill()
			err = failed(fmt.Sprintf("is the proxy run with --viewer 127.0.0.1:%d? --port names another", f.remote),
				"no viewer answers on port %d of %s: %s", f.remote, f.v.to, child.said.or(err))
		}
		// Without a port nothing was forwarded at all: no such pod, no right.
		if f.local == 0 {
			return err
		}
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
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(again):
			}
			var err error
			if child, _, err = f.launch(ctx); err == nil {
				break
			}
		}
	}
}

// stop ends kubectl, and returns when it is gone.
func (f *forward) stop() {
	if f.cancel != nil {
		f.cancel()
	}
	f.over.Wait()
}

var forwarding = regexp.MustCompile(`^Forwarding from 127\.0\.0\.1:(\d{1,5}) -> `)

// launch starts kubectl and waits until it has said which port it listens on.
func (f *forward) launch(ctx context.Context) (c *one, local int, err error) {
	ports := ":" + strconv.Itoa(f.remote)
	if f.local != 0 {
		ports = strconv.Itoa(f.local) + ports
	}
	argv := f.v.o.kubectl("port-forward", "--address", "127.0.0.1", f.v.to.String(), ports)
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

// preface is what a client of HTTP/2 says first (RFC 9113, 3.4), with an empty
// SETTINGS frame. A server answers with SETTINGS of its own.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// answers says whether something that speaks HTTP/2 is at the other end. That
// kubectl listens does not say so: it connects to the pod for each connection.
func answers(ctx context.Context, port int) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return err
	}
	defer conn.Close()
	wait := time.Now().Add(10 * time.Second)
	if limit, has := ctx.Deadline(); has && limit.Before(wait) {
		wait = limit
	}
	_ = conn.SetDeadline(wait)
	if _, err := io.WriteString(conn, preface); err != nil {
		return err
	}
	head := make([]byte, 9)
	if _, err := io.ReadFull(conn, head); err != nil {
		return fmt.Errorf("the connection ends: %w", err)
	}
	if head[3] != 4 || !bytes.Equal(head[5:], make([]byte, 4)) {
		return fmt.Errorf("what answers does not speak HTTP/2")
	}
	return nil
}
