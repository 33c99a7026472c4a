package proxy

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/proxy/mint"
	"github.com/xdsproxy/xdsproxy/session"
)

// secureGreeter is a TLS server that says its name and echoes.
func secureGreeter(t *testing.T, addr string, c *xdstest.Credential) {
	t.Helper()
	l, err := tls.Listen("tcp", addr, &tls.Config{Certificates: []tls.Certificate{c.TLS()}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer c.Close()
				io.WriteString(c, "this is "+addr+"\n")
				io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
}

// secureOriginal is a proxy that asks where its clients were going, with TLS as
// the mode says.
func secureOriginal(t *testing.T, listen string, secure mode, with ...func(*Pair)) *world {
	t.Helper()
	w := &world{t: t, log: &memoryLog{}, secure: secure, pki: newPKI(t)}
	w.with = append(with, func(p *Pair) {
		p.OriginalDst = true
		if p.UpstreamTLS != nil {
			p.UpstreamTLS.ServerName = ""
		}
	})
	w.start(Addr{"tcp", listen}, Addr{}, 0)
	return w
}

// Each client gets to the server that it dialled, which is asked for and held to
// the name that the client asks for, or else to the address that it dialled. The
// client sees a certificate for the same.
func originalDstTLS(t *testing.T, listen, source, host string, port func(int) string) {
	dir := filepath.Join(t.TempDir(), "ca")
	w := secureOriginal(t, listen, mode{true, true}, func(p *Pair) { p.ListenTLS = &ListenTLS{CADir: dir} })
	root, err := os.ReadFile(filepath.Join(dir, mint.CertFile))
	if err != nil {
		t.Fatal(err)
	}
	servers := []struct {
		name string // "": it has none but its address
		leaf xdstest.Leaf
	}{
		{"a.test", xdstest.Leaf{DNS: []string{"a.test"}}},
		{"b.test", xdstest.Leaf{DNS: []string{"b.test"}}},
		{"", xdstest.Leaf{IPs: []string{host}}},
	}
	for i, s := range servers {
		secureGreeter(t, port(i), w.pki.root.Issue(s.leaf))
		redirect(t, source, port(i), w.proxy.Addrs()[0])
	}
	hello := func(to, name string) (*tls.Conn, error) {
		c := tls.Client(from(t, source, to), &tls.Config{RootCAs: poolOf(root), ServerName: name, NextProtos: []string{"h2"}})
		return c, c.Handshake()
	}
	for i, s := range servers {
		name := s.name
		if name == "" {
			name = host
		}
		c, err := hello(port(i), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := append([]byte("this is "+port(i)+"\n"), grpcOpening()...)
		got := make([]byte, len(want))
		c.Write(grpcOpening())
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("dialled %s: %q, %v", port(i), got, err)
		}
		w.log.await(t, "the connection to "+port(i), func(e session.Entry) bool {
			return e.Kind == session.KindConnect && e.Peer.Upstream == port(i) && e.Peer.Client == c.LocalAddr().String() &&
				e.Peer.ClientTLS.ServerName == s.name && e.Peer.ServerTLS.ServerName == name && e.Peer.ServerTLS.Verified &&
				e.Peer.ClientTLS.ALPN == "h2" && e.Peer.ServerTLS.ALPN == "h2"
		})
		c.Close()
	}
	// Who asks for another name than the server has, is told so.
	if c, err := hello(port(0), "b.test"); err == nil {
		t.Error("a server was taken for another one")
		c.Close()
	}
	n := w.log.await(t, "a note", func(e session.Entry) bool { return e.Note != nil && e.Note.Code == session.NoteTLSFailed }).Note
	if !strings.Contains(n.Text, port(0)) || !strings.Contains(n.Text, `for "a.test", signed by "CN=test root", not for "b.test"`) {
		t.Errorf("%+v", n)
	}
}

// One leg in plaintext.
func testOriginalDstHalfTLS(t *testing.T) {
	t.Run("to the server", func(t *testing.T) {
		w := secureOriginal(t, "127.0.0.1:0", mode{server: true})
		to := "10.77.0.1:18110"
		secureGreeter(t, to, w.pki.root.Issue(xdstest.Leaf{IPs: []string{"10.77.0.1"}}))
		redirect(t, "10.77.0.2", to, w.proxy.Addrs()[0])
		c := from(t, "10.77.0.2", to)
		c.Write(grpcOpening())
		want := append([]byte("this is "+to+"\n"), grpcOpening()...)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%q, %v", got, err)
		}
		if p := w.log.await(t, "connect", ofKind(session.KindConnect)).Peer; p.Upstream != to || p.ServerTLS.ServerName != "10.77.0.1" || p.ClientTLS != nil {
			t.Errorf("%+v", p)
		}
	})
	t.Run("to the client", func(t *testing.T) {
		w := secureOriginal(t, "127.0.0.1:0", mode{client: true})
		to := "10.77.0.1:18111"
		greeter(t, to)
		redirect(t, "10.77.0.2", to, w.proxy.Addrs()[0])
		c := tls.Client(from(t, "10.77.0.2", to), &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost"})
		if text, err := io.ReadAll(c); err != nil || string(text) != "this is "+to {
			t.Errorf("%q, %v", text, err)
		}
	})
}

// A rule that redirects the proxy, too, is found whatever speaks TLS, and said
// to be that.
func testSecureRedirectedBack(t *testing.T) {
	for name, secure := range modes {
		t.Run(name, func(t *testing.T) {
			to := map[string]string{"plaintext": "10.77.0.1:18120", "TLS": "10.77.0.1:18121", "TLS to client": "10.77.0.1:18122", "TLS to server": "10.77.0.1:18123"}[name]
			w := secureOriginal(t, "127.0.0.1:0", secure)
			redirect(t, "", to, w.proxy.Addrs()[0])
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("10.77.0.2")}, Timeout: guard}
			if c, err := d.Dial("tcp", to); err == nil {
				c.SetDeadline(time.Now().Add(guard))
				if secure.client {
					c = tls.Client(c, &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}})
				}
				c.Write(grpcOpening())
				if n, err := c.Read(make([]byte, 1)); n > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("%d bytes, %v", n, err)
				}
				c.Close()
			}
			n := w.log.await(t, "a note", func(e session.Entry) bool { return e.Note != nil && e.Note.Code == session.NoteDialFailed }).Note
			if !strings.Contains(n.Text, "the proxy's own connection was redirected back to it") || !strings.Contains(n.Hint, "--uid-owner") {
				t.Errorf("%+v", n)
			}
			w.log.await(t, "the end of both", func(session.Entry) bool { return w.count(session.KindDisconnect) == 2 })
			if n := w.count(session.KindConnect); n != 2 {
				t.Errorf("%d connections were made", n)
			}
			for _, e := range w.log.all() {
				if e.Note != nil && strings.HasPrefix(e.Note.Text, "client ") && strings.Contains(e.Note.Text, "speaks") {
					t.Errorf("the client is blamed: %s", e.Note.Text)
				}
			}
		})
	}
}

// Clients that nobody redirected, or whose server is not there, are let go of
// before any handshake.
func testSecureOriginalDstCutOff(t *testing.T) {
	w := secureOriginal(t, "127.0.0.1:0", mode{true, true})
	cutOff(t, "127.0.0.1", w.proxy.Addrs()[0].String())
	if n := w.log.await(t, "a note", ofKind(session.KindNote)).Note; n.Code != session.NoteNotRedirected {
		t.Errorf("%+v", n)
	}
	redirect(t, "10.77.0.2", "10.77.0.1:18130", w.proxy.Addrs()[0])
	c := tls.Client(from(t, "10.77.0.2", "10.77.0.1:18130"), &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost"})
	if err := c.Handshake(); err == nil {
		t.Error("a handshake with nobody")
	}
	w.log.await(t, "a note", func(e session.Entry) bool {
		return e.Note != nil && e.Note.Code == session.NoteDialFailed && e.Note.Text == "cannot reach upstream 10.77.0.1:18130: connection refused"
	})
}
