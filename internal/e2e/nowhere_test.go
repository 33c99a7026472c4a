package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// nowhere leads Envoy through a typo in the cluster of a route. A second listener
// has routes within it, to a cluster of Envoy's bootstrap: of these Envoy looks up
// the clusters.
func nowhere(t *testing.T, v variant) *scene {
	t.Helper()
	s := openScene(t, v, careful(v), func(m *mesh) { m.within(t, "inner", xdsCluster) })
	s.route("routes", "wbe", "web")
	s.push(t)
	time.Sleep(17 * time.Second)
	return s
}

// within adds a listener with its routes in it.
func (m *mesh) within(t *testing.T, name, cluster string) {
	t.Helper()
	m.listener(t, name, "")
	filter := m.listeners[name].FilterChains[0].Filters[0]
	manager := &hcmv3.HttpConnectionManager{}
	if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: xdstest.ClusterRoute("inline", cluster)}
	config, err := anypb.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	filter.GetTypedConfig().TypeUrl, filter.GetTypedConfig().Value = config.TypeUrl, config.Value
}

// nowhereSession is the same as a fixture.
func nowhereSession(v variant) recordedSession {
	return recordedSession{
		name: "envoy-" + v.name + "-route-to-nowhere",
		story: "A route names a cluster that does not exist. Envoy accepts it. A listener has routes within it, to\n" +
			"a cluster of Envoy's bootstrap.",
		expect: []string{"reference-never-sent"},
		record: func(t *testing.T) string { return nowhere(t, v).close(t) },
	}
}

// Envoy accepts a route to a cluster that does not exist; check says so once,
// with all that it takes to mend it.
func TestRouteToNowhere(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := nowhere(t, v)
			// Routes within a listener to a cluster that is not there are rejected.
			s.within(t, "other", "nobody")
			s.control.set(t, s.world())
			if refused := s.control.nack(t); !strings.Contains(refused.Error, "nobody") {
				t.Errorf("Envoy rejected %q", refused.Error)
			}
			recording := s.close(t)
			var checked struct {
				Findings []struct {
					Rule, Severity, Message string
					Count                   int
				}
			}
			if err := json.Unmarshal(runProgram(t, "check", recording, "-o", "json", "--fail-on", "never"), &checked); err != nil {
				t.Fatal(err)
			}
			const want = `RDS "routes" names cluster "wbe" at virtual_hosts[0].routes[1].route.cluster, and it was not sent within 15s; the nearest name that was sent is "web"`
			found := 0
			for _, f := range checked.Findings {
				switch {
				case f.Rule == "reference-never-sent":
					if found++; f.Severity != "warning" || f.Count != 1 || f.Message != want {
						t.Errorf("%+v, want %s", f, want)
					}
				case f.Severity != "info" && f.Rule != "nack-received":
					t.Errorf("%s: %s", f.Rule, f.Message)
				}
			}
			if found != 1 {
				t.Errorf("%d findings, want 1: %+v", found, checked.Findings)
			}
			tree := string(runProgram(t, "tree", recording))
			for _, line := range []string{`CDS +xds +not over xDS`, `CDS +wbe +MISSING`} {
				if !regexp.MustCompile(line).MatchString(tree) {
					t.Errorf("tree has no %s:\n%s", line, tree)
				}
			}
		})
	}
}
