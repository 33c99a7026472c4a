//go:build !unix

package proxy

import "io"

// tlsReader holds a buffer while it waits: see leg_other.go.
type tlsReader struct{}

func (l *tlsLeg) settle() error { return nil }

func (l *tlsLeg) readSome() (*[bufferSize]byte, int, error) {
	buf := l.pool.get()
	n, err := l.Conn.Read(buf[:])
	if n == 0 {
		l.pool.put(buf)
		return nil, 0, err
	}
	return buf, n, err
}

type socketReader struct{}

func (t *transport) Read(p []byte) (int, error) {
	n, err := t.halfCloser.Read(p)
	t.eof = t.eof || err == io.EOF
	return n, err
}
