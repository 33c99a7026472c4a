package proxy

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"go.uber.org/zap"

	"github.com/xdsproxy/xdsproxy/proxy/mint"
	"github.com/xdsproxy/xdsproxy/proxy/pemfile"
)

// TLSFileError says which file of a pair cannot be used, or is missing. It is
// found before anything is listened on.
type TLSFileError struct {
	Setting string // the flag that names it, such as "--tls-cert"
	What    string // such as "the listener's certificate"
	Err     error  // a *pemfile.Error names the file, which may be another one, such as that of the key
}

func (e *TLSFileError) Error() string { return fmt.Sprintf("cannot use %s: %v", e.What, e.Err) }
func (e *TLSFileError) Unwrap() error { return e.Err }

// Hint says what may be done about it.
func (e *TLSFileError) Hint() string {
	if file := (*pemfile.Error)(nil); !errors.As(e.Err, &file) {
		return "set " + e.Setting
	}
	return "check the file that " + e.Setting + " names, and that this user may read it"
}

// security is what the legs of a pair need to speak TLS; nil: plaintext.
type security struct {
	listen   *listenTLS
	upstream *upstreamTLS
}

// secure reads the files that a pair names.
func secure(pair Pair, logger *zap.Logger) (s security, err error) {
	warn := func(err error) {
		logger.Warn("cannot use a file that has changed; what it held before stays in force", zap.Error(err))
	}
	if pair.ListenTLS != nil {
		if s.listen, err = newListenTLS(*pair.ListenTLS, pair.Listen, warn); err != nil {
			return s, err
		}
	}
	if pair.UpstreamTLS != nil {
		// A listener that mints, and one that clients are redirected to, is asked
		// for by the server's name; one with a certificate, by the proxy's.
		forAny := pair.OriginalDst || s.listen != nil && s.listen.authority != nil
		if s.upstream, err = newUpstreamTLS(*pair.UpstreamTLS, pair.Upstream, forAny, warn); err != nil {
			return s, err
		}
	}
	return s, nil
}

// listenTLS is the TLS of a listener. What it is made of can change between two
// connections.
type listenTLS struct {
	ListenTLS
	pair      *pemfile.Pair // nil: leaves are minted
	authority *mint.Authority
	clientCA  *pemfile.Files[*pemfile.Roots] // nil: any certificate is taken
	host      string                         // of the listener's address; "" if it has no name
}

func newListenTLS(cfg ListenTLS, at Addr, warn func(error)) (*listenTLS, error) {
	l := &listenTLS{ListenTLS: cfg}
	var err error
	switch {
	case cfg.Cert != "":
		if l.pair, err = pemfile.OpenPair(cfg.Cert, cfg.keyFile(), warn); err != nil {
			return nil, &TLSFileError{"--tls-cert", "the listener's certificate", err}
		}
	case cfg.CADir != "":
		if l.authority, err = mint.Open(cfg.CADir, warn); err != nil {
			return nil, &TLSFileError{"--tls-ca-dir", "the authority that signs for the listener", err}
		}
	default:
		return nil, &TLSFileError{"--tls-cert", "TLS on " + at.String(), errors.New("there is neither a certificate nor an authority to make one")}
	}
	if cfg.ClientCA != "" {
		if l.clientCA, err = pemfile.OpenRoots(cfg.ClientCA, warn); err != nil {
			return nil, &TLSFileError{"--tls-client-ca", "the roots of client certificates", err}
		}
	}
	if host, _, err := net.SplitHostPort(at.Address); err == nil && at.Network == "tcp" {
		if ip, err := netip.ParseAddr(host); err != nil || !ip.IsUnspecified() {
			l.host = host
		}
	}
	return l, nil
}

// keyFile is where the key is: in a file of its own, or beside the certificate.
func (c *ListenTLS) keyFile() string {
	if c.Key == "" {
		return c.Cert
	}
	return c.Key
}

// config is how to go on with a client that has said hello, and has dialled the
// given host, if it is to get one of these protocols.
func (l *listenTLS) config(hello *tls.ClientHelloInfo, dialled string, protocols []string) (*tls.Config, error) {
	cert, err := l.certificate(hello, dialled)
	if err != nil {
		return nil, err
	}
	cfg := &tls.Config{
		Certificates: []tls.Certificate{*cert},
		NextProtos:   protocols,
		ClientAuth:   l.clientAuth(),
		// Each connection shows its certificates and has them verified.
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
		KeyLogWriter:                l.KeyLog,
	}
	l.Versions.apply(cfg)
	if l.clientCA != nil {
		cfg.ClientCAs = l.clientCA.Get().Pool
	}
	return cfg, nil
}

func (l *listenTLS) clientAuth() tls.ClientAuthType {
	switch {
	case l.ClientAuth == AuthRequest && l.clientCA != nil:
		return tls.VerifyClientCertIfGiven
	case l.ClientAuth == AuthRequest:
		return tls.RequestClientCert
	case l.ClientAuth == AuthRequire && l.clientCA != nil:
		return tls.RequireAndVerifyClientCert
	case l.ClientAuth == AuthRequire:
		return tls.RequireAnyClientCert
	}
	return tls.NoClientCert
}

// certificate is what a client is shown. Dialled is the host that it dialled,
// where that is known to be another one than ours, else "".
func (l *listenTLS) certificate(hello *tls.ClientHelloInfo, dialled string) (*tls.Certificate, error) {
	if l.pair != nil {
		return l.pair.Get(), nil
	}
	name := hello.ServerName
	if name == "" {
		name = dialled
	}
	if name == "" {
		name = l.nameless(hello.Conn.LocalAddr())
	}
	cert, err := l.authority.Leaf(name)
	if err != nil {
		return nil, &mintError{err}
	}
	return cert, nil
}

// nameless is what a certificate is made for where the client asks for no
// name, as it does when it was given an address.
func (l *listenTLS) nameless(local net.Addr) string {
	if l.host != "" {
		return l.host
	}
	if tcp, ok := local.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap().WithZone("").String()
	}
	return "localhost"
}

// mintError says that there is no certificate for what the client asks for.
type mintError struct{ error }

func (e *mintError) Unwrap() error { return e.error }

// upstreamTLS is the TLS of a pair's upstream leg.
type upstreamTLS struct {
	UpstreamTLS
	pair  *pemfile.Pair                  // nil: the proxy has no certificate to show
	roots *pemfile.Files[*pemfile.Roots] // nil: those of the system
	// forAny says that the listener stands in for whatever a client asks for.
	forAny bool
}

func newUpstreamTLS(cfg UpstreamTLS, at Addr, forAny bool, warn func(error)) (*upstreamTLS, error) {
	u := &upstreamTLS{UpstreamTLS: cfg, forAny: forAny}
	var err error
	if cfg.CA != "" {
		if u.roots, err = pemfile.OpenRoots(cfg.CA, warn); err != nil {
			return nil, &TLSFileError{cfg.setting("--upstream-ca"), "the roots of the upstream's certificate", err}
		}
	}
	if cfg.Cert != "" {
		if u.pair, err = pemfile.OpenPair(cfg.Cert, cfg.keyFile(), warn); err != nil {
			return nil, &TLSFileError{cfg.setting("--upstream-cert"), "the certificate for the upstream", err}
		}
	}
	if u.serverName("", at) == "" && cfg.Accepts == nil && !cfg.Insecure && !forAny {
		return nil, &TLSFileError{"--upstream-server-name", "TLS with " + at.String(), errors.New("its address has no host name that the certificate could be verified for")}
	}
	return u, nil
}

func (c *UpstreamTLS) keyFile() string {
	if c.Key == "" {
		return c.Cert
	}
	return c.Key
}

// serverName is what the certificate of the upstream at an address has to be
// for, given the name that the client asked for; "" if nothing says.
func (u *upstreamTLS) serverName(asked string, at Addr) string {
	switch {
	case u.ServerName != "", u.Accepts != nil:
		return u.ServerName
	case u.forAny && asked != "":
		return asked
	case at.Network != "tcp":
		return ""
	}
	host, _, _ := net.SplitHostPort(at.Address)
	return host
}

// config is how to open a connection for a client. Asked is called with each
// request of the upstream for a certificate.
func (u *upstreamTLS) config(serverName string, protocols []string, asked func()) *tls.Config {
	cfg := &tls.Config{
		ServerName:                  serverName,
		NextProtos:                  protocols,
		InsecureSkipVerify:          u.Insecure,
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true,
		KeyLogWriter:                u.KeyLog,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked()
			if u.pair == nil {
				return new(tls.Certificate), nil // none
			}
			return u.pair.Get(), nil
		},
	}
	if u.Accepts != nil {
		cfg.InsecureSkipVerify, cfg.VerifyConnection = true, u.verify
	}
	u.Versions.apply(cfg)
	if u.roots != nil {
		cfg.RootCAs = u.roots.Get().Pool
	}
	return cfg
}

func (v Versions) apply(cfg *tls.Config) {
	cfg.MinVersion, cfg.MaxVersion = max(v.Min, tls.VersionTLS12), v.Max
}
