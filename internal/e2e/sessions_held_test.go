package e2e

import (
	"slices"
	"strings"
	"testing"
)

// heldSession ends with a listener that is accepted and waits for its routes.
func heldSession(v variant) recordedSession {
	return recordedSession{
		name: "envoy-" + v.name + "-held",
		story: "An Envoy is asked what it holds, by its admin endpoint. A cluster with a secret is in use, one warms until\n" +
			"its endpoints come, and one goes. A new listener is accepted at the end, and waits for routes that do not come.",
		record: func(t *testing.T) string {
			m := newMesh(t, v.source)
			m.certify("web-cert")
			m.secretCluster(t, "sealed", "web-cert")
			m.endpointsOf(t, "sealed", 1)
			m.cluster("old", 1)
			m.endpointsOf(t, "old", 1)
			s := &scene{mesh: m, control: startControlPlaneAs(t, envoyNode, careful(v))}
			s.control.set(t, m.world())
			admin := freeAddr(t)
			s.proxy = startProxyWith(t, s.control.Addr(), setup{args: []string{"--envoy-admin", envoyNode + "=" + admin, "--held-interval", "1s"}})
			text := envoyBootstrap(t, v, envoyNode, s.proxy.addr)
			text["admin"] = object{"address": addressFor(t, admin)}
			e, path := launchEnvoyWith(t, text)
			e.await(t, path)
			s.envoy = e
			shows := func(name, states string) {
				t.Helper()
				eventually(t, name+" is "+states, func() bool {
					h, _ := holdings(t, heldEntries(t, s.proxy.file))
					return strings.Join(slices.Sorted(slices.Values(h[name])), ", ") == states
				})
			}
			shows("Cluster sealed", "ACKED")
			s.control.rest(t, quiet)
			m.cluster("late", 1)
			s.control.set(t, m.world())
			shows("Cluster late", "REQUESTED")
			m.endpointsOf(t, "late", 1)
			s.push(t)
			shows("Cluster late", "ACKED")
			delete(m.clusters, "old")
			delete(m.endpoints, "old")
			s.push(t)
			shows("Cluster old", "")
			m.listener(t, "inner", "inner-routes")
			s.control.set(t, m.world())
			shows("Listener inner", "REQUESTED")
			s.control.rest(t, quiet)
			s.proxy.stop(t)
			e.stop(t)
			return s.proxy.file
		},
	}
}
