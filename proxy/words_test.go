package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// alert is what crypto/tls returns when a peer has sent one.
func alert(n uint8) error { return &net.OpError{Op: "remote error", Err: tls.AlertError(n)} }

// refusedFor is what verifying a certificate returns.
func refusedFor(c *x509.Certificate, err error) error {
	if c == nil {
		return &tls.CertificateVerificationError{Err: err}
	}
	return &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{c}, Err: err}
}

// Each way in which a server's TLS fails has its own sentence and its own advice.
func TestExplainUpstream(t *testing.T) {
	past, future := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC), time.Now().Add(240*time.Hour)
	old := &x509.Certificate{DNSNames: []string{"istiod"}, Issuer: pkix.Name{CommonName: "root"}, NotAfter: past}
	early := &x509.Certificate{DNSNames: []string{"istiod"}, NotBefore: future, NotAfter: future}
	bare := &x509.Certificate{}
	ours := &tls.Certificate{Leaf: &x509.Certificate{DNSNames: []string{"proxy"}, NotAfter: past}}
	plain := Facts{Addr: "1.2.3.4:15012", Upstream: &UpstreamTLS{}, Protocols: []string{"h2"}, ServerName: "istiod"}
	with := func(change func(*Facts)) Facts {
		f := plain
		change(&f)
		return f
	}
	asked := with(func(f *Facts) { f.Asked = true })
	showing := with(func(f *Facts) { f.Asked, f.Shown = true, ours })
	unasked := with(func(f *Facts) { f.Shown = ours })
	rooted := with(func(f *Facts) { f.Upstream = &UpstreamTLS{CA: "root.pem"} })
	for name, c := range map[string]struct {
		err   error
		facts Facts
		kind  FailureKind
		by    session.Side
		text  string // after who it is
		hint  string // a part
	}{
		"plaintext": {
			tls.RecordHeaderError{RecordHeader: [5]byte{'H', 'T', 'T', 'P', '/'}},
			plain, FailedPlaintext, session.Proxy,
			"it answers with HTTP/1.1 in plaintext", "drop --upstream-tls",
		},
		"not accepted": {
			refusedFor(old, &notAcceptedError{errors.New("x509: wrong name")}), plain, FailedName, session.Proxy,
			"its certificate is not one that is accepted: wrong name", "right server",
		},
		"expired": {
			refusedFor(old, x509.CertificateInvalidError{Cert: old, Reason: x509.Expired}), plain, FailedExpired, session.Proxy,
			`its certificate, for "istiod", signed by "CN=root", expired on 2020-02-03 04:05:06 UTC`, "renew the server's certificate",
		},
		"early": {
			refusedFor(early, x509.CertificateInvalidError{Cert: early, Reason: x509.Expired}), plain, FailedEarly, session.Proxy,
			`its certificate, for "istiod", is valid from ` + day(future) + " only", "this machine's clock",
		},
		"another name": {
			refusedFor(old, x509.HostnameError{Certificate: old, Host: "x"}), plain, FailedName, session.Proxy,
			`its certificate is for "istiod", signed by "CN=root", not for "x"`, "set --upstream-server-name istiod, if",
		},
		"no name": {
			refusedFor(bare, x509.HostnameError{Certificate: bare, Host: "x"}), plain, FailedName, session.Proxy,
			`its certificate is for nobody, not for "x"`, "it has no host name to verify",
		},
		"unknown authority": {
			refusedFor(old, x509.UnknownAuthorityError{}), plain, FailedAuthority, session.Proxy,
			`its certificate, for "istiod", signed by "CN=root", is not signed by an authority that this system trusts`, `give the root of "CN=root" with --upstream-ca FILE`,
		},
		"unknown to a file": {
			refusedFor(nil, x509.UnknownAuthorityError{Cert: old}), rooted, FailedAuthority, session.Proxy,
			`its certificate, for "istiod", signed by "CN=root", is not signed by an authority that "root.pem" has`, `"CN=root"`,
		},
		"unknown and not shown": {
			x509.UnknownAuthorityError{},
			plain, FailedAuthority, session.Proxy,
			"its certificate is not signed by an authority that this system trusts", "give the root of who signed it with",
		},
		"no roots": {
			x509.SystemRootsError{},
			plain, FailedAuthority, session.Proxy,
			"there are no roots on this system to verify its certificate with", "--upstream-ca FILE",
		},
		"something else with it": {
			refusedFor(old, errors.New("x509: too odd")), plain, FailedCert, session.Proxy,
			`its certificate, for "istiod", signed by "CN=root", cannot be verified: too odd`, "mend the server's certificate",
		},
		"a protocol that nobody offered": {
			errors.New("tls: server selected unadvertised ALPN protocol"), plain, FailedALPN, session.Proxy,
			`it chose a protocol that was not offered ("h2" was)`, "the server is at fault",
		},
		"a version": {
			errors.New("tls: server selected unsupported protocol version 301"), plain, FailedVersion, session.Proxy,
			"it chose a version of TLS that is not allowed here: 1.2 and 1.3 is", "let the server speak TLS 1.2 or 1.3",
		},
		"nothing to verify for": {
			errors.New("tls: either ServerName or InsecureSkipVerify must be specified in the tls.Config"), plain, FailedName, session.Proxy,
			"there is no name to verify its certificate for", "set --upstream-server-name NAME",
		},
		"late":  {os.ErrDeadlineExceeded, plain, FailedTimeout, session.Proxy, "no answer in time", "--dial-timeout"},
		"gone":  {io.EOF, plain, FailedClosed, session.Server, "it closed the connection", "drop --upstream-tls"},
		"reset": {&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, plain, FailedClosed, session.Server, "it closed the connection", "log says why"},
		"other": {errors.New("tls: it\x1bs odd"), plain, FailedOther, session.Proxy, `it\x1bs odd`, ""},

		"wants a certificate":         {alert(116), showing, FailedWanted, session.Server, `it wants a client certificate, and there is none to show: alert "certificate required" (116)`, "--upstream-cert FILE"},
		"asked and rejects":           {alert(42), asked, FailedWanted, session.Server, `it wants a client certificate, and there is none to show: alert "bad certificate" (42)`, "--upstream-cert FILE"},
		"asked and fails":             {alert(40), asked, FailedWanted, session.Server, `it wants a client certificate, and there is none to show: alert "handshake failure" (40)`, "--upstream-cert FILE"},
		"asked, and something else":   {alert(80), asked, FailedAlert, session.Server, `it ended the connection with alert "internal error" (80)`, "log says why"},
		"rejects ours":                {alert(48), showing, FailedRejected, session.Server, `it rejects the proxy's certificate (for "proxy", valid until 2020-02-03 04:05:06 UTC): alert "unknown certificate authority" (48)`, "--upstream-cert names"},
		"rejects what nobody showed":  {alert(42), plain, FailedAlert, session.Server, `it ended the connection with alert "bad certificate" (42)`, "log says why"},
		"rejects what it never asked": {alert(42), unasked, FailedAlert, session.Server, `it ended the connection with alert "bad certificate" (42)`, "log says why"},
		"fails with ours":             {alert(40), showing, FailedCipher, session.Server, `it finds no parameters that both sides take: alert "handshake failure" (40)`, "old cipher suites"},
		"fails":                       {alert(40), plain, FailedCipher, session.Server, `it finds no parameters that both sides take: alert "handshake failure" (40)`, "old cipher suites"},
		"not secure enough":           {alert(71), plain, FailedCipher, session.Server, `it finds no parameters that both sides take: alert "insufficient security level" (71)`, "old cipher suites"},
		"no version":                  {alert(70), plain, FailedVersion, session.Server, `it speaks no version of TLS that is allowed here (1.2 and 1.3): alert "protocol version not supported" (70)`, "let the server"},
		"no protocol":                 {alert(120), plain, FailedALPN, session.Server, `it speaks none of the protocols that were offered ("h2"): alert "no application protocol" (120)`, "the client's choice"},
		"no such name":                {alert(112), plain, FailedName, session.Server, `it knows no server "istiod": alert "unrecognized name" (112)`, "--upstream-server-name NAME"},
	} {
		for complete, where := range map[bool]string{false: "TLS handshake: ", true: "TLS: "} {
			c.facts.Complete = complete
			f := ExplainUpstream(c.err, c.facts)
			if f.Kind != c.kind || f.By != c.by || f.Side != session.Server || f.Err != c.err || f.Text != "upstream 1.2.3.4:15012: "+where+c.text {
				t.Errorf("%s: %s by the %s\n got %s\nwant %s", name, f.Kind, f.By, f.Text, c.text)
			}
			if !strings.Contains(f.Hint, c.hint) || (f.Hint == "") != (c.hint == "") {
				t.Errorf("%s: %s", name, f.Hint)
			}
		}
	}
	// Who has set it in a file is not told of flags.
	of := with(func(f *Facts) { f.Upstream = &UpstreamTLS{Source: "the bootstrap"} })
	if f := ExplainUpstream(io.EOF, of); !strings.HasPrefix(f.Hint, "TLS is spoken as the bootstrap says") {
		t.Error(f.Hint)
	}
	if f := ExplainUpstream(alert(80), of); f.Hint != "the server's log says why" {
		t.Error(f.Hint)
	}
}

// And so has each way in which a client's does.
func TestExplainClient(t *testing.T) {
	past, future := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC), time.Now().Add(240*time.Hour)
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, Issuer: pkix.Name{CommonName: "root"}, NotAfter: past}
	early := &x509.Certificate{Subject: pkix.Name{CommonName: "client"}, NotBefore: future}
	facts := Facts{Addr: "1.2.3.4:5", Listen: &ListenTLS{Cert: "listen.pem", ClientCA: "clients.pem"}, Protocols: []string{"foo", "bar"}, ServerName: "istiod"}
	for name, c := range map[string]struct {
		err        error
		kind       FailureKind
		by         session.Side
		text, hint string
	}{
		"plaintext": {tls.RecordHeaderError{RecordHeader: [5]byte{'P', 'R', 'I', ' ', '*'}}, FailedPlaintext, session.Proxy, "it speaks HTTP/2 in plaintext to a TLS listener", "drop --tls-cert and --tls-ca-dir"},
		"expired": {
			refusedFor(leaf, x509.CertificateInvalidError{Cert: leaf, Reason: x509.Expired}), FailedExpired, session.Proxy,
			`its certificate, for "client", signed by "CN=root", expired on 2020-02-03 04:05:06 UTC`, "renew the client's certificate",
		},
		"early": {
			refusedFor(early, x509.CertificateInvalidError{Cert: early, Reason: x509.Expired}), FailedEarly, session.Proxy,
			`its certificate, for "client", is valid from ` + day(future) + " only", "the clocks of both machines",
		},
		"unknown": {
			refusedFor(leaf, x509.UnknownAuthorityError{}), FailedAuthority, session.Proxy,
			`its certificate, for "client", signed by "CN=root", is not signed by an authority that "clients.pem" has`, `add the root of "CN=root" to the file of --tls-client-ca`,
		},
		"unknown and not shown": {
			refusedFor(nil, x509.UnknownAuthorityError{}), FailedAuthority, session.Proxy,
			`its certificate is not signed by an authority that "clients.pem" has`, "add the root of who signed it to --tls-client-ca FILE",
		},
		"not for this": {
			refusedFor(leaf, x509.CertificateInvalidError{Cert: leaf, Reason: x509.IncompatibleUsage}), FailedCert, session.Proxy,
			`its certificate, for "client", signed by "CN=root", cannot be verified: certificate specifies an incompatible key usage`, "drop --tls-client-ca",
		},
		"nothing to show it": {&mintError{errors.New("no name")}, FailedMint, session.Proxy, "no certificate can be made for it: no name", "--tls-cert"},
		"no certificate":     {errors.New("tls: client didn't provide a certificate"), FailedWanted, session.Proxy, "it shows no certificate, which --tls-client-auth require asks for", "--tls-client-auth request"},
		"a version":          {errors.New("tls: client offered only unsupported versions: [301]"), FailedVersion, session.Proxy, "it speaks no version of TLS that is allowed here: 1.2 and 1.3 is", "let the client speak TLS 1.2 or 1.3"},
		"protocols":          {errors.New("tls: client requested unsupported application protocols"), FailedALPN, session.Proxy, `it offers only protocols that the upstream leg cannot have ("foo", "bar")`, "offer h2"},
		"ciphers":            {errors.New("tls: no cipher suite supported by both client and server"), FailedCipher, session.Proxy, "there are no parameters that both sides take: no cipher suite supported by both client and server", "old cipher suites"},
		"signatures":         {errors.New("tls: peer doesn't support any of the certificate's signature algorithms"), FailedCipher, session.Proxy, "there are no parameters that both sides take: peer doesn't support any of the certificate's signature algorithms", "old cipher suites"},
		"key exchanges":      {errors.New("tls: no key exchanges supported"), FailedCipher, session.Proxy, "there are no parameters that both sides take: no key exchanges supported", "old cipher suites"},
		"early data":         {errors.New("tls: client sent unexpected early data"), FailedOther, session.Proxy, "it sends early data (0-RTT), which belongs to a session that it had with the server itself", "forget the session"},
		"late":               {os.ErrDeadlineExceeded, FailedTimeout, session.Proxy, "it did not go on in time", "--dial-timeout"},
		"gone":               {io.ErrUnexpectedEOF, FailedClosed, session.Client, "it closed the connection", `check that the client trusts who signed the certificate in "listen.pem", and that one of its names is "istiod", which the client asked for`},
		"broken pipe":        {syscall.EPIPE, FailedClosed, session.Client, "it closed the connection", "without a word"},
		"closed":             {net.ErrClosed, FailedClosed, session.Client, "it closed the connection", "without a word"},
		"other":              {errors.New("tls: odd"), FailedOther, session.Proxy, "odd", ""},
		"rejects":            {alert(46), FailedRejected, session.Client, `it rejects the listener's certificate: alert "unknown certificate" (46)`, "trusts who signed"},
		"no version":         {alert(70), FailedVersion, session.Client, `it speaks no version of TLS that is allowed here (1.2 and 1.3): alert "protocol version not supported" (70)`, "let the client"},
		"no protocol":        {alert(120), FailedALPN, session.Client, `it does not take the protocol that the upstream chose: alert "no application protocol" (120)`, "gRPC needs h2"},
		"fails":              {alert(40), FailedCipher, session.Client, `it finds no parameters that both sides take: alert "handshake failure" (40)`, "log says more"},
		"not secure enough":  {alert(71), FailedCipher, session.Client, `it finds no parameters that both sides take: alert "insufficient security level" (71)`, "log says more"},
		"another alert":      {alert(80), FailedAlert, session.Client, `it ended the connection with alert "internal error" (80)`, "log says why"},
	} {
		for complete, where := range map[bool]string{false: "TLS handshake: ", true: "TLS: "} {
			facts.Complete = complete
			f := ExplainClient(c.err, facts)
			if f.Kind != c.kind || f.By != c.by || f.Side != session.Client || f.Err != c.err || f.Text != "client 1.2.3.4:5: "+where+c.text {
				t.Errorf("%s: %s by the %s\n got %s\nwant %s", name, f.Kind, f.By, f.Text, c.text)
			}
			if !strings.Contains(f.Hint, c.hint) || (f.Hint == "") != (c.hint == "") {
				t.Errorf("%s: %s", name, f.Hint)
			}
		}
	}
	for want, facts := range map[string]Facts{
		"let the client trust /var/ca/ca.pem as a root":                           {Listen: &ListenTLS{CADir: "/var/ca"}, ServerName: "x"},
		`check that the client trusts who signed the certificate in "listen.pem"`: {Listen: &ListenTLS{Cert: "listen.pem"}},
	} {
		if got := trustHint(&facts); got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// Only what a peer says of the certificate that it was shown is about that.
func TestAlerts(t *testing.T) {
	about := "42 43 44 45 46 48 49 "
	got := ""
	for n := range 256 {
		if a, is := alertOf(alert(uint8(n))); !is || a.Error() != tls.AlertError(n).Error() {
			t.Errorf("alert %d is taken for %d", n, a)
		}
		if aboutCertificate(tls.AlertError(n)) {
			got += fmt.Sprint(n, " ")
		}
	}
	if got != about {
		t.Errorf("about a certificate are %s", got)
	}
	for _, err := range []error{io.EOF, &net.OpError{Op: "local error", Err: tls.AlertError(42)}, &net.OpError{Op: "remote error", Err: io.EOF}} {
		if a, is := alertOf(err); is {
			t.Errorf("%v is taken for alert %d", err, a)
		}
	}
}

// What stands in sentences is bounded, and harmless.
func TestWordsOfTLS(t *testing.T) {
	u := func(s string) *url.URL {
		out, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	ip := net.IPv4(10, 0, 0, 1)
	for _, c := range []struct {
		cert       x509.Certificate
		text, best string
	}{
		{x509.Certificate{}, "for nobody", ""},
		{x509.Certificate{Subject: pkix.Name{CommonName: "a"}, AuthorityKeyId: []byte{1, 0xab}}, `for "a", signed by "key 01ab"`, ""},
		{x509.Certificate{Subject: pkix.Name{CommonName: "a"}, DNSNames: []string{"b", "c"}, URIs: []*url.URL{u("spiffe://x/y")}, IPAddresses: []net.IP{ip}}, `for "spiffe://x/y", "b", "c", "10.0.0.1"`, "b"},
		{x509.Certificate{DNSNames: []string{"*.b"}}, `for "*.b"`, "ANY.b"},
		{x509.Certificate{DNSNames: []string{"*.b", "c"}}, `for "*.b", "c"`, "c"},
		{x509.Certificate{DNSNames: []string{"*.b", "*.c"}}, `for "*.b", "*.c"`, ""},
		{x509.Certificate{DNSNames: []string{"*.b"}, IPAddresses: []net.IP{ip}}, `for "*.b", "10.0.0.1"`, "10.0.0.1"},
		{x509.Certificate{DNSNames: []string{"*."}}, `for "*."`, ""},
		{x509.Certificate{DNSNames: []string{"1", "2", "3", "4"}}, `for "1", "2", "3", "4"`, "1"},
		{x509.Certificate{DNSNames: []string{"1", "2", "3", "4", "5"}}, `for "1", "2", "3", "4" and 1 more`, "1"},
	} {
		if got := certText(&c.cert); got != c.text {
			t.Errorf("%s, not %s", got, c.text)
		}
		if got := bestName(&c.cert); got != c.best {
			t.Errorf("%s: asked for by %q", c.text, got)
		}
	}
	if got := shownText(nil) + shownText(&tls.Certificate{}) + protocolsText(nil); got != "none" {
		t.Error(got)
	}
	for head, want := range map[string]string{
		"PRI *": "HTTP/2 in plaintext", "HTTP/": "HTTP/1.1 in plaintext", "GET /": "HTTP/1.1 in plaintext", "POST ": "HTTP/1.1 in plaintext",
		"\x00\x00\x12\x04\x00": "HTTP/2 in plaintext", "\x01\x00\x12\x04\x00": "no TLS: its first bytes are 0100120400",
		"\x00\x00\x12\x04\x01": "no TLS: its first bytes are 0000120401", "\x00\x00\x12\x05\x00": "no TLS: its first bytes are 0000120500",
		"get /": "no TLS: its first bytes are 676574202f",
	} {
		if got := headerText([5]byte([]byte(head))); got != want {
			t.Errorf("%q: %s", head, got)
		}
	}
	for _, c := range []struct {
		low, high uint16
		text      string
	}{{0, 0, "1.2 and 1.3"}, {tls.VersionTLS10, 0, "1.2 and 1.3"}, {tls.VersionTLS13, 0, "1.3"}, {0, tls.VersionTLS12, "1.2"}, {tls.VersionTLS12, tls.VersionTLS13, "1.2 and 1.3"}} {
		v := Versions{Min: c.low, Max: c.high}
		var cfg tls.Config
		if v.apply(&cfg); v.text() != c.text || cfg.MinVersion != max(c.low, tls.VersionTLS12) || cfg.MaxVersion != c.high {
			t.Errorf("%x to %x: %s, %x to %x", c.low, c.high, v.text(), cfg.MinVersion, cfg.MaxVersion)
		}
	}
	for prefix, want := range map[string]string{"tls: failed to verify certificate: x509: ": "x", "tls: ": "x", "x509: tls: ": "tls: x", "": "x"} {
		if got := short(errors.New(prefix + "x")); got != want {
			t.Errorf("%q: %q", prefix, got)
		}
	}
}
