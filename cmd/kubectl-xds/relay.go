package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"time"
)

// preface is what a client of HTTP/2 says first (RFC 9113, 3.4), with an empty
// SETTINGS frame. A server answers with SETTINGS of its own.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// answerTime is how long the proxy may take for the first byte of a connection.
const answerTime = 10 * time.Second

// listen accepts xdsproxy on loopback.
func (f *forward) listen(ctx context.Context) (err error) {
	if f.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	f.over.Go(func() {
		<-ctx.Done()
		_ = f.listener.Close()
	})
	f.over.Go(func() {
		for {
			c, err := f.listener.Accept()
			if err != nil {
				return
			}
			f.over.Go(func() { f.relay(ctx, c.(*net.TCPConn)) })
		}
	})
	return nil
}

// local is the address that xdsproxy is given.
func (f *forward) local() string { return f.listener.Addr().String() }

// relay passes a connection on. Until the proxy has said something, another kubectl
// may be tried: what the client has said is said again.
func (f *forward) relay(ctx context.Context, client *net.TCPConn) {
	defer client.Close()
	stop := context.AfterFunc(ctx, func() { _ = client.Close() })
	defer stop()
	head := make([]byte, 4<<10)
	n, err := client.Read(head)
	if err != nil {
		return
	}
	head = head[:n]
	limit, done := context.WithTimeout(ctx, f.v.o.wait)
	defer done()
	for {
		if port := f.port.Load(); port != 0 {
			conn, first, err := f.reach(limit, int(port), head)
			if err == nil {
				f.pass(ctx, client, conn, first)
				return
			}
		}
		select {
		case <-limit.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// pass copies both ways until both ends have said all.
func (f *forward) pass(ctx context.Context, client, proxy *net.TCPConn, first []byte) {
	defer proxy.Close()
	stop := context.AfterFunc(ctx, func() { _ = proxy.Close() })
	defer stop()
	if _, err := client.Write(first); err != nil {
		return
	}
	up := make(chan struct{})
	go func() {
		defer close(up)
		_, _ = io.Copy(proxy, client)
		_ = proxy.CloseWrite()
	}()
	_, _ = io.Copy(client, proxy)
	// The proxy says nothing more, and is not listening either.
	_ = client.Close()
	<-up
}

// reach connects to the proxy through a kubectl, and returns the first that it
// answers. That kubectl accepts a connection does not say that somebody is there.
func (f *forward) reach(ctx context.Context, port int, head []byte) (*net.TCPConn, []byte, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, nil, err
	}
	conn := c.(*net.TCPConn)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(answerTime))
	_, err = conn.Write(head)
	first := make([]byte, 4<<10)
	n := 0
	if err == nil {
		n, err = io.ReadAtLeast(conn, first, 9)
	}
	// The first frame is SETTINGS, of the whole connection.
	if err == nil && (first[3] != 4 || !bytes.Equal(first[5:9], make([]byte, 4))) {
		err = errors.New("what answers does not speak HTTP/2")
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, err
	}
	return conn, first[:n], conn.SetDeadline(time.Time{})
}

// hangUp ends a connection so that nobody on the way takes it for a failure: the
// other end is the first to close it.
func hangUp(conn *net.TCPConn) {
	_ = conn.CloseWrite()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}
