package proxy

import (
	"crypto/x509"
	"io"
)

// ListenTLS is how a listener speaks TLS with clients. Files are PEM; they are
// read again when they change, and connections that are made then use what they
// hold.
type ListenTLS struct {
	// Cert and Key are the certificate, with the chain behind it, and its key.
	Cert, Key string
	// CADir is the directory of an authority of one's own, which is made there
	// if it does not exist: a leaf is minted for each server name that a client
	// asks for. It is used where Cert is "".
	CADir string
	// ClientCA has the roots that client certificates must lead to; "": any
	// certificate is taken, and its identity is what it claims.
	ClientCA string
	// ClientAuth says whether clients are asked for a certificate.
	ClientAuth ClientAuth
	Versions   Versions
	KeyLog     io.Writer // nil: none
}

// UpstreamTLS is how the proxy speaks TLS with a management server. Files are
// as in ListenTLS.
type UpstreamTLS struct {
	// CA has the roots that the server's certificate must lead to; "": those of
	// the system.
	CA string
	// ServerName is what the certificate must be for, and what is asked for by
	// SNI; "": what the client asked for, where it speaks TLS and its listener
	// mints or is one that clients are redirected to, else the host of the upstream's address.
	ServerName string
	// Accepts says why the server's certificate is not the right one, in place of
	// its being for ServerName, which then is asked for only; if that is "",
	// nothing is. nil: it has to be for ServerName. That the certificate leads to
	// a root is seen to before, unless Insecure.
	Accepts func(*x509.Certificate) error
	// Cert and Key are what the proxy shows of itself; "": nothing.
	Cert, Key string
	// Insecure takes any certificate that Accepts does.
	Insecure bool
	Versions Versions
	KeyLog   io.Writer // nil: none
	// Source names what has all of this, for hints; "": the flags of run.
	Source string
}

// ClientAuth says whether clients have to show a certificate.
type ClientAuth uint8

// AuthNone asks for none, AuthRequest takes a client without one too,
// AuthRequire does not.
const (
	AuthNone ClientAuth = iota
	AuthRequest
	AuthRequire
)

// Versions are the versions of TLS that may be spoken, as crypto/tls numbers
// them. 0: 1.2 to 1.3.
type Versions struct{ Min, Max uint16 }
