package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/session"
)

// ExplainUpstream says why a handshake with a management server failed, or why
// TLS ended a connection to one.
func ExplainUpstream(err error, facts Facts) *TLSFailure {
	f := &TLSFailure{Side: session.Server, By: session.Proxy, Err: err}
	said := f.upstream(err, &facts)
	where := "TLS handshake: "
	if facts.Complete {
		where = "TLS: "
	}
	f.Text, f.Hint = "upstream "+facts.Addr+": "+where+said, facts.Upstream.hinted(f.Hint)
	return f
}

func (f *TLSFailure) set(kind FailureKind, text, hint string) string {
	f.Kind, f.Hint = kind, hint
	return text
}

func (f *TLSFailure) upstream(err error, facts *Facts) string {
	var (
		header  tls.RecordHeaderError
		invalid x509.CertificateInvalidError
		host    x509.HostnameError
		unknown x509.UnknownAuthorityError
		system  x509.SystemRootsError
		verify  *tls.CertificateVerificationError
		refused *notAcceptedError
	)
	leaf := func() *x509.Certificate {
		if errors.As(err, &verify) && len(verify.UnverifiedCertificates) > 0 {
			return verify.UnverifiedCertificates[0]
		}
		return nil
	}
	if a, ok := alertOf(err); ok {
		f.By = session.Server
		return f.upstreamAlert(a, facts)
	}
	switch {
	case errors.As(err, &header):
		return f.set(FailedPlaintext, "it answers with "+headerText(header.RecordHeader),
			"drop --upstream-tls if the port is meant for plaintext, or dial the TLS port")
	case errors.As(err, &refused):
		return f.set(FailedName, "its certificate is not one that is accepted: "+short(refused.error), "check that it is the right server")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return f.upstreamTime(invalid.Cert)
	case errors.As(err, &host):
		return f.upstreamName(host, facts)
	case errors.As(err, &unknown):
		return f.upstreamAuthority(orLeaf(leaf(), unknown.Cert), facts)
	case errors.As(err, &system):
		return f.set(FailedAuthority, "there are no roots on this system to verify its certificate with", "give the root with --upstream-ca FILE")
	case leaf() != nil:
		return f.set(FailedCert, fmt.Sprintf("its certificate, %s, cannot be verified: %s", certText(leaf()), short(err)),
			"mend the server's certificate, or set --upstream-insecure-skip-verify to look at the traffic all the same")
	case strings.Contains(err.Error(), "unadvertised ALPN"):
		return f.set(FailedALPN, "it chose a protocol that was not offered ("+protocolsText(facts.Protocols)+" was)", "the server is at fault: xDS is spoken over h2 or http/1.1")
	case strings.Contains(err.Error(), "unsupported protocol version"):
		return f.set(FailedVersion, "it chose a version of TLS that is not allowed here: "+facts.Upstream.Versions.text()+" is", facts.Upstream.Versions.hint("the server"))
	case strings.Contains(err.Error(), "either ServerName or InsecureSkipVerify"):
		return f.set(FailedName, "there is no name to verify its certificate for", "set --upstream-server-name NAME, since its address has none")
	case lateError(err):
		return f.set(FailedTimeout, "no answer in time", "raise --dial-timeout if the server is slow; a server that waits for plaintext is silent, too: then drop --upstream-tls")
	case goneError(err):
		f.By = session.Server
		return f.set(FailedClosed, "it closed the connection", "if the port speaks plaintext, drop --upstream-tls; else the server's log says why")
	}
	return f.set(FailedOther, short(err), "")
}

func orLeaf(leaf, other *x509.Certificate) *x509.Certificate {
	if leaf != nil {
		return leaf
	}
	return other
}

func (f *TLSFailure) upstreamTime(c *x509.Certificate) string {
	if now := time.Now(); now.Before(c.NotBefore) {
		return f.set(FailedEarly, fmt.Sprintf("its certificate, %s, is valid from %s only", certText(c), day(c.NotBefore)),
			"check this machine's clock, then the server's certificate; --upstream-insecure-skip-verify takes it all the same")
	}
	return f.set(FailedExpired, fmt.Sprintf("its certificate, %s, expired on %s", certText(c), day(c.NotAfter)),
		"renew the server's certificate, or check this machine's clock; --upstream-insecure-skip-verify takes it all the same")
}

func (f *TLSFailure) upstreamName(e x509.HostnameError, facts *Facts) string {
	text := fmt.Sprintf("its certificate is %s, not for %s", certText(e.Certificate), quote(e.Host))
	if name := bestName(e.Certificate); name != "" {
		return f.set(FailedName, text, "set --upstream-server-name "+name+", if that is who it should be")
	}
	return f.set(FailedName, text, "it has no host name to verify: --upstream-insecure-skip-verify takes it all the same")
}

func (f *TLSFailure) upstreamAuthority(c *x509.Certificate, facts *Facts) string {
	trusted := "this system trusts"
	if facts.Upstream.CA != "" {
		trusted = quote(facts.Upstream.CA) + " has"
	}
	text := "its certificate is not signed by an authority that " + trusted
	hint := "give the root of who signed it with --upstream-ca FILE"
	if c != nil {
		text = fmt.Sprintf("its certificate, %s, is not signed by an authority that %s", certText(c), trusted)
		hint = "give the root of " + quote(issuer(c)) + " with --upstream-ca FILE"
	}
	return f.set(FailedAuthority, text, hint)
}

func (f *TLSFailure) upstreamAlert(a tls.AlertError, facts *Facts) string {
	word := alertWord(a)
	switch {
	case a == alertRequired, facts.Shown == nil && facts.Asked && (aboutCertificate(a) || a == alertHandshakeFailure):
		return f.set(FailedWanted, "it wants a client certificate, and there is none to show: alert "+word,
			"give one with --upstream-cert FILE --upstream-key FILE, one that the server takes from the client itself")
	case facts.Shown != nil && facts.Asked && aboutCertificate(a):
		return f.set(FailedRejected, "it rejects the proxy's certificate"+shownText(facts.Shown)+": alert "+word,
			"check that --upstream-cert names a certificate that this server trusts and that has not expired")
	case a == alertVersion:
		return f.set(FailedVersion, "it speaks no version of TLS that is allowed here ("+facts.Upstream.Versions.text()+"): alert "+word, facts.Upstream.Versions.hint("the server"))
	case a == alertNoALPN:
		return f.set(FailedALPN, "it speaks none of the protocols that were offered ("+protocolsText(facts.Protocols)+"): alert "+word,
			"the protocol is the client's choice; check that --upstream names the port for xDS")
	case a == alertUnrecognizedName:
		return f.set(FailedName, fmt.Sprintf("it knows no server %s: alert %s", quote(facts.ServerName), word), "set --upstream-server-name NAME to the name that it is known by")
	case a == alertHandshakeFailure || a == alertSecurity:
		return f.set(FailedCipher, "it finds no parameters that both sides take: alert "+word, "the server may allow only old cipher suites; its log says more")
	}
	return f.set(FailedAlert, "it ended the connection with alert "+word, "the server's log says why")
}

// short is what Go says, without the package that says it, and bounded, as a
// peer may have part in it.
func short(err error) string {
	s := err.Error()
	for _, prefix := range []string{"tls: failed to verify certificate: ", "tls: ", "x509: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return strings.Trim(quote(s), `"`)
}

func alertWord(a tls.AlertError) string {
	return fmt.Sprintf("%q (%d)", strings.TrimPrefix(a.Error(), "tls: "), uint8(a))
}

func protocolsText(protocols []string) string {
	if len(protocols) == 0 {
		return "none"
	}
	return namesText(protocols)
}

// text says which versions are allowed.
func (v Versions) text() string {
	low, high := max(v.Min, tls.VersionTLS12), v.Max
	if high == 0 {
		high = tls.VersionTLS13
	}
	if low == high {
		return versionName(low)
	}
	return versionName(low) + " and " + versionName(high)
}

// hint says what to do about a peer that speaks no allowed version.
func (v Versions) hint(who string) string {
	if v.Min > tls.VersionTLS12 {
		return "set --tls-min-version 1.2, or let " + who + " speak TLS 1.3"
	}
	return "let " + who + " speak TLS 1.2 or 1.3: older versions are not secure and are not spoken here"
}
