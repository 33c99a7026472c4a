package bootstrap

import (
	"crypto/x509"
	"fmt"
)

// TLS is how a client speaks TLS with a server: what it shows of itself, and
// which certificates of the server it takes.
type TLS struct {
	// ServerName is what the client asks for by SNI; "": nothing.
	ServerName string
	// Host is the name that the certificate must be for, by the rules for host
	// names; "": Names decide alone.
	Host string
	// Names are what the certificate has to be for, any of them; none: the client
	// does not look at names.
	Names []Name
	// Pins, any of which has to be met; none: no matter.
	Pins []Pin

	// CA has the roots that the certificate must lead to; nothing: those of the
	// system.
	CA Material
	// AnyRoot says that the client looks at no root at all.
	AnyRoot bool
	// Cert and Key are what the client shows; nothing: it shows nothing.
	Cert, Key Material

	// Min and Max are versions as crypto/tls numbers them; 0: no matter.
	Min, Max uint16
}

// Material is where a certificate or a key stands: at most one of these is set.
type Material struct {
	File     string // may be relative to the directory in which the client runs
	Variable string // of the environment
	Inline   string // what it is itself
}

// Given says that there is any.
func (m Material) Given() bool { return m != Material{} }

// Accepts says whether the client would take a certificate of the server, which
// leads to one of its roots already.
func (t *TLS) Accepts(c *x509.Certificate) error {
	if t.Host != "" {
		if err := c.VerifyHostname(t.Host); err != nil {
			return err
		}
	}
	if err := anyPin(t.Pins, c); err != nil {
		return err
	}
	return anyName(t.Names, c)
}

// String says for people what the client wants of the server.
func (t *TLS) String() string {
	text := "TLS"
	if t.Cert.Given() {
		text = "mTLS"
	}
	switch {
	case t.AnyRoot && len(t.Pins) == 0:
		return text + ", any certificate"
	case t.Host != "":
		return fmt.Sprintf("%s, a certificate for %s", text, t.Host)
	case len(t.Names) > 0:
		return fmt.Sprintf("%s, a certificate for %s", text, listed(t.Names))
	case len(t.Pins) > 0:
		return text + ", a pinned certificate"
	}
	return text + ", a certificate for any name"
}
