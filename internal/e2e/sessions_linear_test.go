package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// linear is go-control-plane with a cache for each type, which knows resources
// one by one.
type linear struct {
	*scene
	caches map[string]*cache.LinearCache
}

func openLinear(t *testing.T, v variant) *linear {
	t.Helper()
	tool(t, "envoy", "envoy", "_bin", "envoy")
	l := &linear{caches: map[string]*cache.LinearCache{}}
	mux := &cache.MuxCache{
		Classify:      func(r *cache.Request) string { return r.GetTypeUrl() },
		ClassifyDelta: func(r *cache.DeltaRequest) string { return r.GetTypeUrl() },
		Caches:        map[string]cache.Cache{},
	}
	m := newMesh(t, v.source)
	for typeURL, resources := range map[string]map[string]types.Resource{
		cds: {"web": m.clusters["web"]}, eds: {"web": m.endpoints["web"]},
		lds: {"ingress": m.listeners["ingress"]}, rds: {"routes": m.routes["routes"]},
	} {
		c := cache.NewLinearCache(typeURL, cache.WithVersionPrefix(xdstest.ShortType(typeURL)+"-"), cache.WithInitialResources(resources))
		l.caches[typeURL], mux.Caches[typeURL] = c, c
	}
	l.scene = openScene(t, v, xdstest.Options{Cache: mux}, nil)
	return l
}

func (l *linear) put(t *testing.T, typeURL, name string, r types.Resource) {
	t.Helper()
	if err := l.caches[typeURL].UpdateResource(name, r); err != nil {
		t.Fatal(err)
	}
}

func (l *linear) remove(t *testing.T, typeURL, name string) {
	t.Helper()
	if err := l.caches[typeURL].DeleteResource(name); err != nil {
		t.Fatal(err)
	}
}

// changeCluster changes one without a word about its endpoints.
func (l *linear) changeCluster(t *testing.T) {
	t.Helper()
	l.cluster("api", 2)
	before := len(l.control.account.Records())
	l.put(t, cds, "api", l.clusters["api"])
	l.control.wait(t, "the clusters", func(rs []xdstest.Record) bool { return len(rs) > before })
}

// addCluster adds api and routes to it.
func (l *linear) addCluster(t *testing.T) {
	t.Helper()
	l.cluster("api", 1)
	l.endpointsOf(t, "api", 1)
	l.route("routes", "api")
	l.put(t, eds, "api", l.endpoints["api"])
	l.control.push(t, func() { l.put(t, cds, "api", l.clusters["api"]) })
	l.control.push(t, func() { l.put(t, rds, "routes", l.routes["routes"]) })
}

func linearSessions() []recordedSession {
	var out []recordedSession
	for _, v := range variants()[:2] {
		out = append(out, recordedSession{
			name: "linear-" + v.name,
			story: "Envoy at go-control-plane with a cache for each type: a cluster with a route is added, changed\n" +
				"together with its endpoints, and removed, when nothing leads there.",
			record: func(t *testing.T) string {
				l := openLinear(t, v)
				l.addCluster(t)
				l.changeCluster(t)
				l.endpointsOf(t, "api", 2)
				l.control.push(t, func() { l.put(t, eds, "api", l.endpoints["api"]) })
				l.route("routes", "web")
				l.control.push(t, func() { l.put(t, rds, "routes", l.routes["routes"]) })
				l.control.push(t, func() { l.remove(t, cds, "api") })
				l.remove(t, eds, "api")
				time.Sleep(idle)
				return l.close(t)
			},
		}, recordedSession{
			name: "linear-" + v.name + "-starves-a-cluster",
			story: "A cluster changes, and its endpoints do not. Envoy waits for them all the same, for 15 seconds:\n" +
				"the cache does not send what it has sent before.",
			expect: []string{"cluster-warming-starved"},
			record: func(t *testing.T) string {
				l := openLinear(t, v)
				l.addCluster(t)
				l.changeCluster(t)
				time.Sleep(20 * time.Second)
				return l.close(t)
			},
		})
	}
	return out
}

// demoSession is the round that the demo plays.
func demoSession() recordedSession {
	return recordedSession{
		name: "demo",
		story: "One round of the demo: start-up, an update, a rejected cluster that is sent again until it is\n" +
			"fixed, delta subscriptions, a rotated secret, a restart.",
		expect: []string{"nack-immediate-resend", "nack-received", "pgv-constraint"},
		record: func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "demo.xdsp")
			cmd := exec.CommandContext(t.Context(), program(t), "demo", "--once", "-w", file)
			cmd.Env = quietEnv(t)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("demo: %v\n%s", err, out)
			}
			return file
		},
	}
}
