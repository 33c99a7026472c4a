package e2e

import (
	"slices"
	"testing"
)

// Every byte of a session leaves the proxy as it came, and the session ends
// the same way: streams with their status, the connection with GOAWAY. In TLS
// it is the bytes inside that are compared.
func TestBytesOfSessionsAreEqual(t *testing.T) {
	through := func(t *testing.T, l legs, node string, story func(c *controlPlane, addr string)) {
		t.Parallel()
		c := startControlPlane(t, node)
		s := newSandwich(t, l, c.Addr())
		story(c, s.addr)
		s.close(t, l)
	}
	// The combinations of plaintext and TLS with which a client is tested
	// beside those that all are tested with.
	some := map[string][]legs{"envoy-sotw": {{server: true}}, "envoy-delta": {{client: true}}, "grpc-go": {{server: true}}, "grpc-js": {{client: true}}}
	for _, l := range append([]legs{{}}, secureLegs()...) {
		all := l.client == l.server
		for _, v := range variants() {
			if name := "envoy-" + v.name; all || slices.Contains(some[name], l) {
				t.Run(l.String()+", "+name, func(t *testing.T) {
					tool(t, "envoy", "envoy", "_bin", "envoy")
					through(t, l, name, func(c *controlPlane, addr string) { envoyStory(t, v, c, addr, drains) })
				})
			}
		}
		for _, impl := range implementations() {
			if all || slices.Contains(some[impl.name], l) {
				t.Run(l.String()+", "+impl.name, func(t *testing.T) {
					impl.need(t)
					through(t, l, impl.name, func(c *controlPlane, addr string) {
						grpcStory(t, impl, c, plainBootstrap(t, addr, c.node), drains)
					})
				})
			}
		}
	}
}
