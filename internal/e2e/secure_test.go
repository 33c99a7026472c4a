package e2e

import (
	"crypto/tls"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
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

	mu    sync.Mutex
	calls []call // of the control plane
}

func newSecured(t *testing.T) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir()}
	s.renew(t, "first")
	s.issueProxy(t, filepath.Join(s.dir, "xdsproxy"))
	return s
}

// renew makes new authorities, and all but the files of the proxy.
func (s *secured) renew(t *testing.T, version string) {
	t.Helper()
	s.outer, s.inner = xdstest.NewAuthority("outer "+version), xdstest.NewAuthority("inner "+version)
	write(t, s.outer.Issue(xdstest.Leaf{URIs: []string{envoyIdentity}}), filepath.Join(s.dir, "envoy"), "envoy")
	write(t, s.outer.Issue(xdstest.Leaf{URIs: []string{grpcIdentity}}), filepath.Join(s.dir, "grpc"), "client")
	write(t, &s.outer.Credential, filepath.Join(s.dir, "envoy"), "xdsproxy-ca")
	write(t, &s.outer.Credential, filepath.Join(s.dir, "grpc"), "xdsproxy-ca")
}

// issueProxy makes the files of the proxy.
func (s *secured) issueProxy(t *testing.T, dir string) {
	t.Helper()
	write(t, s.outer.Issue(xdstest.Leaf{URIs: []string{proxyIdentity}, DNS: []string{"xdsproxy.example"}, IPs: []string{"127.0.0.1"}}), dir, "server")
	write(t, s.inner.Issue(xdstest.Leaf{URIs: []string{proxyAsClient}}), dir, "client")
	write(t, &s.outer.Credential, dir, "client-ca")
	write(t, &s.inner.Credential, dir, "control-plane-ca")
}

// write makes name.pem and name.key in a directory.
func write(t *testing.T, c *xdstest.Credential, dir, name string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Write(dir, name); err != nil {
		t.Fatal(err)
	}
}

// controlPlane is how a control plane speaks TLS that wants certificates.
func (s *secured) controlPlane() *tls.Config {
	return s.controlPlaneCalled(xdstest.Leaf{URIs: []string{controlIdentity}, DNS: []string{"control-plane.example"}, IPs: []string{"127.0.0.1"}})
}

func (s *secured) controlPlaneCalled(l xdstest.Leaf) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{s.inner.Issue(l).TLS()},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: s.inner.Pool(),
		VerifyConnection: func(c tls.ConnectionState) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			var who []string
			for _, u := range c.PeerCertificates[0].URIs {
				who = append(who, u.String())
			}
			s.calls = append(s.calls, call{strings.Join(who, " "), c.ServerName})
			return nil
		},
	}
}

// call is one connection to the control plane, as it sees it.
type call struct {
	caller string // who they say they are
	asked  string // by SNI
}

// everyCall requires that the control plane was called, and each time so.
func (s *secured) everyCall(t *testing.T, want call) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		t.Error("nobody has called the control plane")
	}
	for _, c := range s.calls {
		if c != want {
			t.Errorf("the control plane saw the call %q, want %q", c, want)
		}
	}
}

// peers are the ends of the connections in the recording that came about: whose
// server was there, and whose handshakes went well.
func (p *proxy) peers(t *testing.T) []session.Peer {
	t.Helper()
	entries, failed := p.entries(t), map[session.ConnID]bool{}
	for _, e := range entries {
		if e.Kind == session.KindNote && e.Note.Code == session.NoteTLSFailed {
			failed[e.Conn] = true
		}
	}
	var out []session.Peer
	for _, e := range entries {
		if e.Kind == session.KindConnect && e.Peer.Local != "" && !failed[e.Conn] {
			out = append(out, *e.Peer)
		}
	}
	if len(out) == 0 {
		t.Error("the recording has no connection")
	}
	return out
}

// connectedTo requires that every connection was between these two, verified,
// on HTTP/2; "": in plaintext.
func (p *proxy) connectedTo(t *testing.T, client, server string) {
	t.Helper()
	whole := 0
	for i, peer := range p.peers(t) {
		if cutShort(client, peer.ClientTLS) || cutShort(server, peer.ServerTLS) {
			continue // gRPC connects again when its stream has ended, and the end came before the handshake did
		}
		whole++
		for _, leg := range []struct {
			name, identity string
			tls            *session.TLS
		}{{"client", client, peer.ClientTLS}, {"server", server, peer.ServerTLS}} {
			switch {
			case leg.identity == "" && leg.tls != nil:
				t.Errorf("connection %d: TLS with the %s: %+v", i+1, leg.name, leg.tls)
			case leg.identity == "":
			case leg.tls == nil:
				t.Errorf("connection %d: no TLS with the %s: %+v", i+1, leg.name, peer)
			case !slices.Contains(leg.tls.Identities, leg.identity) || !leg.tls.Verified || leg.tls.ALPN != "h2":
				t.Errorf("connection %d: the %s is %+v, want a verified %s on h2", i+1, leg.name, leg.tls, leg.identity)
			}
		}
	}
	if whole == 0 {
		t.Error("no connection came about")
	}
}

// cutShort says of a leg that is to be in TLS that its handshake came to no end, neither
// a good one nor a bad one.
func cutShort(identity string, leg *session.TLS) bool {
	return identity != "" && leg != nil && leg.Version == ""
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
