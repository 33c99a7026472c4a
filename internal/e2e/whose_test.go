package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/recorder/recordertest"
	"github.com/xdsproxy/xdsproxy/session"
)

// recordedClusters are those of the first response of a recording that has any.
func recordedClusters(t *testing.T, name string) (out []*clusterv3.Cluster) {
	t.Helper()
	for _, e := range recordertest.Entries(t, filepath.Join(filepath.Dir(sessionsDir), "systems", name)) {
		if e.Kind != session.KindMessage || e.Side != session.Server {
			continue
		}
		var m discovery.DeltaDiscoveryResponse
		if err := proto.Unmarshal(e.Message.Data.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Resources {
			var c clusterv3.Cluster
			if err := r.Resource.UnmarshalTo(&c); err == nil {
				out = append(out, &c)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	t.Fatalf("%s has no clusters", name)
	return nil
}

// What Envoy Gateway made of HTTPRoutes, of which one is spoiled: Envoy rejects it,
// and the finding says whose it is.
func TestRejectedHTTPRoute(t *testing.T) {
	t.Parallel()
	tool(t, "envoy", "envoy", "_bin", "envoy")
	const culprit = "httproute/default/r1/rule/1"
	clusters := recordedClusters(t, "eg-updates-plain.xdsp")
	at := slices.IndexFunc(clusters, func(c *clusterv3.Cluster) bool { return c.Name == culprit })
	if at < 0 {
		t.Fatalf("there is no %s", culprit)
	}
	clusters[at].ConnectTimeout = durationpb.New(0) // it has to be greater

	v := variants()[1] // as Envoy Gateway speaks
	c := startControlPlane(t, "envoy-whose")
	p := startProxy(t, c.Addr())
	c.set(t, xdstest.World{Clusters: clusters})
	e := startEnvoy(t, v, c.node, p.addr)
	if refused := c.nack(t); !strings.Contains(refused.Error, culprit) {
		t.Errorf("Envoy rejects %q", refused.Error)
	}
	e.stop(t)
	p.stop(t)

	var report struct {
		Findings []struct {
			Rule    string
			Names   []string
			Sources []struct {
				System, Kind, Namespace, Name string
				Rule                          *int
				By                            bool `json:"by_name"`
			}
		}
	}
	if err := json.Unmarshal(p.run(t, "check", p.file, "-o", "json", "--fail-on", "never"), &report); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range report.Findings {
		if f.Rule != "nack-received" {
			continue
		}
		found = true
		if len(f.Sources) != 1 || f.Sources[0].Rule == nil {
			t.Fatalf("of %q it names %+v", f.Names, f.Sources)
		}
		s := f.Sources[0]
		if got := fmt.Sprint(s.System, " ", s.Kind, " ", s.Namespace, "/", s.Name, " ", *s.Rule, " ", s.By); got != "Envoy Gateway HTTPRoute default/r1 1 false" {
			t.Errorf("it is of %s", got)
		}
	}
	if !found {
		t.Errorf("nobody says that it was rejected: %+v", report.Findings)
	}
	if text := string(p.run(t, "check", p.file, "--fail-on", "never")); !strings.Contains(text, "made from HTTPRoute default/r1, rule 1\n") {
		t.Errorf("a person reads\n%s", text)
	}
	if lines := string(p.run(t, "watch", p.file, "--filter", "source:HTTPRoute/default/r1")); strings.Count(lines, "CDS") == 0 {
		t.Errorf("no entry is of it:\n%s", lines)
	}
}

// Who compares, and a scanner of findings, is told whose it is, too.
func TestWhoseElsewhere(t *testing.T) {
	t.Parallel()
	systems := filepath.Join(filepath.Dir(sessionsDir), "systems")
	one, other := filepath.Join(systems, "eg-warm-plain.xdsp"), filepath.Join(systems, "eg-updates-plain.xdsp")
	const named, from = "httproute/default/r0/rule/0", "made from HTTPRoute default/r0, rule 0"
	dump := filepath.Join(t.TempDir(), "dump.json")
	writeBootstrap(t, dump, object{"configs": []object{{
		"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "version_info": "1", "dynamic_active_clusters": []object{{
			"version_info": "1", "cluster": object{"@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster", "name": named, "connect_timeout": "1s"},
		}},
	}}})
	for name, args := range map[string][]string{
		"recordings":    {"diff", one, other, "--all"},
		"a config_dump": {"diff", one, dump},
	} {
		about := func(line string) bool { return strings.Contains(line, named+" ") || strings.Contains(line, named+":") }
		lines := strings.Split(string(runProgram(t, args...)), "\n")
		if i := slices.IndexFunc(lines, about); i < 0 || !strings.HasSuffix(lines[i], from) {
			t.Errorf("%s: whose %s is, is not said in\n%s", name, named, strings.Join(lines, "\n"))
		}
		if out := string(runProgram(t, append(args, "-o", "json")...)); !strings.Contains(out, `"kind":"HTTPRoute"`) && !strings.Contains(out, `"kind": "HTTPRoute"`) {
			t.Errorf("%s: no source is in\n%s", name, out)
		}
	}
	var sarif struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Message   struct{ Text string }
				Locations []struct {
					LogicalLocations []struct{ FullyQualifiedName, Kind string }
				}
			}
		}
	}
	if err := json.Unmarshal(runProgram(t, "check", one, "-o", "sarif", "--fail-on", "never"), &sarif); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range sarif.Runs[0].Results {
		for _, l := range r.Locations[0].LogicalLocations {
			found = found || r.RuleID == "cluster-warming-starved" && l.Kind == "object" && l.FullyQualifiedName == "Backend/default/b0" &&
				strings.HasSuffix(r.Message.Text, "; made from Backend default/b0")
		}
	}
	if !found {
		t.Errorf("SARIF does not name the object: %+v", sarif)
	}
	if out := string(runProgram(t, "watch", one)); !strings.Contains(out, "cluster-warming-starved: ") || !strings.Contains(out, "; made from Backend default/b0\n") {
		t.Errorf("watch does not name the object:\n%s", out)
	}
}
