package e2e

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// envoyTrouble is what may befall an Envoy on an aggregated stream.
func envoyTrouble(v variant) []recordedSession {
	return []recordedSession{
		{
			name: "envoy-" + v.name + "-begins-anew",
			story: "An Envoy ends, and another one with the same node begins from nothing; in between a cluster has\n" +
				"gone.",
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), func(m *mesh) {
					m.cluster("api", 1)
					m.endpointsOf(t, "api", 1)
				})
				s.envoy.stop(t)
				delete(s.clusters, "api")
				delete(s.endpoints, "api")
				s.control.set(t, s.world())
				s.envoy = startEnvoy(t, v, envoyNode, s.proxy.addr)
				s.control.rest(t, quiet)
				time.Sleep(idle)
				return s.close(t)
			},
		},
		{
			name: "envoy-" + v.name + "-replaced-server",
			story: "Another control plane takes the place of the one that an Envoy knew. It numbers its versions from\n" +
				"1, as the other did, and has another cluster and no second listener.",
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), func(m *mesh) {
					m.cluster("old", 1)
					m.endpointsOf(t, "old", 1)
					m.listener(t, "inner", "routes")
				})
				s.control.Stop()
				delete(s.clusters, "old")
				delete(s.endpoints, "old")
				delete(s.listeners, "inner")
				s.cluster("new", 1)
				s.endpointsOf(t, "new", 2)
				o := careful(v)
				o.Listen = s.control.Addr()
				s.control = startControlPlaneAs(t, envoyNode, o)
				s.control.set(t, s.world())
				s.control.rest(t, 2*time.Second)
				time.Sleep(idle)
				return s.close(t)
			},
		},
		{
			name:   "envoy-" + v.name + "-nack",
			story:  "Envoy rejects a cluster without a timeout; two seconds later the control plane has a good one.",
			expect: []string{"nack-received", "pgv-constraint"},
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), nil)
				s.clusters["broken"] = xdstest.BrokenCluster("broken", s.source)
				s.endpointsOf(t, "broken", 1)
				s.control.set(t, s.world())
				s.control.nack(t)
				time.Sleep(2 * time.Second)
				s.cluster("broken", 1)
				s.push(t)
				time.Sleep(idle)
				return s.close(t)
			},
		},
		{
			name:  "envoy-" + v.name + "-endpoints-late",
			story: "The endpoints of a new cluster come three seconds after it. Envoy acknowledges the cluster then.",
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), nil)
				s.cluster("late", 1)
				s.control.set(t, s.world())
				time.Sleep(3 * time.Second)
				s.endpointsOf(t, "late", 1)
				s.push(t)
				time.Sleep(idle)
				return s.close(t)
			},
		},
		{
			name: "envoy-" + v.name + "-endpoints-never",
			story: "The endpoints of a new cluster never come. Envoy goes on without them after 15 seconds.\n" +
				"The control plane is go-control-plane, which does not say of a name that it has nothing of it.",
			expect: starved(v, "cluster-warming-starved"),
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), nil)
				s.cluster("lonely", 1)
				s.push(t)
				time.Sleep(20 * time.Second)
				return s.close(t)
			},
		},
		{
			name: "envoy-" + v.name + "-endpoints-awaited-for-ever",
			story: "The endpoints of a new cluster never come, and Envoy was told to wait for them without a limit:\n" +
				"it does not acknowledge the cluster.",
			expect: starved(v, "cds-ack-held-by-warming", "cluster-warming-starved"),
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), nil)
				s.cluster("lonely", 1)
				patient := proto.CloneOf(s.source)
				patient.InitialFetchTimeout = durationpb.New(0)
				s.clusters["lonely"].EdsClusterConfig.EdsConfig = patient
				s.control.set(t, s.world())
				time.Sleep(idle)
				return s.close(t)
			},
		},
		{
			name: "envoy-" + v.name + "-drained-listener",
			story: "A listener and its routes are taken away, then the cluster that only these led to. Envoy drains\n" +
				"the listener for ten minutes, and names the routes for as long.",
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), func(m *mesh) {
					m.cluster("api", 1)
					m.endpointsOf(t, "api", 1)
					m.listener(t, "inner", "inner-routes")
					m.route("inner-routes", "api")
				})
				delete(s.listeners, "inner")
				delete(s.routes, "inner-routes")
				s.push(t)
				delete(s.clusters, "api")
				delete(s.endpoints, "api")
				s.push(t)
				s.cluster("late", 1)
				s.endpointsOf(t, "late", 1)
				s.push(t)
				s.route("routes", "late")
				s.push(t)
				time.Sleep(idle)
				return s.close(t)
			},
		},
		{
			name: "envoy-" + v.name + "-removed-while-routed",
			story: "One push takes a cluster away and the route to it elsewhere. Clusters go first, so for a moment\n" +
				"the route leads nowhere.",
			expect: []string{"cluster-removed-while-referenced"},
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), func(m *mesh) {
					m.cluster("api", 1)
					m.endpointsOf(t, "api", 1)
					m.route("routes", "api")
				})
				delete(s.clusters, "api")
				delete(s.endpoints, "api")
				s.route("routes", "web")
				s.push(t)
				return s.close(t)
			},
		},
	}
}

// starved adds what a delta server owes beyond the state of the world: an answer
// to a name that it has nothing of.
func starved(v variant, rules ...string) []string {
	if v.name == "delta" {
		rules = append(rules, "delta-subscribe-unanswered")
	}
	slices.Sort(rules)
	return rules
}
