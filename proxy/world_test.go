package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// world is a proxy between a client and an upstream that tests hold both ends
// of.
type world struct {
	t        *testing.T
	log      *memoryLog
	proxy    *Proxy
	upstream net.Listener
	stop     func() // drains and waits

	with   []func(*Pair) // what is special about the pair
	secure mode
	pki    *pki
	limits Limits
	// patience is the dial timeout; 0: 10 s.
	patience time.Duration
}

// mode says which legs speak TLS.
type mode struct{ client, server bool }

// modes are all four, for tests to range over.
var modes = map[string]mode{
	"plaintext": {}, "TLS": {true, true}, "TLS to client": {client: true}, "TLS to server": {server: true},
}

// inEachMode runs a test in all four.
func inEachMode(t *testing.T, test func(*testing.T, mode)) {
	for name, secure := range modes {
		t.Run(name, func(t *testing.T) { test(t, secure) })
	}
}

// pki has a certificate for each end.
type pki struct {
	root                    *xdstest.Authority
	listen, upstream        *xdstest.Credential
	ca                      string
	listenFiles, proxyFiles [2]string // certificate, key
}

func newPKI(t testing.TB) *pki {
	t.Helper()
	k := &pki{root: xdstest.NewAuthority("test root")}
	here := xdstest.Leaf{DNS: []string{"localhost"}, IPs: []string{"127.0.0.1", "::1"}, URIs: []string{"spiffe://test/server"}}
	k.listen, k.upstream = k.root.Issue(here), k.root.Issue(here)
	dir := t.TempDir()
	write := func(c *xdstest.Credential, name string) (files [2]string) {
		var err error
		if files[0], files[1], err = c.Write(dir, name); err != nil {
			t.Fatal(err)
		}
		return files
	}
	k.ca = write(&k.root.Credential, "ca")[0]
	k.listenFiles = write(k.listen, "listen")
	k.proxyFiles = write(k.root.Issue(xdstest.Leaf{URIs: []string{"spiffe://test/proxy"}}), "proxy")
	return k
}

func newWorld(t *testing.T, listen, upstream Addr, drain time.Duration, with ...func(*Pair)) *world {
	t.Helper()
	return newSecureWorld(t, mode{}, listen, upstream, drain, with...)
}

func newSecureWorld(t *testing.T, secure mode, listen, upstream Addr, drain time.Duration, with ...func(*Pair)) *world {
	t.Helper()
	w := &world{t: t, log: &memoryLog{}, secure: secure, with: with}
	if secure != (mode{}) {
		w.pki = newPKI(t)
	}
	var err error
	if w.upstream, err = net.Listen(upstream.Network, upstream.Address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.upstream.Close() })
	w.start(listen, Addr{upstream.Network, w.upstream.Addr().String()}, drain)
	return w
}

// pair is the pair of a world, by its mode.
func (w *world) pair(listen, upstream Addr) Pair {
	p := Pair{Listen: listen, Upstream: upstream}
	if w.secure.client {
		p.ListenTLS = &ListenTLS{Cert: w.pki.listenFiles[0], Key: w.pki.listenFiles[1]}
	}
	if w.secure.server {
		p.UpstreamTLS = &UpstreamTLS{CA: w.pki.ca, ServerName: "localhost"}
	}
	for _, change := range w.with {
		change(&p)
	}
	return p
}

func (w *world) start(listen, upstream Addr, drain time.Duration) {
	w.startPair(w.pair(listen, upstream), drain)
}

func (w *world) startPair(pair Pair, drain time.Duration) {
	if w.patience == 0 {
		w.patience = 10 * time.Second
	}
	var err error
	w.proxy, err = Listen(Config{
		Pairs: []Pair{pair}, Log: w.log, Limits: w.limits, Drain: drain, DialTimeout: w.patience,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.proxy.Serve(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
	w.t.Cleanup(w.stop)
}

// dial returns both ends of a new connection through the proxy. Between a
// plaintext client and a TLS upstream the server's end is there only once the
// client has sent something.
func (w *world) dial() (client, server net.Conn) {
	w.t.Helper()
	a := w.proxy.Addrs()[0]
	client, err := net.Dial(a.Network(), a.String())
	if err != nil {
		w.t.Fatal(err)
	}
	if w.secure == (mode{server: true}) {
		late := &lateConn{ready: make(chan struct{})}
		go func() {
			late.conn = w.accept()
			close(late.ready)
		}()
		server = late
	} else {
		accepted := make(chan net.Conn, 1)
		go func() { accepted <- w.accept() }()
		if w.secure.client {
			c := tls.Client(client, &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}})
			if err := c.Handshake(); err != nil {
				w.t.Errorf("the client's handshake: %v", err)
			}
			client = c
		}
		server = <-accepted
	}
	for _, c := range []net.Conn{client, server} {
		c.SetDeadline(time.Now().Add(guard))
		w.t.Cleanup(func() { c.Close() })
	}
	return client, server
}

// accept returns the server's end, with its handshake done.
func (w *world) accept() net.Conn {
	w.upstream.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(guard))
	server, err := w.upstream.Accept()
	if errors.Is(err, net.ErrClosed) {
		return brokenConn() // the test is over
	}
	if err != nil {
		w.t.Error(err)
		return brokenConn()
	}
	server.SetDeadline(time.Now().Add(guard))
	if w.secure.server {
		c := tls.Server(server, &tls.Config{Certificates: []tls.Certificate{w.pki.upstream.TLS()}, NextProtos: []string{"h2", "http/1.1"}})
		if err := c.Handshake(); err != nil {
			w.t.Errorf("the server's handshake: %v", err)
		}
		return c
	}
	return server
}

func brokenConn() net.Conn {
	a, b := net.Pipe()
	b.Close()
	return a
}

// lateConn is a connection that is still to be accepted.
type lateConn struct {
	ready chan struct{}
	conn  net.Conn // once it is ready
}

func (c *lateConn) accept() net.Conn {
	<-c.ready
	return c.conn
}

func (c *lateConn) Close() error {
	select {
	case <-c.ready:
		return c.conn.Close()
	default:
		return nil
	}
}

func (c *lateConn) Read(p []byte) (int, error)         { return c.accept().Read(p) }
func (c *lateConn) Write(p []byte) (int, error)        { return c.accept().Write(p) }
func (c *lateConn) CloseWrite() error                  { return c.accept().(halfCloser).CloseWrite() }
func (c *lateConn) LocalAddr() net.Addr                { return c.accept().LocalAddr() }
func (c *lateConn) RemoteAddr() net.Addr               { return c.accept().RemoteAddr() }
func (c *lateConn) SetDeadline(time.Time) error        { return nil } // accept sets one
func (c *lateConn) SetReadDeadline(t time.Time) error  { return c.accept().SetReadDeadline(t) }
func (c *lateConn) SetWriteDeadline(t time.Time) error { return c.accept().SetWriteDeadline(t) }

// socketOf is the TCP connection under one.
func socketOf(c net.Conn) *net.TCPConn {
	switch c := c.(type) {
	case *lateConn:
		return socketOf(c.accept())
	case *tls.Conn:
		return socketOf(c.NetConn())
	}
	return c.(*net.TCPConn)
}
