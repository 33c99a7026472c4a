package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
)

// verify looks at an upstream's certificate in the place of crypto/tls, if
// somebody else says whether it is the right one.
func (u *upstreamTLS) verify(s tls.ConnectionState) error {
	leaf := s.PeerCertificates[0]
	refuse := func(err error) error {
		return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: err}
	}
	if !u.Insecure {
		o := x509.VerifyOptions{Intermediates: x509.NewCertPool()}
		if u.roots != nil {
			o.Roots = u.roots.Get().Pool
		}
		for _, c := range s.PeerCertificates[1:] {
			o.Intermediates.AddCert(c)
		}
		if _, err := leaf.Verify(o); err != nil {
			return refuse(err)
		}
	}
	if err := u.Accepts(leaf); err != nil {
		return refuse(&notAcceptedError{err})
	}
	return nil
}

// verified says whether the certificate of a handshake that went well leads to
// a root.
func (u *upstreamTLS) verified(s tls.ConnectionState) bool {
	return len(s.VerifiedChains) > 0 || s.HandshakeComplete && u.Accepts != nil && !u.Insecure
}

// notAcceptedError is what UpstreamTLS.Accepts says of a certificate.
type notAcceptedError struct{ error }

func (e *notAcceptedError) Unwrap() error { return e.error }

// hinted turns a hint that names flags into one for who did not give them.
func (c *UpstreamTLS) hinted(hint string) string {
	if c == nil || c.Source == "" || !strings.Contains(hint, "--") {
		return hint
	}
	return "TLS is spoken as " + c.Source + " says; without xdsproxy the connection would fail in the same way"
}

// setting is who names a file: the flag, or the source.
func (c *UpstreamTLS) setting(flag string) string {
	if c.Source != "" {
		return c.Source
	}
	return flag
}
