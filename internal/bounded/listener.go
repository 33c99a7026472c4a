// Package bounded keeps the connections of a listener to a number without
// refusing any: where there are too many, the one that has been idle longest is
// closed. What is idle it is told. It reads nothing, writes nothing, and starts no
// goroutine.
package bounded

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// speakTime is how long each connection has to say what it wants before it can be
// closed to make room. Where connections come so fast that the oldest is younger,
// accepting waits for it: else those who open them without end would push a new
// one out before its request is there. So limit/speakTime are accepted in a
// second, and who comes next waits in the kernel's queue meanwhile.
const speakTime = 100 * time.Millisecond

// NewListener accepts from l. Of what it has accepted, up to limit connections
// are idle, and as many are busy: neither takes the room of the other. Where
// there would be more, the one that has been so longest is closed.
func NewListener(l net.Listener, limit int) net.Listener {
	return &listener{Listener: l, limit: limit}
}

type listener struct {
	net.Listener
	limit int

	mu         sync.Mutex
	idle, busy list.List // of *Conn, in the order in which they became so
}

// Conn is a connection of such a listener. It begins idle.
type Conn struct {
	net.Conn
	of *listener

	// Guarded by of.mu.
	served int        // how many are
	in     *list.List // nil when it is closed
	at     *list.Element
	since  time.Time // when it came there
}

func (l *listener) Accept() (net.Conn, error) {
	time.Sleep(l.wait())
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: accepted, of: l}
	l.mu.Lock()
	spare := l.put(c, &l.idle)
	l.mu.Unlock()
	spare.end()
	return c, nil
}

// wait is how long the next connection has to.
func (l *listener) wait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle.Len() < l.limit {
		return 0
	}
	oldest, _ := l.idle.Front().Value.(*Conn)
	return speakTime - time.Since(oldest.since)
}

// put moves c to the end of a list, and answers which connection has to go.
func (l *listener) put(c *Conn, to *list.List) *Conn {
	if c.in != nil {
		c.in.Remove(c.at)
	}
	c.in, c.at, c.since = to, to.PushBack(c), time.Now()
	if to.Len() <= l.limit {
		return nil
	}
	spare, _ := to.Front().Value.(*Conn)
	spare.leave()
	return spare
}

// leave takes c out of its list.
func (c *Conn) leave() {
	if c.in != nil {
		c.in.Remove(c.at)
		c.in, c.at = nil, nil
	}
}

func (c *Conn) end() {
	if c != nil {
		_ = c.Conn.Close() // who reads from it is told
	}
}

// Busy says that somebody begins to be served, and Idle that this is over.
func (c *Conn) Busy() { c.serve(1) }

// Idle is for each Busy.
func (c *Conn) Idle() { c.serve(-1) }

func (c *Conn) serve(more int) {
	var spare *Conn
	c.of.mu.Lock()
	c.served += more
	to := &c.of.idle
	if c.served > 0 {
		to = &c.of.busy
	}
	if c.in != nil && c.in != to {
		spare = c.of.put(c, to)
	}
	c.of.mu.Unlock()
	spare.end()
}

// Close closes the connection, and makes room.
func (c *Conn) Close() error {
	c.of.mu.Lock()
	c.leave()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// RemoteAddr is the address of the peer. For those who are told nothing but
// that, Of finds the connection.
func (c *Conn) RemoteAddr() net.Addr { return peer{c.Conn.RemoteAddr(), c} }

type peer struct {
	net.Addr
	conn *Conn
}

// Of is the connection that a RemoteAddr is of; nil for another's.
func Of(addr net.Addr) *Conn {
	p, _ := addr.(peer)
	return p.conn
}
