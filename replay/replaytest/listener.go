package replaytest

import (
	"errors"
	"net"
	"os"

	"google.golang.org/grpc/test/bufconn"
)

// Listener is one in memory, which a bubble can wait for. Its connections end what is late as those of a net do.
type Listener struct{ *bufconn.Listener }

// Listen makes a listener.
func Listen() Listener { return Listener{bufconn.Listen(1 << 20)} }

func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return accepted{c}, err
}

type accepted struct{ net.Conn }

func (c accepted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if late, is := errors.AsType[net.Error](err); is && late.Timeout() {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}
