//go:build unix

package proxy

import (
	"io"
	"syscall"
)

// socket is a leg on a TCP or unix socket. It waits for readiness without a
// buffer (syscall.RawConn), which Conn.Read cannot do.
type socket struct {
	halfCloser
	raw  syscall.RawConn
	pool *buffers

	try func(fd uintptr) bool // s.readOnce, bound once
	buf *[bufferSize]byte
	n   int
	err error
}

func newSocket(c halfCloser, pool *buffers) (leg, error) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, err
	}
	s := &socket{halfCloser: c, raw: raw, pool: pool}
	s.try = s.readOnce
	return s, nil
}

func (s *socket) read() (*[bufferSize]byte, int, error) {
	s.buf, s.n, s.err = nil, 0, nil
	if err := s.raw.Read(s.try); err != nil {
		return nil, 0, err
	}
	return s.buf, s.n, s.err
}

// readOnce reports whether the wait is over.
func (s *socket) readOnce(fd uintptr) bool {
	buf := s.pool.get()
	for {
		n, err := syscall.Read(int(fd), buf[:])
		switch {
		case err == syscall.EINTR:
			continue
		case n > 0:
			s.buf, s.n = buf, n
			return true
		}
		s.pool.put(buf)
		switch err {
		case syscall.EAGAIN:
			return false
		case nil:
			s.err = io.EOF
		default:
			s.err = err
		}
		return true
	}
}

func (s *socket) reset() { reset(s.halfCloser) }
