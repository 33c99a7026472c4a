package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/console"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// pki is what both ends of a handshake may hold, as files and as values.
type pki struct {
	root, other           *xdstest.Authority
	good, old, early      *xdstest.Credential
	strange, wrong        *xdstest.Credential
	client, oldClient     *xdstest.Credential
	rootFile, otherFile   string
	goodCert, goodKey     string
	wrongCert, wrongKey   string
	clientCert            string
	clientKey             string
	strangeCert, strange2 string
}

const serverName = "istiod.istio-system.svc"

func newPKI(t *testing.T) *pki {
	t.Helper()
	dir := t.TempDir()
	p := &pki{root: xdstest.NewAuthority("mesh root"), other: xdstest.NewAuthority("another root")}
	names := []string{serverName}
	now := time.Now()
	p.good = p.root.Issue(xdstest.Leaf{DNS: names})
	p.old = p.root.Issue(xdstest.Leaf{DNS: names, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-24 * time.Hour)})
	p.early = p.root.Issue(xdstest.Leaf{DNS: names, NotBefore: now.Add(24 * time.Hour), NotAfter: now.Add(48 * time.Hour)})
	p.wrong = p.root.Issue(xdstest.Leaf{DNS: []string{"consul.example"}})
	p.strange = p.other.Issue(xdstest.Leaf{DNS: names, CommonName: "stranger"})
	p.client = p.root.Issue(xdstest.Leaf{URIs: []string{"spiffe://cluster.local/ns/a/sa/gateway"}})
	p.oldClient = p.root.Issue(xdstest.Leaf{
		URIs: []string{"spiffe://cluster.local/ns/a/sa/old"}, NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-24 * time.Hour),
	})
	write := func(c *xdstest.Credential, name string) (cert, key string) {
		t.Helper()
		cert, key, err := c.Write(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	p.rootFile, _ = write(&p.root.Credential, "root")
	p.otherFile, _ = write(&p.other.Credential, "other")
	p.goodCert, p.goodKey = write(p.good, "good")
	p.wrongCert, p.wrongKey = write(p.wrong, "wrong")
	p.clientCert, p.clientKey = write(p.client, "client")
	p.strangeCert, p.strange2 = write(p.strange, "strange")
	return p
}

// serving is an upstream that speaks TLS and gives back what it gets.
func serving(t *testing.T, config *tls.Config) string {
	t.Helper()
	return answering(t, func(c net.Conn) {
		s := tls.Server(c, config)
		_, _ = io.Copy(s, s)
	})
}

// answering is an upstream that does with a connection whatever do says.
func answering(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				do(c)
			}()
		}
	}()
	return l.Addr().String()
}

// preface is what an HTTP/2 client says first.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// plain says something without TLS, and waits for the end.
func plain(t *testing.T, addr string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	_, _ = io.WriteString(c, preface)
	_, _ = io.Copy(io.Discard, c)
}

// secured does the same with TLS. That it fails is what is tested.
func secured(config *tls.Config) func(*testing.T, string) {
	return func(t *testing.T, addr string) {
		t.Helper()
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		s := tls.Client(c, config)
		_, _ = io.WriteString(s, preface)
		_, _ = io.Copy(io.Discard, s)
	}
}

// Every way in which a handshake fails has its own sentence and its own hint,
// and both are in what the program prints.
func TestTLSFailuresArePrinted(t *testing.T) {
	p := newPKI(t)
	h2 := []string{"h2"}
	server := func(c *xdstest.Credential) *tls.Config {
		return &tls.Config{Certificates: []tls.Certificate{c.TLS()}, NextProtos: h2}
	}
	mutual := server(p.good)
	mutual.ClientAuth, mutual.ClientCAs = tls.RequireAndVerifyClientCert, p.root.Pool()
	old12 := server(p.good)
	old12.MaxVersion = tls.VersionTLS12
	other := server(p.good)
	other.NextProtos = []string{"spdy/3"}
	// Left to itself, Go shows only a certificate that the server would take.
	client := func(roots *x509.CertPool, shown ...*xdstest.Credential) *tls.Config {
		c := &tls.Config{RootCAs: roots, ServerName: serverName, NextProtos: h2}
		for _, s := range shown {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				cert := s.TLS()
				return &cert, nil
			}
		}
		return c
	}
	client12 := client(p.root.Pool())
	client12.MaxVersion = tls.VersionTLS12
	clientOther := client(p.root.Pool())
	clientOther.NextProtos = []string{"spdy/3"}
	askOther := client(p.root.Pool())
	askOther.ServerName = "other.example"

	verify := []string{"--upstream-ca", p.rootFile, "--upstream-server-name", serverName}
	listen := []string{"--tls-cert", p.goodCert, "--tls-key", p.goodKey}
	with := func(args []string, more ...string) []string { return append(append([]string(nil), args...), more...) }
	plaintext := echo(t)

	for _, c := range []struct {
		name           string
		args           []string
		upstream       string
		client         func(*testing.T, string)
		sentence, hint string
	}{
		{
			"upstream expired", verify, serving(t, server(p.old)), plain,
			`upstream \S+: TLS handshake: its certificate, for "istiod.istio-system.svc", signed by ".*mesh root", expired on \d{4}-\d\d-\d\d`,
			`renew the server's certificate, or check this machine's clock`,
		},
		{
			"upstream not valid yet", verify, serving(t, server(p.early)), plain,
			`upstream \S+: TLS handshake: its certificate.* is valid from .* only`, `check this machine's clock`,
		},
		{
			"upstream has another name", verify, serving(t, server(p.wrong)), plain,
			`upstream \S+: TLS handshake: its certificate is for "consul.example".*, not for "istiod.istio-system.svc"`,
			`set --upstream-server-name consul.example`,
		},
		{
			"upstream of an unknown authority", verify, serving(t, server(p.strange)), plain,
			`upstream \S+: TLS handshake: its certificate, for .*, is not signed by an authority that ".*root.pem" has`,
			`give the root of ".*another root" with --upstream-ca FILE`,
		},
		{
			"upstream that the system does not know",
			[]string{"--upstream-server-name", serverName},
			serving(t, server(p.good)), plain,
			`upstream \S+: TLS handshake: its certificate, for .*, is not signed by an authority that this system trusts`,
			`with --upstream-ca FILE`,
		},
		{
			"upstream wants a certificate", verify, serving(t, mutual), plain,
			`upstream \S+: TLS.*: it wants a client certificate, and there is none to show`,
			`give one with --upstream-cert FILE --upstream-key FILE`,
		},
		{
			"upstream rejects ours", with(verify, "--upstream-cert", p.strangeCert, "--upstream-key", p.strange2), serving(t, mutual), plain,
			`upstream \S+: TLS.*: it rejects the proxy's certificate \(for .*another root`,
			`check that --upstream-cert names a certificate that this server trusts`,
		},
		{
			"upstream speaks an old version", with(verify, "--tls-min-version", "1.3"), serving(t, old12), plain,
			`upstream \S+: TLS handshake: it .*version of TLS`, `set --tls-min-version 1.2, or let the server speak TLS 1.3`,
		},
		{
			"upstream speaks another protocol", verify, serving(t, other), plain,
			`upstream \S+: TLS handshake: it speaks none of the protocols that were offered \("h2"\)`,
			`check that --upstream names the port for xDS`,
		},
		{
			"upstream speaks plaintext", verify, answering(t, func(c net.Conn) {
				_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
				_, _ = io.Copy(io.Discard, c)
			}), plain,
			`upstream \S+: TLS handshake: it answers with HTTP/1.1 in plaintext`, `drop --upstream-tls if the port is meant for plaintext`,
		},
		{
			"upstream closes", verify, answering(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 16)) }), plain,
			`upstream \S+: TLS handshake: it closed the connection`, `if the port speaks plaintext, drop --upstream-tls`,
		},
		{
			"upstream is silent", with(verify, "--dial-timeout", "200ms"), answering(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }), plain,
			`upstream \S+: TLS handshake: no answer in time`, `raise --dial-timeout`,
		},
		{
			"client speaks plaintext", listen, plaintext, plain,
			`client \S+: TLS handshake: it speaks HTTP/2 in plaintext to a TLS listener`, `let the client speak TLS, or drop --tls-cert`,
		},
		{
			"client shows nothing", with(listen, "--tls-client-ca", p.rootFile), plaintext, secured(client(p.root.Pool())),
			`client \S+: TLS handshake: it shows no certificate, which --tls-client-auth require asks for`, `give the client a certificate`,
		},
		{
			"client of an unknown authority", with(listen, "--tls-client-ca", p.rootFile), plaintext, secured(client(p.root.Pool(), p.strange)),
			`client \S+: TLS handshake: its certificate.* is not signed by an authority that ".*root.pem" has`,
			`add the root of ".*another root" to the file of --tls-client-ca`,
		},
		{
			"client expired", with(listen, "--tls-client-ca", p.rootFile), plaintext, secured(client(p.root.Pool(), p.oldClient)),
			`client \S+: TLS handshake: its certificate, for "spiffe://cluster.local/ns/a/sa/old".* expired on `, `renew the client's certificate`,
		},
		{
			"client rejects ours", listen, plaintext, secured(client(p.other.Pool())),
			`client \S+: TLS.*: it rejects the listener's certificate`, `check that the client trusts who signed the certificate in ".*good.pem"`,
		},
		{
			"client asks for another name", listen, plaintext, secured(askOther),
			`client \S+: TLS.*: it rejects the listener's certificate`, `and that one of its names is "other.example", which the client asked for`,
		},
		{
			"client speaks an old version", with(listen, "--tls-min-version", "1.3"), plaintext, secured(client12),
			`client \S+: TLS handshake: it speaks no version of TLS that is allowed here`, `set --tls-min-version 1.2, or let the client speak TLS 1.3`,
		},
		{
			"client speaks another protocol", listen, plaintext, secured(clientOther),
			`client \S+: TLS handshake: it offers only protocols that the upstream leg cannot have \("spdy/3"\)`, `let the client offer h2`,
		},
		{
			"client speaks TLS to plaintext", verify, serving(t, server(p.good)), secured(client(p.root.Pool())),
			`client \S+: it speaks TLS to a plaintext listener`, `give the listener a certificate with --tls-cert FILE --tls-key FILE, or --tls-ca-dir DIR`,
		},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			r := startRun(t, append([]string{"--headless", "--upstream", c.upstream}, c.args...)...)
			c.client(t, r.addr)
			out := r.lineWith(t, "xdsproxy: hint: ")
			r.signal(t, syscall.SIGTERM)
			if rest, code := r.end(t); code != 0 || strings.Contains(rest, "hint: ") {
				t.Errorf("ended with %d:\n%s", code, rest)
			}
			if want := regexp.MustCompile(`(?m)^\S+ warn ` + c.sentence + `.*\nxdsproxy: hint: .*` + c.hint); !want.MatchString(out) {
				t.Errorf("want %s\nin\n%s", want, out)
			}
		})
	}
}

// What is wrong with files of TLS is found before anything is listened on.
func TestTLSFilesAtStart(t *testing.T) {
	p := newPKI(t)
	missing := t.TempDir() + "/none.pem"
	for _, c := range []struct{ args, sentence, hint string }{
		{"--tls-cert " + missing + " --tls-key " + p.goodKey, `cannot use the listener's certificate: ".*none.pem": no such file or directory`, `check the file that --tls-cert names`},
		{"--tls-cert " + p.goodCert + " --tls-key " + p.wrongKey, `cannot use the listener's certificate: ".*wrong.key": it is not the key of the certificate in ".*good.pem"`, `--tls-cert`},
		{"--tls-cert " + p.goodKey + " --tls-key " + p.goodKey, `there is no certificate in it`, `--tls-cert`},
		{"--upstream-ca " + missing, `cannot use the roots of the upstream's certificate: ".*none.pem": no such file`, `check the file that --upstream-ca names`},
		{"--upstream-cert " + missing + " --upstream-key " + p.goodKey, `cannot use the certificate for the upstream: ".*none.pem"`, `--upstream-cert`},
		{"--tls-ca-dir " + p.goodCert, `cannot use the authority that signs for the listener`, `--tls-ca-dir`},
		{"--tls-cert " + p.goodCert + " --tls-key " + p.goodKey + " --tls-client-ca " + missing, `cannot use the roots of client certificates`, `--tls-client-ca`},
	} {
		args := append([]string{"run", "--headless", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1", "-w", t.TempDir() + "/s.xdsp"}, strings.Fields(c.args)...)
		cmd := command(t, args...)
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != console.ExitFailed ||
			!regexp.MustCompile(`^xdsproxy: error: .*`+c.sentence+`.*\n(xdsproxy: hint: .*\n)*xdsproxy: hint: .*`+c.hint).Match(out) {
			t.Errorf("%s: ended with %d\n%s", c.args, cmd.ProcessState.ExitCode(), out)
		}
	}
}
