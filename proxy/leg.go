package proxy

import (
	"net"
	"sync"
	"time"
)

// bufferSize is how much is read at once, in bytes.
const bufferSize = 64 << 10

// buffers are shared by all connections, so that an idle one holds none.
type buffers struct{ pool sync.Pool }

func (b *buffers) get() *[bufferSize]byte {
	if v := b.pool.Get(); v != nil {
		return v.(*[bufferSize]byte)
	}
	return new([bufferSize]byte)
}

func (b *buffers) put(buf *[bufferSize]byte) { b.pool.Put(buf) }

// leg is one end of a pair. It is the seam for what is not plain bytes on a
// socket: whatever reads, writes, half-closes and resets can be a leg.
type leg interface {
	// read waits until there are bytes, and only then takes a buffer for them.
	// The caller gives the buffer back; it is nil if n is 0.
	read() (buf *[bufferSize]byte, n int, err error)
	Write([]byte) (int, error)
	CloseWrite() error
	SetReadDeadline(time.Time) error
	SetWriteDeadline(time.Time) error
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
	// reset closes so that the peer sees a reset, where the transport has that.
	reset()
	Close() error
}

// halfCloser is what *net.TCPConn and *net.UnixConn have in common.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// reset is closing with nothing lingering, which TCP turns into RST.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}
