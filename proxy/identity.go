package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/clip"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is recorded of a certificate is bounded, because whoever shows one
// decides how many names it has and how long they are.
const (
	maxIdentities = 16
	maxIdentity   = 256 // bytes, and "…" where there were more
)

// describe says what a handshake agreed on, as far as it came.
func describe(s tls.ConnectionState, serverName string) *session.TLS {
	t := &session.TLS{
		ServerName: bounded(serverName), ALPN: bounded(s.NegotiatedProtocol),
		Verified: len(s.VerifiedChains) > 0, Resumed: s.DidResume,
	}
	if s.HandshakeComplete {
		t.Version, t.Cipher = versionName(s.Version), tls.CipherSuiteName(s.CipherSuite)
	}
	if len(s.PeerCertificates) > 0 {
		identify(t, s.PeerCertificates[0])
	}
	return t
}

// identify adds who a certificate is of.
func identify(t *session.TLS, c *x509.Certificate) {
	names := identities(c)
	t.Identities = names[:min(len(names), maxIdentities)]
	for i := range t.Identities {
		t.Identities[i] = bounded(t.Identities[i])
	}
	t.Issuer, t.NotAfter = bounded(issuer(c)), c.NotAfter
}

// identities are the names in a certificate: those that workloads are known by
// first.
func identities(c *x509.Certificate) []string {
	var names []string
	for _, u := range c.URIs {
		names = append(names, u.String())
	}
	names = append(names, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if names == nil && c.Subject.CommonName != "" {
		names = []string{c.Subject.CommonName}
	}
	return names
}

// issuer is who signed a certificate, by name, or by key where it has none.
func issuer(c *x509.Certificate) string {
	if name := c.Issuer.String(); name != "" || len(c.AuthorityKeyId) == 0 {
		return name
	}
	return fmt.Sprintf("key %x", c.AuthorityKeyId)
}

// bounded cuts a text of a peer, and makes it one that can be written down.
func bounded(s string) string {
	return clip.Text(strings.ToValidUTF8(s, "\uFFFD"), maxIdentity)
}

func versionName(v uint16) string {
	return strings.TrimPrefix(tls.VersionName(v), "TLS ")
}
