//go:build !unix

package proxy

// socket is a leg on a socket of a system where only Conn.Read is to be had:
// an idle connection holds a buffer for each direction.
type socket struct {
	halfCloser
	pool *buffers
}

func newSocket(c halfCloser, pool *buffers) (leg, error) {
	return &socket{c, pool}, nil
}

func (s *socket) read() (*[bufferSize]byte, int, error) {
	buf := s.pool.get()
	n, err := s.halfCloser.Read(buf[:])
	if n == 0 {
		s.pool.put(buf)
		return nil, 0, err
	}
	return buf, n, err
}

func (s *socket) reset() { reset(s.halfCloser) }
