package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/session"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// Who they are, as their certificates say.
const (
	envoyIdentity   = "spiffe://mesh.example/envoy"
	grpcIdentity    = "spiffe://mesh.example/grpc"
	proxyIdentity   = "spiffe://mesh.example/xdsproxy"
	proxyAsClient   = "spiffe://mesh.example/xdsproxy-as-client"
	controlIdentity = "spiffe://mesh.example/control-plane"
)

// secured is a place where everybody speaks TLS and wants to see certificates.
// Either leg of the proxy has an authority of its own, so that nothing passes
// that was meant for the other. The files are called as in docs/tls.md.
type secured struct {
	dir          string // in the place of /etc there
	outer, inner *xdstest.Authority

	mu      sync.Mutex
	callers [][]string // what those who connected to the control plane said who they are
}

func newSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir(), outer: xdstest.NewAuthority("outer"), inner: xdstest.NewAuthority("inner")}
	s.writeOuter(t, s.outer)
	s.writeInner(t, s.inner)
	return s
}

// writeOuter writes what is needed between clients and the proxy.
func (s *secured) writeOuter(t *testing.T, a *xdstest.Authority) {
	t.Helper()
	write(t, a.Issue(xdstest.Leaf{URIs: []string{proxyIdentity}, DNS: []string{"xdsproxy.example"}, IPs: []string{"127.0.0.1"}}), s.dir, "xdsproxy/server")
	write(t, a.Issue(xdstest.Leaf{URIs: []string{envoyIdentity}}), s.dir, "envoy/envoy")
	write(t, a.Issue(xdstest.Leaf{URIs: []string{grpcIdentity}}), s.dir, "grpc/client")
	write(t, &a.Credential, s.dir, "xdsproxy/client-ca", "envoy/xdsproxy-ca", "grpc/xdsproxy-ca")
}

// writeInner writes what is needed between the proxy and the control plane.
func (s *secured) writeInner(t *testing.T, a *xdstest.Authority) {
	t.Helper()
	write(t, a.Issue(xdstest.Leaf{URIs: []string{proxyAsClient}}), s.dir, "xdsproxy/client", "xdsproxy/cert-chain")
	if err := os.Rename(filepath.Join(s.dir, "xdsproxy/cert-chain.key"), filepath.Join(s.dir, "xdsproxy/key.pem")); err != nil {
		t.Fatal(err)
	}
	write(t, &a.Credential, s.dir, "xdsproxy/control-plane-ca", "xdsproxy/root-cert")
}

// write makes name.pem and name.key of each name.
func write(t *testing.T, c *xdstest.Credential, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Write(filepath.Dir(path), filepath.Base(path)); err != nil {
			t.Fatal(err)
		}
	}
}

// controlPlane is how a control plane speaks TLS that wants certificates.
func (s *secured) controlPlane() *tls.Config {
	return s.controlPlaneCalled(s.inner, xdstest.Leaf{URIs: []string{controlIdentity}, DNS: []string{"control-plane.example"}, IPs: []string{"127.0.0.1"}})
}

func (s *secured) controlPlaneCalled(a *xdstest.Authority, l xdstest.Leaf) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{a.Issue(l).TLS()},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: a.Pool(),
		VerifyConnection: func(c tls.ConnectionState) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.callers = append(s.callers, identities(c.PeerCertificates[0]))
			return nil
		},
	}
}

func identities(c *x509.Certificate) []string {
	var out []string
	for _, u := range c.URIs {
		out = append(out, u.String())
	}
	return append(out, c.DNSNames...)
}

// everyCaller requires that the control plane was called, and by nobody else.
func (s *secured) everyCaller(t *testing.T, want string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.callers) == 0 {
		t.Error("nobody has called the control plane")
	}
	for _, c := range s.callers {
		if !slices.Equal(c, []string{want}) {
			t.Errorf("the control plane was called by %q, want %q", c, want)
		}
	}
}

// peers are the ends of the connections in the recording.
func (p *proxy) peers(t *testing.T) []session.Peer {
	t.Helper()
	var out []session.Peer
	for _, e := range p.entries(t) {
		if e.Kind == session.KindConnect {
			out = append(out, *e.Peer)
		}
	}
	if len(out) == 0 {
		t.Error("the recording has no connection")
	}
	return out
}

// connectedTo requires that every connection that reached its server was
// between these two, verified, on HTTP/2.
func (p *proxy) connectedTo(t *testing.T, client, server string) {
	t.Helper()
	reached := 0
	for i, peer := range p.peers(t) {
		if peer.Local == "" {
			continue // the server was away
		}
		reached++
		for _, leg := range []struct {
			name, identity string
			tls            *session.TLS
		}{{"client", client, peer.ClientTLS}, {"server", server, peer.ServerTLS}} {
			switch {
			case leg.identity == "":
				if leg.tls != nil {
					t.Errorf("connection %d: TLS with the %s: %+v", i+1, leg.name, leg.tls)
				}
			case leg.tls == nil:
				t.Errorf("connection %d: no TLS with the %s: %+v", i+1, leg.name, peer)
			case !slices.Contains(leg.tls.Identities, leg.identity) || !leg.tls.Verified || leg.tls.ALPN != "h2":
				t.Errorf("connection %d: the %s is %+v, want a verified %s on h2", i+1, leg.name, leg.tls, leg.identity)
			}
		}
	}
	if reached == 0 {
		t.Error("no recorded connection has reached its server")
	}
}

// rulesFound are the rules that check finds broken in a recording.
func rulesFound(t *testing.T, recording string) []string {
	t.Helper()
	var checked struct {
		Findings []struct {
			Rule string `json:"rule"`
		} `json:"findings"`
	}
	if err := json.Unmarshal(runProgram(t, "check", recording, "-o", "json", "--fail-on", "never"), &checked); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range checked.Findings {
		out = append(out, f.Rule)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
