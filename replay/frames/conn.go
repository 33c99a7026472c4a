// Package frames lets a gRPC server say on the wire what gRPC has no call for: a
// reset of one stream with a code of choice, a GOAWAY while it goes on. It puts
// frames of HTTP/2 between those that pass, and changes none of them.
package frames

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"
)

// Types and flags of frames: RFC 9113, section 6.
const (
	typeHeaders      = 1
	typeReset        = 3
	typeGoAway       = 7
	typeContinuation = 9
	flagEndHeaders   = 4
	frameHeader      = 9
	cancelled        = 8
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Listener accepts connections into which frames can be put.
type Listener struct{ net.Listener }

// Accept is that of net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: border{skip: len(preface)}}, nil
}

// conn is a connection of a server.
type conn struct {
	net.Conn

	write sync.Mutex
	out   border
	say   []byte // frames for the client, at the next border

	read   sync.Mutex
	in     border
	hear   []byte // frames as if the client had sent them
	opened []uint32
	last   uint32 // stream
}

// address leads from what gRPC tells of a peer to its connection.
type address struct {
	net.Addr
	*conn
}

func (a address) Network() string { return a.Addr.Network() }

// RemoteAddr is that of net.Conn.
func (c *conn) RemoteAddr() net.Addr { return address{c.Conn.RemoteAddr(), c} }

// Write is that of net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	c.write.Lock()
	defer c.write.Unlock()
	n, err := c.Conn.Write(b)
	c.out.pass(b[:n], nil)
	if err == nil {
		err = c.put()
	}
	return n, err
}

// put writes what is to be said, if no frame is half written. c.write is held.
func (c *conn) put() error {
	if len(c.say) == 0 || !c.out.clear() {
		return nil
	}
	_, err := c.Conn.Write(c.say)
	c.say = nil
	return err
}

// Read is that of net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	for {
		c.read.Lock()
		if len(c.hear) > 0 && c.in.clear() {
			n := copy(b, c.hear)
			c.hear = c.hear[n:]
			if len(c.hear) == 0 {
				_ = c.SetReadDeadline(time.Time{}) // which woke nobody, if data came just then
			}
			c.read.Unlock()
			return n, nil
		}
		c.read.Unlock()
		n, err := c.Conn.Read(b)
		c.read.Lock()
		c.in.pass(b[:n], c.begun)
		woken := n == 0 && len(c.hear) > 0 && errors.Is(err, os.ErrDeadlineExceeded)
		if woken {
			_ = c.SetReadDeadline(time.Time{}) // else the next read says why
		}
		c.read.Unlock()
		if !woken {
			return n, err
		}
	}
}

// begun notes a stream that the client opens. c.read is held.
func (c *conn) begun(typ byte, stream uint32) {
	if typ == typeHeaders && stream > c.last && len(c.opened) < 1<<16 {
		c.last = stream
		c.opened = append(c.opened, stream)
	}
}

// Stream is a stream of a server.
type Stream struct {
	c  *conn
	id uint32
}

type key struct{}

// Tap tells the streams of Listener's connections apart. gRPC calls it for each
// in the order in which they were opened.
func Tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	p, _ := peer.FromContext(ctx)
	if p == nil {
		return ctx, nil
	}
	a, is := p.Addr.(address)
	if !is {
		return ctx, nil
	}
	a.conn.read.Lock()
	defer a.conn.read.Unlock()
	if len(a.opened) == 0 {
		return ctx, nil
	}
	id := a.opened[0]
	a.opened = a.opened[1:]
	return context.WithValue(ctx, key{}, Stream{a.conn, id}), nil
}

// Of is the stream of a handler's context.
func Of(ctx context.Context) (Stream, bool) {
	s, is := ctx.Value(key{}).(Stream)
	return s, is
}

// Reset ends the stream by RST_STREAM with an error code of HTTP/2. The server
// is told that the client did it, so that it adds no status; ctx is that of its
// handler.
func (s Stream) Reset(ctx context.Context, code uint32) error {
	s.c.read.Lock()
	s.c.hear = append(s.c.hear, reset(s.id, cancelled)...)
	err := s.c.SetReadDeadline(time.Unix(1, 0)) // wakes a read
	s.c.read.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		return errors.New("the stream does not end")
	}
	s.c.write.Lock()
	defer s.c.write.Unlock()
	s.c.say = append(s.c.say, reset(s.id, code)...)
	return s.c.put()
}

// GoAway tells the client to open no more streams on the connection.
func (s Stream) GoAway() error {
	s.c.read.Lock()
	last := s.c.last
	s.c.read.Unlock()
	s.c.write.Lock()
	defer s.c.write.Unlock()
	const debug = "on purpose"
	s.c.say = append(s.c.say, 0, 0, 8+byte(len(debug)), typeGoAway, 0, 0, 0, 0, 0)
	s.c.say = append(binary.BigEndian.AppendUint64(s.c.say, uint64(last)<<32), debug...)
	return s.c.put()
}

func reset(stream, code uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte{0, 0, 4, typeReset, 0}, stream)
	return binary.BigEndian.AppendUint32(b, code)
}

// border follows where frames begin and end.
type border struct {
	skip   int    // bytes that belong to what began
	header []byte // of the next frame, as far as it has come
	block  bool   // a header block is not at its end: nothing may come between
}

// clear says whether a frame may be put here.
func (b *border) clear() bool { return b.skip == 0 && len(b.header) == 0 && !b.block }

func (b *border) pass(data []byte, begun func(typ byte, stream uint32)) {
	for len(data) > 0 {
		if b.skip > 0 {
			n := min(b.skip, len(data))
			b.skip -= n
			data = data[n:]
			continue
		}
		n := min(frameHeader-len(b.header), len(data))
		b.header, data = append(b.header, data[:n]...), data[n:]
		if len(b.header) < frameHeader {
			return
		}
		h := b.header
		b.skip = int(h[0])<<16 | int(h[1])<<8 | int(h[2])
		if h[3] == typeHeaders || h[3] == typeContinuation {
			b.block = h[4]&flagEndHeaders == 0
		}
		if begun != nil {
			begun(h[3], binary.BigEndian.Uint32(h[5:])&(1<<31-1))
		}
		b.header = b.header[:0]
	}
}
