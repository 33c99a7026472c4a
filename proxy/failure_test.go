package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// lab is where handshakes go wrong: certificates on disk, and both peers.
type lab struct {
	*testing.T
	*pki
	dir string
}

// issue writes a certificate that the test's root has signed.
func (l *lab) issue(name string, leaf xdstest.Leaf) (*xdstest.Credential, [2]string) {
	return l.write(name, l.root.Issue(leaf))
}

func (l *lab) write(name string, c *xdstest.Credential) (*xdstest.Credential, [2]string) {
	l.Helper()
	cert, key, err := c.Write(l.dir, name)
	if err != nil {
		l.Fatal(err)
	}
	return c, [2]string{cert, key}
}

// with is a TLS server that has this certificate.
func (l *lab) with(c *xdstest.Credential, change ...func(*tls.Config)) func(net.Conn) {
	cfg := &tls.Config{Certificates: []tls.Certificate{c.TLS()}, NextProtos: []string{"h2"}, ClientCAs: l.root.Pool()}
	for _, f := range change {
		f(cfg)
	}
	return func(nc net.Conn) {
		c := tls.Server(nc, cfg)
		if c.Handshake() == nil {
			io.Copy(c, c)
		}
		c.Close()
	}
}

// speaks is a client that speaks TLS. What it returns is how it ended for it.
func (l *lab) speaks(change ...func(*tls.Config)) func(net.Conn) error {
	cfg := &tls.Config{RootCAs: l.root.Pool(), ServerName: "localhost", NextProtos: []string{"h2"}}
	for _, f := range change {
		f(cfg)
	}
	return func(nc net.Conn) error {
		c := tls.Client(nc, cfg)
		if err := c.Handshake(); err != nil {
			return err
		}
		return plaintext(c)
	}
}

// plaintext is a client that speaks HTTP/2 at once.
func plaintext(nc net.Conn) error {
	nc.Write(grpcOpening())
	_, err := io.Copy(io.Discard, nc)
	return err
}

func silent(nc net.Conn) { io.Copy(io.Discard, nc) }

func says(text string) func(net.Conn) {
	return func(nc net.Conn) {
		nc.Write([]byte(text))
		io.Copy(io.Discard, nc)
	}
}

// failing is one way to fail.
type failing struct {
	listen   *ListenTLS
	upstream *UpstreamTLS
	serve    func(net.Conn) // nil: silent
	client   func(net.Conn) error

	kind FailureKind
	side session.Side // of the note
	by   session.Side // of the disconnect
	text []string
	hint string
	told string // how it ends for the client; "": a reset
}

func TestHandshakesThatFail(t *testing.T) {
	now := time.Now()
	here := []string{"localhost"}
	cases := map[string]func(*lab) failing{
		"upstream expired": func(l *lab) failing {
			c, _ := l.issue("old", xdstest.Leaf{DNS: here, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-time.Hour)})
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, serve: l.with(c),
				kind: FailedExpired, side: session.Server, by: session.Proxy,
				text: []string{`its certificate, for "localhost", signed by "CN=test root", expired on ` + day(c.Cert.NotAfter)}, hint: "renew the server's certificate",
			}
		},
		"upstream not yet valid": func(l *lab) failing {
			c, _ := l.issue("young", xdstest.Leaf{DNS: here, NotBefore: now.Add(time.Hour)})
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, serve: l.with(c),
				kind: FailedEarly, side: session.Server, by: session.Proxy,
				text: []string{"is valid from " + day(c.Cert.NotBefore) + " only"}, hint: "check this machine's clock",
			}
		},
		"upstream of another name": func(l *lab) failing {
			c, _ := l.issue("istiod", xdstest.Leaf{DNS: []string{"*.mesh", "istiod.istio-system.svc"}, URIs: []string{"spiffe://a/istiod"}})
			return failing{
				upstream: &UpstreamTLS{CA: l.ca}, serve: l.with(c),
				kind: FailedName, side: session.Server, by: session.Proxy,
				text: []string{`"istiod.istio-system.svc"`, `"spiffe://a/istiod"`, `not for "127.0.0.1"`}, hint: "set --upstream-server-name istiod.istio-system.svc",
			}
		},
		"upstream with SPIFFE name only": func(l *lab) failing {
			c, _ := l.issue("spiffe", xdstest.Leaf{URIs: []string{"spiffe://a/b"}})
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, serve: l.with(c),
				kind: FailedName, side: session.Server, by: session.Proxy,
				text: []string{`is for "spiffe://a/b"`, `not for "localhost"`}, hint: "--upstream-insecure-skip-verify",
			}
		},
		"upstream of an unknown authority": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"},
				serve:    l.with(xdstest.NewAuthority("stranger").Issue(xdstest.Leaf{DNS: here})),
				kind:     FailedAuthority, side: session.Server, by: session.Proxy,
				text: []string{`is not signed by an authority that "` + l.ca + `" has`}, hint: `give the root of "CN=stranger" with --upstream-ca FILE`,
			}
		},
		"upstream unknown to the system": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{ServerName: "localhost"}, serve: l.with(l.pki.upstream),
				kind: FailedAuthority, side: session.Server, by: session.Proxy, hint: "--upstream-ca FILE",
			}
		},
		"upstream wants a certificate, 1.3": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"},
				serve:    l.with(l.pki.upstream, func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }),
				kind:     FailedWanted, side: session.Server, by: session.Server,
				text: []string{"upstream 127.0.0.1:", `: TLS: it wants a client certificate, and there is none to show: alert "certificate required" (116)`}, hint: "--upstream-cert FILE --upstream-key FILE",
			}
		},
		"upstream wants a certificate, 1.2": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"},
				serve: l.with(l.pki.upstream, func(c *tls.Config) {
					c.ClientAuth, c.MaxVersion = tls.RequireAndVerifyClientCert, tls.VersionTLS12
				}),
				kind: FailedWanted, side: session.Server, by: session.Server,
				text: []string{"TLS handshake: it wants a client certificate"}, hint: "--upstream-cert FILE --upstream-key FILE",
			}
		},
		"upstream rejects our certificate": func(l *lab) failing {
			c, files := l.write("foreign", xdstest.NewAuthority("stranger").Issue(xdstest.Leaf{URIs: []string{"spiffe://test/p"}}))
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost", Cert: files[0], Key: files[1]},
				serve:    l.with(l.pki.upstream, func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }),
				kind:     FailedRejected, side: session.Server, by: session.Server,
				text: []string{`it rejects the proxy's certificate (for "spiffe://test/p", signed by "CN=stranger", valid until ` + day(c.Cert.NotAfter) + `): alert "unknown certificate authority" (48)`},
				hint: "--upstream-cert",
			}
		},
		"upstream rejects our expired certificate": func(l *lab) failing {
			_, files := l.issue("old", xdstest.Leaf{NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-time.Hour)})
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost", Cert: files[0], Key: files[1]},
				serve:    l.with(l.pki.upstream, func(c *tls.Config) { c.ClientAuth = tls.RequireAndVerifyClientCert }),
				kind:     FailedRejected, side: session.Server, by: session.Server,
				text: []string{`alert "expired certificate" (45)`}, hint: "has not expired",
			}
		},
		"upstream speaks plaintext": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, serve: says("\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
				kind: FailedPlaintext, side: session.Server, by: session.Proxy,
				text: []string{"it answers with HTTP/2 in plaintext"}, hint: "drop --upstream-tls",
			}
		},
		"upstream speaks HTTP/1.1": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, serve: says("HTTP/1.1 400 Bad Request\r\n\r\n"),
				kind: FailedPlaintext, side: session.Server, by: session.Proxy,
				text: []string{"it answers with HTTP/1.1 in plaintext"}, hint: "drop --upstream-tls",
			}
		},
		"upstream is too old": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost", Versions: Versions{Min: tls.VersionTLS13}},
				serve:    l.with(l.pki.upstream, func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }),
				kind:     FailedVersion, side: session.Server, by: session.Server,
				text: []string{"no version of TLS that is allowed here (1.3)"}, hint: "set --tls-min-version 1.2",
			}
		},
		"upstream has another protocol": func(l *lab) failing {
			return failing{
				listen: l.listener(), client: l.speaks(),
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"},
				serve:    l.with(l.pki.upstream, func(c *tls.Config) { c.NextProtos = []string{"spdy/3"} }),
				kind:     FailedALPN, side: session.Server, by: session.Server,
				text: []string{`it speaks none of the protocols that were offered ("h2"): alert "no application protocol" (120)`}, hint: "--upstream",
				told: "no application protocol",
			}
		},
		"upstream is silent": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"},
				kind:     FailedTimeout, side: session.Server, by: session.Proxy,
				text: []string{"TLS handshake: no answer in time"}, hint: "--dial-timeout",
			}
		},
		"upstream closes": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, serve: func(nc net.Conn) { nc.Read(make([]byte, 1)) },
				kind: FailedClosed, side: session.Server, by: session.Server,
				text: []string{"TLS handshake: it closed the connection"}, hint: "drop --upstream-tls",
			}
		},
		"upstream fails for a TLS client": func(l *lab) failing {
			c, _ := l.issue("istiod", xdstest.Leaf{DNS: []string{"istiod"}})
			return failing{
				listen: l.listener(), client: l.speaks(), upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, serve: l.with(c),
				kind: FailedName, side: session.Server, by: session.Proxy, hint: "set --upstream-server-name istiod", told: "internal error",
			}
		},
		"client speaks HTTP/2 in plaintext": func(l *lab) failing {
			return failing{
				listen: l.listener(), client: plaintext,
				kind: FailedPlaintext, side: session.Client, by: session.Proxy,
				text: []string{"client 127.0.0.1:", "it speaks HTTP/2 in plaintext to a TLS listener"}, hint: "drop --tls-cert and --tls-ca-dir", told: "EOF or reset",
			}
		},
		"client speaks HTTP/1.1 in plaintext": func(l *lab) failing {
			return failing{
				listen: l.listener(), client: func(nc net.Conn) error {
					nc.Write([]byte("POST /v3/discovery:clusters HTTP/1.1\r\n\r\n"))
					_, err := io.Copy(io.Discard, nc)
					return err
				},
				kind: FailedPlaintext, side: session.Client, by: session.Proxy,
				text: []string{"it speaks HTTP/1.1 in plaintext"}, hint: "drop --tls-cert", told: "EOF or reset",
			}
		},
		"client does not trust the minted certificate": func(l *lab) failing {
			return failing{
				listen: &ListenTLS{CADir: filepath.Join(l.dir, "ca")}, client: l.speaks(),
				kind: FailedRejected, side: session.Client, by: session.Client,
				text: []string{`it rejects the listener's certificate (for "localhost", signed by "CN=xdsproxy debugging CA of `}, hint: "let the client trust " + filepath.Join(l.dir, "ca", "ca.pem") + " as a root",
				told: "signed by unknown authority",
			}
		},
		"client does not trust the given certificate": func(l *lab) failing {
			return failing{
				listen: l.listener(), client: l.speaks(func(c *tls.Config) { c.RootCAs = x509.NewCertPool() }),
				kind: FailedRejected, side: session.Client, by: session.Client,
				text: []string{"it rejects the listener's certificate", `"bad certificate" (42)`}, hint: `check that the client trusts who signed the certificate in "` + l.listenFiles[0],
				told: "signed by unknown authority",
			}
		},
		"client shows no certificate": func(l *lab) failing {
			return failing{
				listen: l.asking(AuthRequire), client: l.speaks(),
				kind: FailedWanted, side: session.Client, by: session.Proxy,
				text: []string{"it shows no certificate"}, hint: "set --tls-client-auth request", told: "certificate required",
			}
		},
		"client holds its certificate back": func(l *lab) failing {
			c := xdstest.NewAuthority("stranger").Issue(xdstest.Leaf{})
			return failing{
				listen: l.asking(AuthRequire), client: l.speaks(func(cfg *tls.Config) { cfg.Certificates = []tls.Certificate{c.TLS()} }),
				kind: FailedWanted, side: session.Client, by: session.Proxy,
				text: []string{"it shows no certificate"}, hint: "holds back a certificate that none of the authorities in --tls-client-ca has signed", told: "certificate required",
			}
		},
		"client of an unknown authority": func(l *lab) failing {
			return failing{
				listen: l.asking(AuthRequest), client: l.speaks(showing(xdstest.NewAuthority("stranger").Issue(xdstest.Leaf{URIs: []string{"spiffe://x/y"}}))),
				kind: FailedAuthority, side: session.Client, by: session.Proxy,
				text: []string{`its certificate, for "spiffe://x/y", signed by "CN=stranger", is not signed by an authority that "` + l.ca + `" has`}, hint: `add the root of "CN=stranger" to the file of --tls-client-ca`,
				told: "unknown certificate authority",
			}
		},
		"client expired": func(l *lab) failing {
			c, _ := l.issue("old", xdstest.Leaf{NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-time.Hour)})
			return failing{
				listen: l.asking(AuthRequire), client: l.speaks(showing(c)),
				kind: FailedExpired, side: session.Client, by: session.Proxy,
				text: []string{"expired on " + day(c.Cert.NotAfter)}, hint: "renew the client's certificate", told: "expired certificate",
			}
		},
		"client may not be a client": func(l *lab) failing {
			c, _ := l.issue("server", xdstest.Leaf{Usage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
			return failing{
				listen: l.asking(AuthRequire), client: l.speaks(showing(c)),
				kind: FailedCert, side: session.Client, by: session.Proxy,
				text: []string{"incompatible key usage"}, hint: "mend the client's certificate", told: "bad certificate",
			}
		},
		"client is too old": func(l *lab) failing {
			listen := l.listener()
			listen.Versions.Min = tls.VersionTLS13
			return failing{
				listen: listen, client: l.speaks(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 }),
				kind: FailedVersion, side: session.Client, by: session.Proxy,
				text: []string{"no version of TLS that is allowed here: 1.3 is"}, hint: "set --tls-min-version 1.2", told: "protocol version",
			}
		},
		"client has another protocol": func(l *lab) failing {
			return failing{
				listen: l.listener(), client: l.speaks(func(c *tls.Config) { c.NextProtos = []string{"istio-peer"} }),
				kind: FailedALPN, side: session.Client, by: session.Proxy,
				text: []string{`it offers only protocols that the upstream leg cannot have ("istio-peer")`}, hint: "offer h2", told: "no application protocol",
			}
		},
		"client asks for no host": func(l *lab) failing {
			return failing{
				listen: &ListenTLS{CADir: filepath.Join(l.dir, "ca")}, client: l.speaks(func(c *tls.Config) { c.ServerName = "white space" }),
				kind: FailedMint, side: session.Client, by: session.Proxy,
				text: []string{"no certificate can be made for it"}, hint: "--tls-cert", told: "internal error",
			}
		},
		"client is slow": func(l *lab) failing {
			return failing{
				listen: l.listener(), client: func(nc net.Conn) error {
					nc.Write([]byte("\x16\x03\x01"))
					_, err := io.Copy(io.Discard, nc)
					return err
				},
				kind: FailedTimeout, side: session.Client, by: session.Proxy,
				text: []string{"TLS handshake: it did not go on in time"}, hint: "--dial-timeout", told: "EOF or reset",
			}
		},
		"client closes": func(l *lab) failing {
			return failing{
				listen: l.listener(), client: func(nc net.Conn) error { return nc.Close() },
				kind: FailedClosed, side: session.Client, by: session.Client,
				text: []string{"TLS handshake: it closed the connection"}, hint: "may do so without a word", told: "EOF or reset",
			}
		},
		"client speaks TLS to a plaintext listener": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, client: l.speaks(),
				kind: FailedEncrypted, side: session.Client, by: session.Proxy,
				text: []string{"it speaks TLS to a plaintext listener"}, hint: "--tls-cert FILE --tls-key FILE",
			}
		},
		"client says nothing": func(l *lab) failing {
			return failing{
				upstream: &UpstreamTLS{CA: l.ca, ServerName: "localhost"}, client: func(nc net.Conn) error {
					_, err := io.Copy(io.Discard, nc)
					return err
				},
				kind: FailedSilent, side: session.Client, by: session.Proxy,
				text: []string{"it said nothing in time"}, hint: "xDS clients speak first",
			}
		},
	}
	for name, make := range cases {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			fail(t, make(&lab{T: t, pki: newPKI(t), dir: t.TempDir()}))
		})
	}
}

func (l *lab) listener() *ListenTLS {
	return &ListenTLS{Cert: l.listenFiles[0], Key: l.listenFiles[1]}
}

func (l *lab) asking(how ClientAuth) *ListenTLS {
	t := l.listener()
	t.ClientAuth, t.ClientCA = how, l.ca
	return t
}

// showing shows a certificate even if none of the authorities that the listener
// names has signed it. Go leaves it out otherwise.
func showing(c *xdstest.Credential) func(*tls.Config) {
	return func(cfg *tls.Config) {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair := c.TLS()
			return &pair, nil
		}
	}
}

// fail lets one client fail, and looks at what it and the log were told.
func fail(t *testing.T, f failing) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if f.serve == nil {
		f.serve = silent
	}
	if f.client == nil {
		f.client = plaintext
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			nc, err := upstream.Accept()
			if err != nil {
				return
			}
			nc.SetDeadline(time.Now().Add(guard))
			f.serve(nc)
			nc.Close()
		}
	}()
	log, patience := &memoryLog{}, guard
	if f.kind == FailedTimeout || f.kind == FailedSilent { // the others are not to run out of time
		patience = 400 * time.Millisecond
	}
	p, err := Listen(Config{
		Pairs: []Pair{{Listen: loopback, Upstream: Addr{"tcp", upstream.Addr().String()}, ListenTLS: f.listen, UpstreamTLS: f.upstream}},
		Log:   log, DialTimeout: patience,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx) }()
	client, err := net.Dial("tcp", p.Addrs()[0].String())
	if err != nil {
		t.Fatal(err)
	}
	client.SetDeadline(time.Now().Add(guard))
	saw := f.client(client)
	end := log.await(t, "disconnect", ofKind(session.KindDisconnect))
	client.Close()
	cancel()
	upstream.Close()
	<-done
	<-served

	switch {
	case errors.Is(saw, context.DeadlineExceeded), saw != nil && strings.Contains(saw.Error(), "i/o timeout"):
		t.Errorf("the client was told nothing")
	case f.told == "EOF or reset":
	case f.told == "" && (saw == nil || !strings.Contains(saw.Error(), "reset")):
		t.Errorf("the client saw %v; want a reset", saw)
	case f.told != "" && (saw == nil || !strings.Contains(saw.Error(), f.told)):
		t.Errorf("the client saw %v; want %q", saw, f.told)
	}
	var notes []session.Entry
	for _, e := range log.all() {
		// Where a refusal comes after the handshake, bytes were on their way.
		if e.Kind == session.KindNote && e.Note.Code != session.NoteUndelivered {
			notes = append(notes, e)
		}
	}
	if len(notes) != 1 || notes[0].Note.Code != session.NoteTLSFailed {
		t.Fatalf("notes are %+v", notes)
	}
	note := notes[0].Note
	t.Logf("%s\n%s", note.Text, note.Hint)
	if notes[0].Side != f.side {
		t.Errorf("the note is of the %s", notes[0].Side)
	}
	for _, words := range f.text {
		if !strings.Contains(note.Text, words) {
			t.Errorf("the sentence is %q\nwant %q", note.Text, words)
		}
	}
	if !strings.Contains(note.Hint, f.hint) {
		t.Errorf("the hint is %q\nwant %q", note.Hint, f.hint)
	}
	if end.Side != f.by || end.Status.Message != note.Text {
		t.Errorf("ended by the %s: %s", end.Side, end.Status.Message)
	}
	if first := log.all()[0]; first.Kind != session.KindConnect || (f.listen != nil) != (first.Peer.ClientTLS != nil) {
		t.Errorf("the first entry is %+v", first)
	}
}

// To allow TLS 1.2 is no help where it is allowed.
func TestHintOfVersions(t *testing.T) {
	protocolVersion := &net.OpError{Op: "remote error", Err: tls.AlertError(70)}
	for low, helps := range map[uint16]bool{0: false, tls.VersionTLS12: false, tls.VersionTLS13: true} {
		f := ExplainUpstream(protocolVersion, Facts{Addr: "server:443", Upstream: &UpstreamTLS{Versions: Versions{Min: low}}})
		if f.Kind != FailedVersion || strings.Contains(f.Hint, "--tls-min-version") != helps {
			t.Errorf("least version %#x: %s, hint %q", low, f.Kind, f.Hint)
		}
	}
}
