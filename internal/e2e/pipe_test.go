package e2e

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
)

// pipe forwards connections to one address and keeps every byte of them: of
// those in TLS, what was in it.
type pipe struct {
	addr string

	mu    sync.Mutex
	tapes []*tape
	conns []net.Conn
}

// tape is what passed on one connection.
type tape struct {
	mu             sync.Mutex
	client, server []byte // sent by either
	order          []read
	open           int // directions that have not ended
}

// read is one piece in the order in which the pieces of both sides came.
type read struct {
	Side string `json:"side"`
	N    int    `json:"n"`
}

func startPipe(t *testing.T, upstream string) *pipe {
	t.Helper()
	return startPipeWith(t, upstream, nil, nil)
}

// startPipeWith starts a pipe that speaks TLS on the sides for which there is a
// configuration.
func startPipeWith(t *testing.T, upstream string, accept, dial *tls.Config) *pipe {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pipe{addr: l.Addr().String()}
	var pumps sync.WaitGroup
	pumps.Go(func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", upstream)
			if err != nil {
				down.Close()
				continue
			}
			if accept != nil {
				down = tls.Server(down, accept)
			}
			if dial != nil {
				up = tls.Client(up, dial)
			}
			tp := &tape{open: 2}
			p.mu.Lock()
			p.tapes = append(p.tapes, tp)
			p.conns = append(p.conns, down, up)
			p.mu.Unlock()
			pumps.Go(func() { tp.pump(up, down, "client", &tp.client) })
			pumps.Go(func() { tp.pump(down, up, "server", &tp.server) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		pumps.Wait()
	})
	return p
}

func (tp *tape) pump(dst, src net.Conn, side string, kept *[]byte) {
	defer func() {
		tp.mu.Lock()
		defer tp.mu.Unlock()
		tp.open--
	}()
	for buf := make([]byte, 64<<10); ; {
		n, err := src.Read(buf)
		if n > 0 {
			tp.mu.Lock()
			*kept = append(*kept, buf[:n]...)
			tp.order = append(tp.order, read{side, n})
			tp.mu.Unlock()
			if _, err := dst.Write(buf[:n]); err != nil {
				src.Close()
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = dst.(halfCloser).CloseWrite()
			return
		case err != nil: // a reset is passed on as one
			reset(dst)
			return
		}
	}
}

// halfCloser can say that it will send no more, with TLS and without.
type halfCloser interface{ CloseWrite() error }

// reset closes a connection so that its other end is reset.
func reset(c net.Conn) {
	if secure, is := c.(*tls.Conn); is {
		c = secure.NetConn()
	}
	_ = c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// first waits until the first connection is over and returns its tape.
func (p *pipe) first(t *testing.T) *tape {
	t.Helper()
	var tp *tape
	eventually(t, "the end of the first connection", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.tapes) == 0 {
			return false
		}
		tp = p.tapes[0]
		tp.mu.Lock()
		defer tp.mu.Unlock()
		return tp.open == 0
	})
	return tp
}

// sameBytes requires that what passed outside the proxy is what passed inside.
func sameBytes(t *testing.T, outer, inner *tape) {
	t.Helper()
	for _, d := range []struct {
		name         string
		sent, passed []byte
	}{
		{"client", outer.client, inner.client},
		{"server", inner.server, outer.server},
	} {
		if len(d.sent) == 0 {
			t.Errorf("the %s sent nothing", d.name)
		}
		if !bytes.Equal(d.sent, d.passed) {
			n := 0
			for n < min(len(d.sent), len(d.passed)) && d.sent[n] == d.passed[n] {
				n++
			}
			t.Errorf("the %s sent %d bytes and %d left the proxy; they differ from byte %d on", d.name, len(d.sent), len(d.passed), n)
		}
	}
}
