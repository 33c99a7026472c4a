package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// duet is a client and a server of the test's own with a proxy between them. In
// TLS, what they say and hear is what is inside.
type duet struct {
	*proxy
	client net.Conn
	server func() net.Conn // waits until the proxy has called
	random *rand.Rand
}

// newDuet starts a proxy with these flags between a client and a server that
// speak TLS as they are told; nil: they speak plaintext.
func newDuet(t *testing.T, args []string, client, server *tls.Config) *duet {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p := startProxyWith(t, l.Addr().String(), setup{args: args})
	conn, err := net.Dial("tcp", p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if client != nil {
		conn = tls.Client(conn, client)
	}
	seed := rand.Uint64()
	t.Logf("seed of the cuts: %d", seed)
	return &duet{p, conn, sync.OnceValue(func() net.Conn {
		conn, err := l.Accept()
		if err != nil {
			return uncalled{conn, err}
		}
		t.Cleanup(func() { conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(patience))
		if server != nil {
			return tls.Server(conn, server)
		}
		return conn
	}), rand.New(rand.NewPCG(seed, 0))}
}

// uncalled is the server whom nobody called.
type uncalled struct {
	net.Conn
	err error
}

func (n uncalled) Read([]byte) (int, error)  { return 0, n.err }
func (n uncalled) Write([]byte) (int, error) { return 0, n.err }

// say sends data from one end, in pieces, and requires that it arrives as it
// is. The client has to speak first.
func (d *duet) say(t *testing.T, byServer bool, data []byte) {
	t.Helper()
	if err := d.try(byServer, data); err != nil {
		t.Fatal(err)
	}
}

func (d *duet) try(byServer bool, data []byte) error {
	return d.cut(byServer, data, d.random.Uint64())
}

// cut is try with cuts of which others know nothing: it can be called for both
// directions at the same time.
func (d *duet) cut(byServer bool, data []byte, seed uint64) error {
	sent := make(chan error, 1)
	cuts := rand.New(rand.NewPCG(seed, 0))
	go func() { // a handshake needs both ends at the same time
		src := d.client
		if byServer {
			src = d.server()
		}
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+cuts.IntN(1+cuts.IntN(3000+len(data)/100)))
			if _, err := src.Write(rest[:n]); err != nil {
				sent <- err
				return
			}
			rest = rest[n:]
			if cuts.IntN(20) == 0 {
				time.Sleep(time.Duration(cuts.IntN(2000)) * time.Microsecond)
			}
		}
		sent <- nil
	}()
	got, heard := make([]byte, len(data)), make(chan error, 1)
	go func() {
		dst := d.client
		if !byServer {
			dst = d.server()
		}
		_, err := io.ReadFull(dst, got)
		heard <- err
	}()
	if err := <-sent; err != nil {
		return fmt.Errorf("sending %d bytes: %w", len(data), err)
	}
	if err := <-heard; err != nil {
		return fmt.Errorf("receiving %d bytes: %w", len(data), err)
	}
	if !bytes.Equal(got, data) {
		return fmt.Errorf("%d bytes arrive as others", len(data))
	}
	return nil
}

// finish ends both directions, the client's first, and requires that the other
// end sees nothing but the end.
func (d *duet) finish(t *testing.T) {
	t.Helper()
	for _, way := range [][2]net.Conn{{d.client, d.server()}, {d.server(), d.client}} {
		if err := way[0].(halfCloser).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(way[1]); err != nil || len(rest) > 0 {
			t.Fatalf("after the end came %d bytes and %v", len(rest), err)
		}
	}
	d.stop(t)
}
