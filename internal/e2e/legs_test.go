package e2e

import (
	"crypto/tls"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// legs says on which legs of a proxy TLS is spoken.
type legs struct{ client, server bool }

func (l legs) String() string {
	word := map[bool]string{false: "plain", true: "TLS"}
	return word[l.client] + " to " + word[l.server]
}

// secureLegs are all with TLS on at least one side.
func secureLegs() []legs {
	return []legs{{client: true, server: true}, {client: true}, {server: true}}
}

// args are the flags of a proxy that speaks TLS on these legs.
func (s *secured) args(t *testing.T, l legs) []string {
	t.Helper()
	var out []string
	words := recipeArgs(t, "mutual run", s.dir)
	for pair := range slices.Chunk(words, 2) {
		if of := strings.HasPrefix(pair[0], "--upstream"); of && l.server || !of && l.client {
			out = append(out, pair...)
		}
	}
	return out
}

// ends are how a client and a server speak TLS with such a proxy; nil: they
// speak plaintext. They offer and know these protocols.
func (s *secured) ends(t *testing.T, l legs, protocols ...string) (client, server *tls.Config) {
	t.Helper()
	if l.client {
		client = s.client(t, "envoy/envoy", protocols...)
	}
	if l.server {
		server = s.controlPlane()
		server.NextProtos = protocols
	}
	return client, server
}

// client is one that shows the certificate of this name and calls a proxy.
func (s *secured) client(t *testing.T, shown string, protocols ...string) *tls.Config {
	t.Helper()
	path := filepath.Join(s.dir, shown)
	pair, err := tls.LoadX509KeyPair(path+".pem", path+".key")
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: s.outer.Pool(), ServerName: "xdsproxy.example", NextProtos: protocols,
	}
}

// sandwich is a proxy with a pipe on either side of it. What is outside of the
// pipes speaks plaintext, what is between them is as the legs say.
type sandwich struct {
	*proxy
	addr         string // of the outer pipe
	inner, outer *pipe
}

func newSandwich(t *testing.T, l legs, upstream string) *sandwich {
	t.Helper()
	s := newSecured(t)
	client, server := s.ends(t, l, "h2")
	inner := startPipeWith(t, upstream, server, nil)
	p := startProxyWith(t, inner.addr, setup{args: s.args(t, l)})
	outer := startPipeWith(t, p.addr, nil, client)
	return &sandwich{p, outer.addr, inner, outer}
}

// close requires that all bytes of the first connection passed, stops the
// proxy, and requires that the recording knows how they did.
func (s *sandwich) close(t *testing.T, l legs) {
	t.Helper()
	sameBytes(t, s.outer.first(t), s.inner.first(t))
	s.stop(t)
	s.connectedTo(t, orNobody(l.client, envoyIdentity), orNobody(l.server, controlIdentity))
}

func orNobody(is bool, identity string) string {
	if is {
		return identity
	}
	return ""
}

// tlsOf are the handshakes of the only connection in the recording.
func (p *proxy) tlsOf(t *testing.T) (client, server *session.TLS) {
	t.Helper()
	peers := p.peers(t)
	if len(peers) != 1 {
		t.Fatalf("%d connections in the recording", len(peers))
	}
	return peers[0].ClientTLS, peers[0].ServerTLS
}
