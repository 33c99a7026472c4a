package e2e

import (
	"slices"
	"testing"
)

// Every byte of a session leaves the proxy as it came, and the session ends
// the same way: streams with their status, the connection with GOAWAY. In TLS
// it is the bytes inside that are compared.
func TestBytesOfSessionsAreEqual(t *testing.T) {
	t.Parallel()
	through := func(t *testing.T, l legs, node string, story func(c *controlPlane, addr string)) {
		t.Parallel()
		c := startControlPlane(t, node)
		s := newSandwich(t, l, c.Addr())
		story(c, s.addr)
		s.close(t, l)
	}
	// All are tested in plaintext, some in each combination of plaintext and TLS.
	both := legs{client: true, server: true}
	some := map[string][]legs{"envoy-sotw": {{server: true}, both}, "envoy-delta": {{client: true}}, "grpc-go": {{server: true}, both}, "grpc-js": {{client: true}}}
	for _, l := range append([]legs{{}}, secureLegs()...) {
		all := l == legs{} || l == both && *full
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
