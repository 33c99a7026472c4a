package e2e

import "testing"

// Every byte of a session leaves the proxy as it came, and the session ends
// the same way: streams with their status, the connection with GOAWAY.
func TestBytesOfSessionsAreEqual(t *testing.T) {
	sandwich := func(t *testing.T, node string, story func(c *controlPlane, addr string)) {
		t.Parallel()
		c := startControlPlane(t, node)
		inner := startPipe(t, c.Addr())
		p := startProxy(t, inner.addr)
		outer := startPipe(t, p.addr)
		story(c, outer.addr)
		sameBytes(t, outer.first(t), inner.first(t))
		p.stop(t)
	}
	for _, v := range variants() {
		t.Run("envoy-"+v.name, func(t *testing.T) {
			tool(t, "envoy", "envoy", "_bin", "envoy")
			sandwich(t, "envoy-"+v.name, func(c *controlPlane, addr string) { envoyStory(t, v, c, addr, drains) })
		})
	}
	for _, impl := range implementations() {
		t.Run(impl.name, func(t *testing.T) {
			impl.need(t)
			sandwich(t, impl.name, func(c *controlPlane, addr string) { grpcStory(t, impl, c, plainBootstrap(t, addr, c.node), drains) })
		})
	}
}
