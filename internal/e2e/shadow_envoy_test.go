package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// A real Envoy gets every push of a live server as it comes, and what only it
// rejects is told.
func TestFollowToEnvoy(t *testing.T) {
	t.Parallel()
	for _, v := range variants()[:2] {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			w := newShadowWorld(t, 1, xdstest.Options{}, xdstest.Options{})
			s := startShadow(t, w.proxy.file, "--as", "server", "--listen", freeAddr(t))
			addr := s.stderr.find(t, playing, s.exited)[1]
			e, admin := launchEnvoy(t, v, v.name+"-0", addr)
			if v.name == "sotw" { // whose live client asks for listeners, too
				e.await(t, admin)
			}
			eventually(t, "Envoy is welcome", func() bool {
				return slices.ContainsFunc(s.events(t), func(e shadowEvent) bool { return strings.Contains(e.Text, "is given what") })
			})
			w.push(t, w.live)
			w.alter = func(_ *xdstest.ControlPlane, next *xdstest.World) {
				next.Clusters[4].ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{Name: "no.such.type"}}
			}
			w.push(t, w.live)
			d := s.until(t, "difference", 0)
			if d.Type != "CDS" || !strings.Contains(d.Text, "NACK, where the recorded client gave ACK") || !strings.Contains(d.Detail, "no.such.type") {
				t.Errorf("%+v; want the rejection of no.such.type", d)
			}
			code, last := s.end(t)
			t.Logf("%s", last.Text)
			if sum := last.Summary; code != 11 || len(sum.Differences) != 1 || sum.Compared < 3 {
				t.Errorf("exit code %d, %+v; want one difference, and other answers as recorded", code, sum)
			}
			e.stop(t)
		})
	}
}

// What a real Envoy asks, in each variant, is asked of another control plane as
// the running proxy sees it, what Envoy rejects is rejected there, too, and the
// two say the same.
func TestShadowOfEnvoy(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			tool(t, "envoy", "envoy", "_bin", "envoy")
			node := "envoy-" + v.name
			live, other := startControlPlane(t, node), startControlPlane(t, node)
			viewer := "unix:" + filepath.Join(t.TempDir(), "v.sock")
			p := startProxyWith(t, live.Addr(), setup{args: []string{"--viewer", viewer}})
			s := startShadow(t, viewer, "--as", "client", "--target", other.Addr())
			s.until(t, "began", 0)
			set := func(route string, more ...*clusterv3.Cluster) {
				l := xdstest.Listener("ingress", "127.0.0.1:0", "routes", v.source)
				e := xdstest.Endpoints("web", "127.0.0.1:9")
				for _, c := range []*controlPlane{live, other} {
					c.set(t, xdstest.World{
						Clusters:  append([]*clusterv3.Cluster{xdstest.Cluster("web", v.source)}, more...),
						Endpoints: []*endpointv3.ClusterLoadAssignment{e},
						Listeners: []*listenerv3.Listener{l},
						Routes:    []*routev3.RouteConfiguration{xdstest.DirectRoute("routes", route)},
					})
				}
			}
			set("one")
			e := startEnvoy(t, v, node, p.addr)
			answers := func(want string) {
				eventually(t, "the answer "+want, func() bool {
					body, err := get(e.url(t, "ingress"))
					return err == nil && body == want
				})
			}
			answers("one")
			set("two")
			answers("two")
			set("three", xdstest.BrokenCluster("broken", v.source))
			if was, is := live.nack(t), other.nack(t); is.Error != was.Error || is.TypeURL != was.TypeURL {
				t.Errorf("the other control plane hears %q, not %q", is.Error, was.Error)
			}
			set("four")
			answers("four")
			other.settle(t)
			time.Sleep(time.Second)
			s.agrees(t)
			code, last := s.end(t)
			t.Logf("%s", last.Text)
			if sum := last.Summary; code != 0 || len(sum.Differences) > 0 || sum.Compared < 4 || sum.Skipped+sum.Again > 0 {
				t.Errorf("exit code %d, %+v; want no difference", code, sum)
			}
			e.stop(t)
		})
	}
}
