package e2e

import (
	"context"
	"testing"
	"time"

	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// secretSessions rotate certificates.
func secretSessions() []recordedSession {
	var out []recordedSession
	for _, v := range variants()[:2] {
		out = append(out, recordedSession{
			name: "envoy-" + v.name + "-secrets",
			story: "Envoy gets a cluster with a certificate, which is rotated twice; then another cluster with\n" +
				"another certificate. All on one stream.",
			record: func(t *testing.T) string {
				s := openScene(t, v, careful(v), func(m *mesh) {
					m.secretCluster(t, "payments", "payments-cert")
					m.endpointsOf(t, "payments", 1)
					m.certify("payments-cert")
				})
				s.certify("payments-cert")
				s.push(t)
				s.certify("payments-cert")
				s.push(t)
				s.secretCluster(t, "ledger", "ledger-cert")
				s.endpointsOf(t, "ledger", 1)
				s.certify("ledger-cert")
				s.push(t)
				time.Sleep(idle)
				return s.close(t)
			},
		})
	}
	return out
}

// snapshotSessions are what go-control-plane's snapshots do that is not careful.
func snapshotSessions() []recordedSession {
	sotw := variants()[0]
	return []recordedSession{
		{
			name: "snapshot-resent-after-nack",
			story: "Envoy rejects a cluster. go-control-plane compares versions only, so it sends the same again, as\n" +
				"fast as both can, until there is a good one.",
			expect: []string{"nack-immediate-resend", "nack-received", "pgv-constraint"},
			record: func(t *testing.T) string {
				o := careful(sotw)
				o.ResendPause = 1
				s := openScene(t, sotw, o, nil)
				s.clusters["broken"] = xdstest.BrokenCluster("broken", s.source)
				s.endpointsOf(t, "broken", 1)
				s.control.set(t, s.world())
				s.control.wait(t, "five rejections", func(rs []xdstest.Record) bool {
					n := 0
					for _, r := range rs {
						if r.Error != "" {
							n++
						}
					}
					return n >= 5
				})
				s.cluster("broken", 1)
				s.push(t)
				return s.close(t)
			},
		},
		{
			name: "snapshot-with-one-version",
			story: "A control plane gives all types a new version with each of five changes of a route. Envoy gets\n" +
				"clusters, endpoints and a listener that it has, again and again.",
			expect: []string{"needless-push"},
			record: func(t *testing.T) string {
				s := openScene(t, sotw, xdstest.Options{Ordered: true}, func(m *mesh) {
					m.cluster("api", 1)
					m.endpointsOf(t, "api", 1)
				})
				for _, cluster := range []string{"api", "web", "api", "web", "api"} {
					s.route("routes", cluster)
					s.push(t)
				}
				return s.close(t)
			},
		},
		{
			name: "snapshot-emptied",
			story: "A control plane loses everything it had and pushes that: clusters first, while the routes still\n" +
				"lead there. Envoy lets go of the endpoints and never acknowledges that there are none.",
			expect: []string{"cluster-removed-while-referenced", "mass-removal"},
			record: func(t *testing.T) string {
				s := openScene(t, sotw, careful(sotw), nil)
				s.control.set(t, xdstest.World{})
				time.Sleep(idle)
				return s.close(t)
			},
		},
		{
			name: "snapshot-with-ttl",
			story: "Envoy gets runtime values that live for six seconds. go-control-plane renews them every two, with\n" +
				"heartbeats; once they change.",
			record: func(t *testing.T) string { return ttlSession(t, t.Context(), ttlFeatures()) },
		},
		{
			name: "snapshot-with-ttl-unannounced",
			story: "The same, but that Envoy does not say that it understands it: it only does when its bootstrap\n" +
				"file says so.",
			expect: []string{"ttl-unsupported-by-client"},
			record: func(t *testing.T) string { return ttlSession(t, t.Context(), nil) },
		},
		{
			name:   "snapshot-with-ttl-expired",
			story:  "The heartbeats of runtime values that live for six seconds cease, and Envoy drops them.",
			expect: []string{"ttl-expired"},
			record: func(t *testing.T) string {
				beating, cancel := context.WithCancel(t.Context())
				time.AfterFunc(10*time.Second, cancel)
				defer cancel()
				return ttlSession(t, beating, ttlFeatures())
			},
		},
	}
}

// ttlFeatures are what a client says that understands resources that expire.
func ttlFeatures() []string {
	return []string{"xds.config.supports-resource-ttl", "xds.config.supports-resource-in-sotw"}
}

// ttlSession is of an Envoy with runtime values that live for six seconds, and
// are renewed as long as beating is not done.
func ttlSession(t *testing.T, beating context.Context, features []string) string {
	t.Helper()
	v := variants()[0]
	v.features = features
	v.layers = []object{{"name": "flags", "rtds_layer": object{
		"name": "flags", "rtds_config": object{"resource_api_version": "V3", "ads": object{}},
	}}}
	m := newMesh(t, v.source)
	snapshots := cache.NewSnapshotCacheWithHeartbeating(beating, true, cache.IDHash{}, nil, 2*time.Second)
	set := func(runtimeVersion, value string) {
		t.Helper()
		layer, err := structpb.NewStruct(map[string]any{"flags.value": value})
		if err != nil {
			t.Fatal(err)
		}
		ttl := 6 * time.Second
		all := map[resource.Type][]types.ResourceWithTTL{}
		for _, c := range sorted(m.clusters) {
			all[cds] = append(all[cds], types.ResourceWithTTL{Resource: c})
		}
		for _, e := range sorted(m.endpoints) {
			all[eds] = append(all[eds], types.ResourceWithTTL{Resource: e})
		}
		for _, l := range sorted(m.listeners) {
			all[lds] = append(all[lds], types.ResourceWithTTL{Resource: l})
		}
		for _, r := range sorted(m.routes) {
			all[rds] = append(all[rds], types.ResourceWithTTL{Resource: r})
		}
		all[resource.RuntimeType] = []types.ResourceWithTTL{{
			Resource: &runtimev3.Runtime{Name: "flags", Layer: layer}, TTL: &ttl,
		}}
		s, err := cache.NewSnapshotWithTTLs("1", all)
		if err != nil {
			t.Fatal(err)
		}
		s.Resources[types.Runtime].Version = runtimeVersion
		if err := snapshots.SetSnapshot(t.Context(), envoyNode, s); err != nil {
			t.Fatal(err)
		}
	}
	set("1", "one")
	s := openScene(t, v, xdstest.Options{Ordered: true, Cache: snapshots}, nil)
	time.Sleep(5 * time.Second)
	set("2", "two")
	time.Sleep(20 * time.Second)
	return s.close(t)
}
