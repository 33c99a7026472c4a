package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// Whoever sets Accepts decides about names, and about nothing else unless
// Insecure.
func TestAccepts(t *testing.T) {
	mesh, other := xdstest.NewAuthority("mesh"), xdstest.NewAuthority("mesh")
	ca := func(a *xdstest.Authority) string {
		path, _, err := a.Write(t.TempDir(), "ca")
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	spiffe := xdstest.Leaf{URIs: []string{"spiffe://mesh/plane"}}
	below := mesh.Authority("below").Issue(spiffe)
	byID := func(c *x509.Certificate) error {
		if len(c.URIs) == 1 && c.URIs[0].String() == "spiffe://mesh/plane" {
			return nil
		}
		return errors.New("it is for somebody else")
	}
	for _, c := range []struct {
		name     string
		shows    *xdstest.Credential
		tls      UpstreamTLS
		refused  string // what the note says; "": nothing is wrong
		sni      string
		verified bool
	}{
		{"the right one", mesh.Issue(spiffe), UpstreamTLS{CA: ca(mesh), Accepts: byID}, "", "", true},
		{"one below", below, UpstreamTLS{CA: ca(mesh), Accepts: byID, ServerName: "plane.example"}, "", "plane.example", true},
		{
			"another name", mesh.Issue(xdstest.Leaf{DNS: []string{"127.0.0.1"}}),
			UpstreamTLS{CA: ca(mesh), Accepts: byID},
			"its certificate is not one that is accepted: it is for somebody else", "", false,
		},
		{"another authority", other.Issue(spiffe), UpstreamTLS{CA: ca(mesh), Accepts: byID}, "is not signed by an authority that", "", false},
		{
			"expired", mesh.Issue(xdstest.Leaf{URIs: spiffe.URIs, NotAfter: time.Now().Add(-time.Minute)}),
			UpstreamTLS{CA: ca(mesh), Accepts: byID},
			"expired on", "", false,
		},
		{
			"for clients only", mesh.Issue(xdstest.Leaf{URIs: spiffe.URIs, Usage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}),
			UpstreamTLS{CA: ca(mesh), Accepts: byID},
			"cannot be verified", "", false,
		},
		{"any root", other.Issue(spiffe), UpstreamTLS{Insecure: true, Accepts: byID}, "", "", false},
		{"any root, another name", other.Issue(xdstest.Leaf{}), UpstreamTLS{Insecure: true, Accepts: byID}, "it is for somebody else", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			asked, served := "", make(chan struct{})
			go func() {
				defer close(served)
				nc, err := l.Accept()
				if err != nil {
					return
				}
				defer nc.Close()
				_ = nc.SetDeadline(time.Now().Add(guard))
				s := tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{c.shows.TLS()}, NextProtos: []string{"h2"}})
				if s.Handshake() == nil {
					asked = s.ConnectionState().ServerName
					_, _ = s.Read(make([]byte, 1))
				}
			}()
			t.Cleanup(func() {
				l.Close()
				<-served
			})
			w := &world{t: t, log: &memoryLog{}}
			c.tls.Source = "bootstrap x.yaml"
			w.startPair(Pair{
				Listen: Addr{"tcp", "127.0.0.1:0"}, Upstream: Addr{"tcp", l.Addr().String()}, UpstreamTLS: &c.tls,
			}, 0)
			client, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
			if err != nil {
				t.Fatal(err)
			}
			_ = client.SetDeadline(time.Now().Add(guard))
			if _, err := client.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
				t.Fatal(err)
			}
			if c.refused != "" {
				_, _ = client.Read(make([]byte, 1)) // until it is reset
			} else {
				<-served
			}
			client.Close()
			w.stop()
			if asked != c.sni {
				t.Errorf("asked for %q by SNI", asked)
			}
			var notes []string
			for _, e := range w.log.entries {
				switch {
				case e.Kind == session.KindConnect && e.Peer.ServerTLS.Verified != c.verified:
					t.Errorf("verified: %v", e.Peer.ServerTLS.Verified)
				case e.Kind == session.KindNote && e.Note.Code == session.NoteTLSFailed:
					notes = append(notes, e.Note.Text)
					if strings.Contains(e.Note.Hint, "--") || strings.HasPrefix(c.refused, "expired") && !strings.HasPrefix(e.Note.Hint, "TLS is spoken as bootstrap x.yaml says") {
						t.Errorf("the hint is %q", e.Note.Hint)
					}
				}
			}
			if got := strings.Join(notes, "\n"); (c.refused == "") != (got == "") || !strings.Contains(got, c.refused) {
				t.Errorf("got %q, want %q", got, c.refused)
			}
		})
	}
}

// An upstream without a host needs no name of one, if somebody else says which
// certificate is the right one.
func TestAcceptsOnASocket(t *testing.T) {
	at := Addr{"unix", "/run/absent.sock"}
	if _, err := newUpstreamTLS(UpstreamTLS{}, at, false, nil); err == nil {
		t.Error("there is nobody that the certificate has to be for")
	}
	accepts := func(*x509.Certificate) error { return nil }
	u, err := newUpstreamTLS(UpstreamTLS{Accepts: accepts}, at, false, nil)
	if err != nil || u.serverName("asked.example", at) != "" {
		t.Errorf("%v, asking for %q", err, u.serverName("asked.example", at))
	}
}

// Who ends does not take away the socket of who has replaced it.
func TestUnixSocketOfAnother(t *testing.T) {
	a := Addr{"unix", filepath.Join(t.TempDir(), "s")}
	first, err := a.Listen()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(a.Address); err != nil {
		t.Fatal(err)
	}
	second, err := a.Listen()
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	c, err := net.Dial("unix", a.Address)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	second.Close()
	if _, err := os.Lstat(a.Address); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its own stays: %v", err)
	}
}
