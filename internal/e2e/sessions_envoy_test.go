package e2e

import (
	"testing"
	"time"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// scene is an Envoy with a control plane, and the proxy between them.
type scene struct {
	*mesh
	control *controlPlane
	proxy   *proxy
	envoy   *envoy
}

const envoyNode = "envoy"

// careful is how a control plane behaves that this package finds no fault with.
func careful(v variant) xdstest.Options {
	return xdstest.Options{Ordered: v.ads(), OwnVersions: true}
}

// openScene starts all three, when prepare has said what Envoy finds.
func openScene(t *testing.T, v variant, o xdstest.Options, prepare func(m *mesh)) *scene {
	t.Helper()
	m := newMesh(t, v.source)
	if prepare != nil {
		prepare(m)
	}
	c := startControlPlaneAs(t, envoyNode, o)
	if o.Cache == nil {
		c.set(t, m.world())
	}
	s := &scene{mesh: m, control: c, proxy: startProxy(t, c.Addr())}
	s.envoy = startEnvoy(t, v, envoyNode, s.proxy.addr)
	s.control.rest(t, quiet)
	return s
}

// push makes the mesh as it is now known, and waits until Envoy has it all.
func (s *scene) push(t *testing.T) {
	t.Helper()
	s.control.push(t, func() { s.control.set(t, s.world()) })
}

// close ends Envoy first, and returns the recording.
func (s *scene) close(t *testing.T) string {
	t.Helper()
	s.envoy.stop(t)
	time.Sleep(quiet)
	s.proxy.stop(t)
	return s.proxy.file
}

// updates are seven, one after the other, each of which leaves nothing that
// refers to something missing.
func (s *scene) updates(t *testing.T) {
	t.Helper()
	s.cluster("api", 1)
	s.endpointsOf(t, "api", 2)
	s.push(t)
	s.route("routes", "api")
	s.push(t)
	s.cluster("api", 2)
	s.endpointsOf(t, "api", 3) // a delta server sends what a warming cluster waits for only if it is new
	s.push(t)
	s.endpointsOf(t, "web", 2)
	s.push(t)
	s.listener(t, "inner", "inner-routes")
	s.route("inner-routes", "web")
	s.push(t)
	s.route("routes", "web")
	s.push(t)
	delete(s.clusters, "api")
	delete(s.endpoints, "api")
	delete(s.listeners, "inner")
	delete(s.routes, "inner-routes")
	s.push(t)
}

func envoySessions() []recordedSession {
	var out []recordedSession
	for _, v := range variants() {
		out = append(out, recordedSession{
			name: "envoy-" + v.name,
			story: "Envoy starts, gets seven updates that add, change and remove clusters, endpoints, routes\n" +
				"and a listener, and is left alone for a while.",
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), nil)
				s.updates(t)
				time.Sleep(idle)
				return s.close(t)
			},
		})
	}
	out = append(out, heldSession(variants()[0]))
	for _, v := range variants() {
		out = append(out, envoyRestart(v))
	}
	for _, v := range variants()[:2] {
		out = append(append(out, envoyTrouble(v)...), nowhereSession(v))
	}
	return out
}

// envoyRestart is the same for all.
func envoyRestart(v variant) recordedSession {
	return recordedSession{
		name: "envoy-" + v.name + "-restart",
		story: "The control plane of an Envoy goes away for two seconds, twice: it comes back as it was,\n" +
			"then with a cluster, a route and a listener changed.",
		record: func(t *testing.T) string {
			s := openScene(t, v, careful(v), nil)
			s.control.restartAfter(t, 2*time.Second)
			s.control.rest(t, quiet)
			time.Sleep(idle)
			s.control.settle(t)
			s.control.Stop()
			time.Sleep(2 * time.Second)
			s.cluster("api", 1)
			s.endpointsOf(t, "api", 2)
			s.route("routes", "api")
			s.listener(t, "inner", "routes")
			s.control.set(t, s.world())
			s.control.startAgain(t)
			s.control.rest(t, quiet)
			time.Sleep(idle)
			return s.close(t)
		},
	}
}
