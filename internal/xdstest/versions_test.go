package xdstest

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Which types get a new version, world by world.
func TestKeepVersions(t *testing.T) {
	cluster := func(name string, seconds int64) *clusterv3.Cluster {
		c := Cluster(name, ADS())
		c.ConnectTimeout = &durationpb.Duration{Seconds: seconds}
		return c
	}
	of := func(name string, addrs ...string) *endpointv3.ClusterLoadAssignment {
		e := Endpoints(name, addrs...)
		return e
	}
	a, b, moved := of("a", "127.0.0.1:1"), of("b", "127.0.0.1:1"), of("a", "127.0.0.1:2")
	type (
		cs = []*clusterv3.Cluster
		es = []*endpointv3.ClusterLoadAssignment
	)
	before := versions{}
	for i, step := range []struct {
		what                        string
		world                       World
		clusters, endpoints, routes string
	}{
		{"the first", World{Clusters: cs{cluster("a", 1)}, Endpoints: es{a}}, "0", "0", "0"},
		{"the same", World{Clusters: cs{cluster("a", 1)}, Endpoints: es{a}}, "0", "0", "0"},
		{"one more", World{Clusters: cs{cluster("a", 1), cluster("b", 1)}, Endpoints: es{a, b}}, "2", "2", "0"},
		{"endpoints moved", World{Clusters: cs{cluster("a", 1), cluster("b", 1)}, Endpoints: es{moved, b}}, "2", "3", "0"},
		{"a cluster changed", World{Clusters: cs{cluster("a", 2), cluster("b", 1)}, Endpoints: es{moved, b}}, "4", "4", "0"},
		{"one less", World{Clusters: cs{cluster("a", 2)}, Endpoints: es{moved}}, "5", "4", "0"},
		{"back again", World{Clusters: cs{cluster("a", 2), cluster("b", 1)}, Endpoints: es{moved, b}}, "6", "6", "0"},
	} {
		s, err := step.world.snapshot(string(rune('0' + i)))
		if err != nil {
			t.Fatal(err)
		}
		v, err := versionsOf(s)
		if err != nil {
			t.Fatal(err)
		}
		v.keep(s, before, true)
		for typeURL, want := range map[string]string{
			resource.ClusterType: step.clusters, resource.EndpointType: step.endpoints, resource.RouteType: step.routes,
		} {
			if got := s.GetVersion(typeURL); got != want || v[typeURL].name != want {
				t.Errorf("%s: %s has version %s and %s, want %s", step.what, ShortType(typeURL), got, v[typeURL].name, want)
			}
		}
		before = v
	}
}
