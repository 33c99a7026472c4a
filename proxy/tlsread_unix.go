//go:build unix

package proxy

import (
	"io"
	"syscall"
)

// After the handshake nobody waits inside of crypto/tls: it would hold the
// buffer that it fills. The leg waits for the socket as a plain one does, with
// syscall.RawConn, then lets crypto/tls read what is there. When that runs dry,
// in the middle of a record or after one that carries no data, the read below
// it fails with an error that calls itself temporary. That is the one kind that
// crypto/tls does not keep, so that reading can go on later.

// tlsReader waits for a socket.
type tlsReader struct {
	raw syscall.RawConn
	try func(fd uintptr) bool // l.readOnce, bound once
	buf *[bufferSize]byte
	n   int
	err error
}

func (l *tlsLeg) settle() (err error) {
	l.raw, err = l.under.halfCloser.(syscall.Conn).SyscallConn()
	l.try = l.readOnce
	l.under.settled = true
	return err
}

func (l *tlsLeg) readSome() (*[bufferSize]byte, int, error) {
	l.buf, l.n, l.err = nil, 0, nil
	if err := l.raw.Read(l.try); err != nil {
		return nil, 0, err
	}
	return l.buf, l.n, l.err
}

// readOnce reports whether the wait is over. It takes as much as there is.
func (l *tlsLeg) readOnce(fd uintptr) bool {
	buf, n := l.pool.get(), 0
	l.under.fd, l.under.more = fd, false
	var err error
	for err == nil && n < len(buf) {
		var k int
		l.under.ask = n == 0
		k, err = l.Conn.Read(buf[n:])
		n += k
	}
	if err == errDry {
		err = nil
	}
	if n == 0 {
		l.pool.put(buf)
		l.err = err
		return err != nil
	}
	l.buf, l.n, l.err = buf, n, err
	return true
}

// errDry is what a read fails with that would have to wait.
var errDry error = dry{}

type dry struct{}

func (dry) Error() string   { return "nothing to read yet" }
func (dry) Timeout() bool   { return true }
func (dry) Temporary() bool { return true }

// socketReader reads without waiting, inside of RawConn.Read.
type socketReader struct {
	settled bool // the handshake is done
	fd      uintptr
	more    bool // the socket may have more: the last read filled its buffer
	// ask is whether to look at the socket at all. Before a wait it has to have
	// said EAGAIN: the wait is for a change, which may have happened.
	ask bool
}

func (t *transport) Read(p []byte) (int, error) {
	if !t.settled {
		return t.halfCloser.Read(p)
	}
	if !t.ask && !t.more {
		return 0, errDry
	}
	for {
		n, err := syscall.Read(int(t.fd), p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			t.more = false
			return 0, errDry
		case err != nil:
			return 0, err
		case n == 0:
			t.eof = true
			return 0, io.EOF
		}
		t.more = n == len(p)
		return n, nil
	}
}
