package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// securely is the variant with the cluster of the control plane in TLS, as a
// recipe says; params change what Envoy speaks.
func (v variant) securely(t *testing.T, recipe, dir string, params object) variant {
	t.Helper()
	v.secure = recipeSocket(t, recipe, dir)
	if params != nil {
		v.secure["typed_config"].(object)["common_tls_context"].(object)["tls_params"] = params
	}
	return v
}

// only is a version of TLS as the one that Envoy speaks.
func only(version string) object {
	return object{"tls_minimum_protocol_version": version, "tls_maximum_protocol_version": version}
}

// Envoy and a control plane that both show certificates and want to see some.
func TestEnvoySecured(t *testing.T) {
	t.Parallel()
	sotw, delta := variants()[0], variants()[1]
	for _, c := range []struct {
		name, recipe string
		variant      variant
		params       object
		version      string
	}{
		{"sotw", "mutual", sotw, only("TLSv1_3"), "1.3"},
		{"delta", "mutual", delta, only("TLSv1_2"), "1.2"},
		{"minted sotw", "minted", sotw, nil, "1.2"}, // what Envoy speaks if it is not told
		{"minted per-type-delta", "minted", variants()[3], only("TLSv1_3"), "1.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tool(t, "envoy", "envoy", "_bin", "envoy")
			s := newSecured(t)
			control := startControlPlaneAs(t, "envoy-"+c.variant.name, xdstest.Options{TLS: s.controlPlane()})
			p := startProxyWith(t, control.Addr(), setup{args: append(recipeArgs(t, c.recipe+" run", s.dir), "--tls-min-version", c.version)})
			envoyStory(t, c.variant.securely(t, c.recipe+" envoy", s.dir, c.params), control, p.addr, comesBack)
			p.stop(t)
			compare(t, control.account, p)

			p.connectedTo(t, envoyIdentity, controlIdentity)
			for _, who := range []string{envoyIdentity, controlIdentity} {
				if shown := p.show(t, 1); !strings.Contains(shown, who) {
					t.Errorf("the first entry does not name %s: %s", who, shown)
				}
			}
			asked := "xdsproxy.example" // by Envoy, of the proxy
			if c.recipe == "minted" {
				asked = "control-plane.example"
				s.everyCall(t, call{proxyAsClient, asked})
			} else {
				s.everyCall(t, call{proxyAsClient, ""}) // the upstream is an IP address
			}
			for i, peer := range p.peers(t) {
				if h := peer.ClientTLS; h == nil || h.Version != c.version || h.ServerName != asked {
					t.Errorf("connection %d: TLS of the client is %+v, want %s for %s", i+1, h, c.version, asked)
				}
			}
			if found := rulesFound(t, p.file); !slices.Contains(found, "nack-received") {
				t.Errorf("check finds %q", found)
			}
		})
	}
}
