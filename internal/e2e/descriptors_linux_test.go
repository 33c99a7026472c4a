package e2e

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xdsproxy/xdsproxy/internal/serve"
	"github.com/xdsproxy/xdsproxy/session"
)

// echoes is an upstream that gives back what it gets.
func echoes(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// A proxy that may open no more files says so, resets clients that it cannot
// dial for, lets others wait, and goes on by itself once there is room.
func TestOutOfDescriptors(t *testing.T) {
	t.Parallel()
	upstream := echoes(t)
	p := startProxy(t, upstream)
	connect := func() net.Conn {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(patience))
		return c
	}
	// An echo shows that both legs are there.
	passes := func(c net.Conn) error {
		if _, err := c.Write([]byte("ping")); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 4))
		return err
	}
	first := connect()
	if err := passes(first); err != nil {
		t.Fatal(err)
	}
	allow(t, p.cmd.Process.Pid, 3)

	second := connect()
	if err := passes(second); err != nil {
		t.Fatal(err)
	}
	// One is left: enough to accept, not to dial.
	// The reset may come before the client has noticed that it is connected.
	refused, err := net.Dial("tcp", p.addr)
	if err == nil {
		defer refused.Close()
		_ = refused.SetDeadline(time.Now().Add(patience))
		err = passes(refused)
	}
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the client that could not be dialled for sees %v", err)
	}
	// None is left: who comes now waits.
	allow(t, p.cmd.Process.Pid, 0)
	waiting := connect()
	eventually(t, "it is told that clients wait", func() bool { return strings.Contains(p.stderr.String(), "cannot accept a connection") })
	allow(t, p.cmd.Process.Pid, 100)
	if err := passes(waiting); err != nil {
		t.Errorf("the client that had to wait sees %v", err)
	}
	for _, c := range []net.Conn{first, second} {
		if err := passes(c); err != nil {
			t.Errorf("a client that was there sees %v", err)
		}
	}
	p.stop(t)
	var texts []string
	for _, e := range p.entries(t) {
		if e.Kind == session.KindNote {
			texts = append(texts, fmt.Sprintf("%s: %s (%s)", e.Note.Code, e.Note.Text, e.Note.Hint))
		}
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{
		"dial-failed: accepted a client, but have no file descriptor left to dial upstream " + upstream + ": too many open files (allow more open files: ulimit -n",
		"accept-failed: clients on " + p.addr + " have to wait: too many open files (allow more open files: ulimit -n",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the recording has no %q, but\n%s", want, all)
		}
	}
	if f := p.info(t); !f.Complete || f.Gaps != 0 {
		t.Errorf("info: %+v", f)
	}
}

// allow limits a process to so many more files. A limit is on their numbers.
func allow(t *testing.T, pid, more int) {
	t.Helper()
	taken := descriptors(t, pid)
	limit := 0
	for ; limit < slices.Max(taken)+1 || more > 0; limit++ {
		if !slices.Contains(taken, limit) {
			if more == 0 {
				break
			}
			more--
		}
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(limit), Max: 4096}, nil); err != nil {
		t.Fatal(err)
	}
}

// descriptors are the numbers of the files that a process has open.
func descriptors(t *testing.T, pid int) (numbers []int) {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		n, err := strconv.Atoi(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// Clients that take all descriptors that they can get leave some to the rest of
// the program: probes are answered and viewers come while other clients wait,
// and those get in when there is room again.
func TestDescriptorsAreLeftForProbes(t *testing.T) {
	t.Parallel()
	const token = "a-token-that-the-test-made-up"
	p := startProxyWith(t, echoes(t), setup{
		args: []string{"--admin", "127.0.0.1:0", "--viewer", "127.0.0.1:0"}, env: []string{"XDSPROXY_VIEWER_TOKEN=" + token},
	})
	admin := p.stderr.find(t, adminLine, p.exited)[1]
	viewer := p.stderr.find(t, viewerLine, p.exited)[1]
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 300, Max: 300}, nil); err != nil {
		t.Fatal(err)
	}
	passed := make(chan error)
	var crowd []net.Conn
	for range 300 {
		c, err := net.Dial("tcp", p.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		crowd = append(crowd, c)
		go func() {
			_, err := c.Write([]byte("ping"))
			if err == nil {
				_, err = io.ReadFull(c, make([]byte, 4))
			}
			passed <- err
		}()
	}
	eventually(t, "it is told that clients wait", func() bool { return strings.Contains(p.stderr.String(), "cannot accept a connection") })
	for range 15 {
		client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Get(admin + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if _, err := serve.Dial(t.Context(), "tcp", viewer, serve.Options{Token: token}); err != nil {
		t.Error(err)
	}
	in := 0
	for quiet := false; !quiet; {
		select {
		case err := <-passed:
			in++
			if err != nil {
				t.Error(err)
			}
		case <-time.After(500 * time.Millisecond):
			quiet = true
		}
	}
	if in == 0 || in == len(crowd) {
		t.Errorf("%d of %d clients got in", in, len(crowd))
	}
	t.Logf("%d of %d clients got in at first", in, len(crowd))
	for i := 0; in < len(crowd); in++ { // one goes for each that waits
		crowd[i].Close()
		i++
		if err := <-passed; err != nil {
			t.Fatal(err)
		}
	}
	p.stop(t)
}
