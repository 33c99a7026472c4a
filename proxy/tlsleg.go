package proxy

import (
	"crypto/tls"
	"errors"
	"io"
	"sync"
	"time"
)

// tlsLeg is a leg that speaks TLS. Its read is in tlsread_*.go.
type tlsLeg struct {
	*tls.Conn
	under *transport
	pool  *buffers
	tlsReader

	// over is closed when nothing more will be read, after why was set.
	over chan struct{}
	why  error
}

// newTLSLeg takes over a connection whose handshake is done.
func newTLSLeg(c *tls.Conn, under *transport, pool *buffers) (leg, error) {
	l := &tlsLeg{Conn: c, under: under, pool: pool, over: make(chan struct{})}
	return l, l.settle()
}

func (l *tlsLeg) read() (buf *[bufferSize]byte, n int, err error) {
	buf, n, err = l.readSome()
	if err != nil && !isTimeout(err) {
		if l.under.eof && (err == io.EOF || err == io.ErrUnexpectedEOF) {
			err = errTruncated
		}
		select {
		case <-l.over:
		default:
			l.why = err
			close(l.over)
		}
	}
	return buf, n, err
}

// verdictTime is how long a writer that has failed waits for what the peer has
// to say about it.
const verdictTime = 250 * time.Millisecond

// verdict is why the peer has closed, where it said so: nil if it did not, or
// not in time. A peer that refuses us sends an alert and closes. Who writes
// then sees a broken pipe, while the alert is still to be read, by the other
// pump.
func (l *tlsLeg) verdict() error {
	select {
	case <-l.over:
		if _, ok := alertOf(l.why); ok {
			return l.why
		}
	case <-time.After(verdictTime):
	}
	return nil
}

// CloseWrite says that no more will come, in TLS and then to the socket. The
// peer may still send.
func (l *tlsLeg) CloseWrite() error {
	return errors.Join(l.Conn.CloseWrite(), l.under.CloseWrite())
}

func (l *tlsLeg) SetWriteDeadline(t time.Time) error { return l.under.limitWrites(t) }

func (l *tlsLeg) reset() { reset(l.under.halfCloser) }

// Close does not wait for a close_notify that nobody reads: where one is due,
// CloseWrite has sent it.
func (l *tlsLeg) Close() error { return l.under.Close() }

// errTruncated is an end without close_notify. It may be an attacker's, and is
// many programs' habit; HTTP/2 has its own ends, so that nothing that looks
// whole is not.
var errTruncated error = truncated{}

type truncated struct{}

func (truncated) Error() string { return "closed without close_notify" }
func (truncated) Unwrap() error { return io.EOF }

// transport is the socket under a TLS connection.
type transport struct {
	halfCloser
	socketReader

	eof bool // the socket has ended; of the reading side

	mu    sync.Mutex
	limit time.Time // no write deadline is later; zero: any may
}

// limitWrites sets a deadline that crypto/tls cannot put off.
func (t *transport) limitWrites(limit time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.limit = limit
	return t.halfCloser.SetWriteDeadline(limit)
}

// SetWriteDeadline is called by crypto/tls around its close_notify.
func (t *transport) SetWriteDeadline(at time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.limit.IsZero() && t.limit.Before(at) {
		at = t.limit
	}
	return t.halfCloser.SetWriteDeadline(at)
}
