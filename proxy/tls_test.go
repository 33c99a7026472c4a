package proxy

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/internal/xdstest/heard"
	"github.com/xdsproxy/xdsproxy/proxy/mint"
	"github.com/xdsproxy/xdsproxy/session"
)

// exchange sends the client's opening through, and returns the connect entry.
func (w *world) exchange(client, server net.Conn) *session.Peer {
	w.t.Helper()
	client.Write(grpcOpening())
	got := make([]byte, len(grpcOpening()))
	if _, err := io.ReadFull(server, got); err != nil || !bytes.Equal(got, grpcOpening()) {
		w.t.Fatalf("the server got %q, %v", got, err)
	}
	return w.log.await(w.t, "connect", ofKind(session.KindConnect)).Peer
}

// Both ends are known by the connect entry, with mTLS on both legs.
func TestIdentities(t *testing.T) {
	k := newPKI(t)
	w := newWorld(t, loopback, loopback, 0, func(p *Pair) {
		p.ListenTLS = &ListenTLS{Cert: k.listenFiles[0], Key: k.listenFiles[1], ClientAuth: AuthRequire, ClientCA: k.ca}
		p.UpstreamTLS = &UpstreamTLS{CA: k.ca, ServerName: "localhost", Cert: k.proxyFiles[0], Key: k.proxyFiles[1], Versions: Versions{Max: tls.VersionTLS12}}
	})
	envoy := k.root.Issue(xdstest.Leaf{URIs: []string{"spiffe://test/envoy"}, DNS: []string{"envoy.test"}, IPs: []string{"192.0.2.1"}})
	var shown tls.ConnectionState
	accepted := make(chan net.Conn, 1)
	go func() {
		nc, err := w.upstream.Accept()
		if err != nil {
			return
		}
		c := tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{k.upstream.TLS()}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: k.root.Pool(), NextProtos: []string{"h2"}})
		c.Handshake()
		shown = c.ConnectionState()
		accepted <- c
	}()
	client, err := tls.Dial("tcp", w.proxy.Addrs()[0].String(), &tls.Config{RootCAs: k.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}, Certificates: []tls.Certificate{envoy.TLS()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server := <-accepted
	defer server.Close()
	peer := w.exchange(client, server)
	if c := peer.ClientTLS; c.Version != "1.3" || c.ALPN != "h2" || c.ServerName != "localhost" || !c.Verified || c.Issuer != "CN=test root" ||
		!c.NotAfter.Equal(envoy.Cert.NotAfter) || !slices.Equal(c.Identities, []string{"spiffe://test/envoy", "envoy.test", "192.0.2.1"}) {
		t.Errorf("the client's leg is %+v", c)
	}
	if s := peer.ServerTLS; s.Version != "1.2" || s.ALPN != "h2" || s.ServerName != "localhost" || !s.Verified || s.Cipher == "" || s.Identities[0] != "spiffe://test/server" {
		t.Errorf("the server's leg is %+v", s)
	}
	if got := shown.PeerCertificates[0].URIs[0].String(); got != "spiffe://test/proxy" {
		t.Errorf("the server saw %s", got)
	}
}

// A certificate with very many very long names costs little.
func TestIdentitiesAreBounded(t *testing.T) {
	leaf := xdstest.Leaf{}
	for range 3000 {
		leaf.DNS = append(leaf.DNS, strings.Repeat("a", 60)+"."+strings.Repeat("b", 400))
	}
	got := new(session.TLS)
	identify(got, xdstest.NewAuthority("root").Issue(leaf).Cert)
	if len(got.Identities) != maxIdentities {
		t.Errorf("%d names", len(got.Identities))
	}
	for _, id := range got.Identities {
		if len(id) > maxIdentity+len("…") {
			t.Errorf("a name of %d bytes", len(id))
		}
	}
	if text := namesText(got.Identities); len(text) > 2000 {
		t.Errorf("a sentence of %d bytes", len(text))
	}
}

// The client is told what the server has chosen of what it offers itself.
func TestProtocolsAreMirrored(t *testing.T) {
	for name, tc := range map[string]struct {
		offers, knows []string
		want          string
	}{
		"gRPC":         {[]string{"h2"}, []string{"h2"}, "h2"},
		"second":       {[]string{"h2", "http/1.1"}, []string{"http/1.1"}, "http/1.1"},
		"of another":   {[]string{"istio", "h2"}, []string{"istio"}, "istio"},
		"server knows": {[]string{"h2"}, nil, ""},
		"client knows": {nil, []string{"h2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0)
			go func() {
				nc, err := w.upstream.Accept()
				if err != nil {
					return
				}
				defer nc.Close()
				c := tls.Server(nc, &tls.Config{Certificates: []tls.Certificate{w.pki.upstream.TLS()}, NextProtos: tc.knows})
				c.Handshake()
				io.Copy(io.Discard, c)
			}()
			c, err := tls.Dial("tcp", w.proxy.Addrs()[0].String(), &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: tc.offers})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if got := c.ConnectionState().NegotiatedProtocol; got != tc.want {
				t.Errorf("the client was told %q", got)
			}
			peer := w.log.await(t, "connect", ofKind(session.KindConnect)).Peer
			if peer.ClientTLS.ALPN != tc.want || peer.ServerTLS.ALPN != tc.want {
				t.Errorf("recorded are %q and %q", peer.ClientTLS.ALPN, peer.ServerTLS.ALPN)
			}
			if odd := len(tc.offers) > 0 && tc.want == ""; odd {
				w.log.await(t, "note", func(e session.Entry) bool { return e.Note != nil && e.Note.Code == session.NoteTLSOdd })
			}
		})
	}
}

// A plaintext client's first bytes decide what the server is offered.
func TestProtocolOfAPlaintextClient(t *testing.T) {
	for opening, want := range map[string]string{
		string(grpcOpening()): "h2", "POST /v3/discovery:clusters HTTP/1.1\r\n\r\n": "http/1.1", "PRI x": "http/1.1",
	} {
		w := newSecureWorld(t, mode{server: true}, loopback, loopback, 0)
		client, server := w.dial()
		for i := range len(opening) { // in the smallest pieces
			client.Write([]byte(opening[i : i+1]))
		}
		got := make([]byte, len(opening))
		if _, err := io.ReadFull(server, got); err != nil || string(got) != opening {
			t.Errorf("the server got %q, %v", got, err)
		}
		if alpn := w.log.await(t, "connect", ofKind(session.KindConnect)).Peer.ServerTLS.ALPN; alpn != want {
			t.Errorf("%q was offered for %q", alpn, opening)
		}
	}
}

// A client that trusts the minted authority gets the server that it asks for.
func TestMintedListener(t *testing.T) {
	k, dir := newPKI(t), filepath.Join(t.TempDir(), "ca")
	w := newWorld(t, loopback, loopback, 0, func(p *Pair) {
		p.ListenTLS = &ListenTLS{CADir: dir}
		p.UpstreamTLS = &UpstreamTLS{CA: k.ca}
	})
	w.pki = k
	text, err := os.ReadFile(filepath.Join(dir, mint.CertFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"localhost", "127.0.0.1"} { // the second is not sent
		w.secure = mode{server: true}
		got := make(chan net.Conn, 1)
		go func() { got <- w.accept() }()
		cfg := &tls.Config{RootCAs: poolOf(text), ServerName: name, NextProtos: []string{"h2"}}
		c, err := tls.Dial("tcp", w.proxy.Addrs()[0].String(), cfg)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer c.Close()
		server := <-got
		defer server.Close()
		if _, err := c.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		want := name
		w.log.await(t, "connect to "+want, func(e session.Entry) bool { return e.Peer != nil && e.Peer.ServerTLS.ServerName == want })
	}
}

func poolOf(text []byte) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(text)
	return p
}

// New files are used by the next connection, on both legs.
func TestRotation(t *testing.T) {
	k := newPKI(t)
	w := newWorld(t, loopback, loopback, 0, func(p *Pair) {
		p.ListenTLS = &ListenTLS{Cert: k.listenFiles[0], Key: k.listenFiles[1]}
		p.UpstreamTLS = &UpstreamTLS{CA: k.ca, ServerName: "localhost"}
	})
	w.secure, w.pki = mode{true, true}, k
	first, server := w.dial()
	w.exchange(first, server)

	dir := filepath.Dir(k.ca)
	k.root = xdstest.NewAuthority("second root")
	here := xdstest.Leaf{DNS: []string{"localhost"}}
	k.upstream = k.root.Issue(here)
	for name, c := range map[string]*xdstest.Credential{"ca": &k.root.Credential, "listen": k.root.Issue(here)} {
		if _, _, err := c.Write(dir, name); err != nil {
			t.Fatal(err)
		}
	}
	second, server2 := w.dial() // trusts the second root only, at both ends
	w.exchange(second, server2)
	if _, err := first.Write([]byte("x")); err != nil {
		t.Errorf("the first connection broke: %v", err)
	}
}

// The keys of both legs are logged, so that a capture can be read.
func TestKeyLog(t *testing.T) {
	var log heard.Buffer
	w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0, func(p *Pair) { p.ListenTLS.KeyLog, p.UpstreamTLS.KeyLog = &log, &log })
	client, server := w.dial()
	w.exchange(client, server)
	if n := strings.Count(log.String(), "CLIENT_TRAFFIC_SECRET_0 "); n != 2 {
		t.Errorf("%d connections in the log:\n%s", n, log.String())
	}
}

// Any certificate will do where that was asked for, and the entry says so.
func TestInsecure(t *testing.T) {
	w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0, func(p *Pair) { p.UpstreamTLS = &UpstreamTLS{Insecure: true} })
	client, server := w.dial()
	if s := w.exchange(client, server).ServerTLS; s.Verified || len(s.Identities) == 0 {
		t.Errorf("the server's leg is %+v", s)
	}
}

// An end without close_notify is passed on as an end, and told apart.
func TestTruncation(t *testing.T) {
	w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0)
	client, server := w.dial()
	w.exchange(client, server)
	socketOf(client).Close()
	if _, err := io.ReadAll(server); err != nil {
		t.Errorf("the server sees %v", err)
	}
	server.Close()
	end := w.log.await(t, "disconnect", ofKind(session.KindDisconnect))
	if end.Side != session.Client || end.Status.Message != "the client closed the connection without close_notify" {
		t.Errorf("ended by the %s: %s", end.Side, end.Status.Message)
	}
}

// Records that come byte by byte wake the leg before there is anything to pass
// on.
func TestRecordsInPieces(t *testing.T) {
	w := newSecureWorld(t, mode{true, true}, loopback, loopback, 0)
	nc, err := net.Dial("tcp", w.proxy.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	piece := tls.Client(&piecewise{nc}, &tls.Config{RootCAs: w.pki.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}})
	got := make(chan net.Conn, 1)
	go func() { got <- w.accept() }()
	if err := piece.Handshake(); err != nil {
		t.Fatal(err)
	}
	end := <-got
	defer end.Close()
	sent := bytes.Repeat([]byte("0123456789"), 700)
	go func() {
		piece.Write(sent)
		piece.CloseWrite()
	}()
	if all, err := io.ReadAll(end); err != nil || !bytes.Equal(all, sent) {
		t.Errorf("the server got %d bytes, %v", len(all), err)
	}
}

// piecewise writes a byte at a time.
type piecewise struct{ net.Conn }

func (p *piecewise) Write(b []byte) (int, error) {
	for i := range b {
		if n, err := p.Conn.Write(b[i : i+1]); err != nil {
			return i + n, err
		}
	}
	return len(b), nil
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	k := newPKI(t)
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		listen   *ListenTLS
		upstream *UpstreamTLS
		setting  string
		text     string
	}{
		"no such file":  {listen: &ListenTLS{Cert: filepath.Join(dir, "x"), Key: k.listenFiles[1]}, setting: "--tls-cert", text: `cannot use the listener's certificate: "` + filepath.Join(dir, "x") + `": no such file or directory`},
		"other key":     {listen: &ListenTLS{Cert: k.listenFiles[0], Key: k.proxyFiles[1]}, setting: "--tls-cert", text: "is not the key of the certificate"},
		"nothing":       {listen: &ListenTLS{}, setting: "--tls-cert", text: "neither a certificate nor an authority"},
		"client CA":     {listen: &ListenTLS{Cert: k.listenFiles[0], Key: k.listenFiles[1], ClientCA: dir}, setting: "--tls-client-ca", text: "no regular file"},
		"upstream CA":   {upstream: &UpstreamTLS{CA: k.listenFiles[1]}, setting: "--upstream-ca", text: "no certificate in it, only PRIVATE KEY"},
		"upstream pair": {upstream: &UpstreamTLS{Cert: k.proxyFiles[0]}, setting: "--upstream-cert", text: "no private key in it"},
		"authority":     {listen: &ListenTLS{CADir: k.ca}, setting: "--tls-ca-dir", text: "not a directory"},
		"nameless":      {upstream: &UpstreamTLS{CA: k.ca}, setting: "--upstream-server-name", text: "no host name"},
	} {
		t.Run(name, func(t *testing.T) {
			up := loopback
			if name == "nameless" {
				up = Addr{"unix", "/x"}
			}
			_, err := Listen(Config{Log: &memoryLog{}, Pairs: []Pair{{Listen: loopback, Upstream: up, ListenTLS: tc.listen, UpstreamTLS: tc.upstream}}})
			var file *TLSFileError
			if !errors.As(err, &file) || file.Setting != tc.setting || !strings.Contains(err.Error(), tc.text) || !strings.Contains(file.Hint(), tc.setting) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
