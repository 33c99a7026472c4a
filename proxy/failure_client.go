package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/xdsproxy/xdsproxy/proxy/mint"
	"github.com/xdsproxy/xdsproxy/session"
)

// ExplainClient says why a handshake with a client failed, or why TLS ended a
// connection of one.
func ExplainClient(err error, facts Facts) *TLSFailure {
	f := &TLSFailure{Side: session.Client, By: session.Proxy, Err: err}
	said := f.client(err, &facts)
	where := "TLS handshake: "
	if facts.Complete {
		where = "TLS: "
	}
	f.Text = "client " + facts.Addr + ": " + where + said
	return f
}

func (f *TLSFailure) client(err error, facts *Facts) string {
	var (
		header tls.RecordHeaderError
		verify *tls.CertificateVerificationError
		name   *mintError
	)
	if a, ok := alertOf(err); ok {
		f.By = session.Client
		return f.clientAlert(a, facts)
	}
	said := func(s string) bool { return strings.Contains(err.Error(), s) }
	switch {
	case errors.As(err, &header):
		return f.set(FailedPlaintext, "it speaks "+headerText(header.RecordHeader)+" to a TLS listener",
			"let the client speak TLS, or drop --tls-cert and --tls-ca-dir so that this listener speaks plaintext")
	case errors.As(err, &verify):
		return f.clientCertificate(verify, facts)
	case errors.As(err, &name):
		return f.set(FailedMint, "no certificate can be made for it: "+name.Error(), "let the client ask for the host name of a server, or give a certificate with --tls-cert")
	case said("didn't provide a certificate"):
		return f.set(FailedWanted, "it shows no certificate, which --tls-client-auth require asks for",
			"give the client a certificate, or set --tls-client-auth request to let it in without; many a client holds back a certificate that none of the authorities in --tls-client-ca has signed")
	case said("unsupported versions"):
		return f.set(FailedVersion, "it speaks no version of TLS that is allowed here: "+facts.Listen.Versions.text()+" is", facts.Listen.Versions.hint("the client"))
	case said("unsupported application protocols"):
		return f.set(FailedALPN, "it offers only protocols that the upstream leg cannot have ("+protocolsText(facts.Protocols)+")",
			"let the client offer h2, which gRPC is spoken over, or http/1.1")
	case said("no cipher suite supported"), said("signature algorithms"), said("key exchanges"):
		return f.set(FailedCipher, "there are no parameters that both sides take: "+short(err), "the client may allow only old cipher suites, or no certificate of the kind that it is shown")
	case said("unexpected early data"):
		return f.set(FailedOther, "it sends early data (0-RTT), which belongs to a session that it had with the server itself",
			"let the client forget the session, by a restart if need be; nothing can be resumed through a proxy")
	case lateError(err):
		return f.set(FailedTimeout, "it did not go on in time", "a client that speaks plaintext waits for the server at times; raise --dial-timeout if it is only slow")
	case goneError(err):
		f.By = session.Client
		return f.set(FailedClosed, "it closed the connection", "a client that does not trust the certificate may do so without a word; "+trustHint(facts))
	}
	return f.set(FailedOther, short(err), "")
}

func (f *TLSFailure) clientCertificate(e *tls.CertificateVerificationError, facts *Facts) string {
	var (
		invalid x509.CertificateInvalidError
		unknown x509.UnknownAuthorityError
	)
	which := "its certificate"
	var leaf *x509.Certificate
	if len(e.UnverifiedCertificates) > 0 {
		leaf = e.UnverifiedCertificates[0]
		which += ", " + certText(leaf) + ","
	}
	switch {
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired && time.Now().Before(invalid.Cert.NotBefore):
		return f.set(FailedEarly, which+" is valid from "+day(invalid.Cert.NotBefore)+" only", "check the clocks of both machines, then the client's certificate")
	case errors.As(e.Err, &invalid) && invalid.Reason == x509.Expired:
		return f.set(FailedExpired, which+" expired on "+day(invalid.Cert.NotAfter), "renew the client's certificate, or check this machine's clock")
	case errors.As(e.Err, &unknown):
		hint := "add the root of who signed it to --tls-client-ca FILE"
		if leaf != nil {
			hint = "add the root of " + quote(issuer(leaf)) + " to the file of --tls-client-ca"
		}
		return f.set(FailedAuthority, fmt.Sprintf("%s is not signed by an authority that %s has", which, quote(facts.Listen.ClientCA)), hint)
	}
	return f.set(FailedCert, which+" cannot be verified: "+short(e.Err), "mend the client's certificate, or drop --tls-client-ca to take any")
}

func (f *TLSFailure) clientAlert(a tls.AlertError, facts *Facts) string {
	word := alertWord(a)
	switch {
	case aboutCertificate(a):
		return f.set(FailedRejected, "it rejects the listener's certificate"+shownText(facts.Shown)+": alert "+word, trustHint(facts))
	case a == alertVersion:
		return f.set(FailedVersion, "it speaks no version of TLS that is allowed here ("+facts.Listen.Versions.text()+"): alert "+word, facts.Listen.Versions.hint("the client"))
	case a == alertNoALPN:
		return f.set(FailedALPN, "it does not take the protocol that the upstream chose: alert "+word, "gRPC needs h2: check that --upstream names the port for xDS")
	case a == alertHandshakeFailure || a == alertSecurity:
		return f.set(FailedCipher, "it finds no parameters that both sides take: alert "+word, "the client's log says more")
	}
	return f.set(FailedAlert, "it ended the connection with alert "+word, "the client's log says why")
}

// trustHint says how a client comes to take the listener's certificate.
func trustHint(facts *Facts) string {
	if facts.Listen.Cert == "" {
		return "let the client trust " + filepath.Join(facts.Listen.CADir, mint.CertFile) + " as a root"
	}
	asked := ""
	if facts.ServerName != "" {
		asked = ", and that one of its names is " + quote(facts.ServerName) + ", which the client asked for"
	}
	return "check that the client trusts who signed the certificate in " + quote(facts.Listen.Cert) + asked
}
