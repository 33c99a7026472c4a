package e2e

import (
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// Who the parties are, by their certificates.
const (
	planeID = "spiffe://mesh.e2e/ns/control/sa/plane"
	envoyID = "spiffe://mesh.e2e/ns/apps/sa/envoy"
)

// mutual is an authority, a control plane that takes only clients whom it
// signed, and files with what such a client needs.
type mutual struct {
	*controlPlane
	authority     *xdstest.Authority
	ca, cert, key string
}

// startMutual starts one whose certificate is for l.
func startMutual(t *testing.T, node string, l xdstest.Leaf) *mutual {
	t.Helper()
	m := &mutual{authority: xdstest.NewAuthority("mesh")}
	m.ca, m.cert, m.key = clientFiles(t, m.authority)
	m.controlPlane = startControlPlaneAs(t, node, xdstest.Options{TLS: m.serve(l)})
	return m
}

// serve is how a server with a certificate for l takes clients.
func (m *mutual) serve(l xdstest.Leaf) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{m.authority.Issue(l).TLS()},
		NextProtos:   []string{"h2"},
		ClientCAs:    m.authority.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
		VerifyConnection: func(s tls.ConnectionState) error {
			if uris := s.PeerCertificates[0].URIs; len(uris) != 1 || uris[0].String() != envoyID {
				return errAnother
			}
			return nil
		},
	}
}

var errAnother = tls.AlertError(49) // access denied

// clientFiles writes what a client of an authority needs.
func clientFiles(t *testing.T, authority *xdstest.Authority) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	ca = filepath.Join(dir, "roots.pem")
	if err := os.WriteFile(ca, authority.CertPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Issue(xdstest.Leaf{URIs: []string{envoyID}}).Write(dir, "client")
	if err != nil {
		t.Fatal(err)
	}
	return ca, cert, key
}

// tlsSocket is a transport socket of Envoy.
func tlsSocket(context object) object {
	context["@type"] = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
	return object{"name": "envoy.transport_sockets.tls", "typed_config": context}
}

// own is what an Envoy shows, by files.
func (m *mutual) own() []object {
	return []object{{"certificate_chain": object{"filename": m.cert}, "private_key": object{"filename": m.key}}}
}

// named matches names of a type.
func named(kind, exact string) []object {
	return []object{{"san_type": kind, "matcher": object{"exact": exact}}}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	return string(contents(t, path))
}
