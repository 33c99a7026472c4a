package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/tui/source"
)

// TestSnippets: the bootstraps for each kind of listener, in plaintext and with TLS.
func TestSnippets(t *testing.T) {
	var b strings.Builder
	for _, of := range []source.Route{{}, {Secure: true, Upstream: "unix:/run/x"}, {Secure: true, Roots: "/etc/roots.pem", Upstream: "istiod:15012"}, {Secure: true, Upstream: ":15012", Asked: true}} {
		for _, l := range append(listeners(), ":18000", "0.0.0.0:1") {
			at := endpointOf(l)
			at.secure = securityOf(of)
			fmt.Fprintf(&b, "== %s for %+v\n%s%s", l, of, at.envoyBootstrap(), at.grpcBootstrap())
			if of.Secure {
				break // what TLS adds is the same for all
			}
		}
	}
	golden.Is(t, "testdata/snippets.txt", b.String())
}
