package replaytest

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/test/bufconn"
)

// Listener is one in memory, which a bubble can wait for. Its connections end what is late as those of a net do.
type Listener struct{ *bufconn.Listener }

// Listen makes a listener.
func Listen() Listener { return Listener{bufconn.Listen(1 << 20)} }

func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &accepted{Conn: c}, err
}

// accepted ends what is late, and nothing else. In bufconn a deadline that was taken
// back can come to pass nevertheless: net/http sets one that is over to end a read, and
// when that read has ended by itself takes it back, at a time at which bufconn has a
// goroutine on its way that ends the next one.
type accepted struct {
	net.Conn

	mu    sync.Mutex
	until time.Time
}

func (c *accepted) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *accepted) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = t
	return c.Conn.SetReadDeadline(t)
}

func (c *accepted) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if late, is := errors.AsType[net.Error](err); !is || !late.Timeout() {
			return n, err
		}
		if c.late() {
			return n, os.ErrDeadlineExceeded
		}
	}
}

// late says whether the deadline is over; else it is set anew.
func (c *accepted) late() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() && !time.Now().Before(c.until) {
		return true
	}
	_ = c.Conn.SetReadDeadline(c.until) // which never fails
	return false
}
