package e2e

import (
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// directory is a control plane that tells gRPC clients where two services are,
// and two backends where they may be.
type directory struct {
	*mesh
	control       *controlPlane
	proxy         *proxy
	first, second string // the addresses of the backends

	answers *lines
	stop    func()
}

const otherService = "other.e2e"

// openDirectory starts everything, with both services in the first backend.
func openDirectory(t *testing.T, impl implementation, services ...string) *directory {
	t.Helper()
	impl.need(t)
	backend := func(answer grpc_health_v1.HealthCheckResponse_ServingStatus) string {
		b, err := xdstest.StartBackend(answer)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Stop)
		return b.Addr()
	}
	d := &directory{
		mesh:    emptyMesh(xdstest.Self()),
		control: startControlPlaneAs(t, impl.name, xdstest.Options{OwnVersions: true}),
		first:   backend(grpc_health_v1.HealthCheckResponse_SERVING),
		second:  backend(grpc_health_v1.HealthCheckResponse_NOT_SERVING),
	}
	for _, name := range []string{"greeter", "other", "spare"} {
		d.cluster(name, 1)
		d.endpointsAt(t, name, d.first)
	}
	d.route("greeter-routes", "greeter")
	d.route("other-routes", "other")
	d.apiListener(t, service, "greeter-routes")
	d.apiListener(t, otherService, "other-routes")
	d.control.set(t, d.world())
	d.proxy = startProxy(t, d.control.Addr())
	d.answers, d.stop = impl.start(t, plainBootstrap(t, d.proxy.addr, d.control.node), nil, services...)
	return d
}

// push makes the mesh as it is now known, and waits until the clients have it,
// and their calls are answered so.
func (d *directory) push(t *testing.T, want string) {
	t.Helper()
	d.control.set(t, d.world())
	d.expect(t, want)
}

func (d *directory) expect(t *testing.T, want string) {
	t.Helper()
	eventually(t, want, func() bool { return d.answers.last() == want })
	d.control.rest(t, quiet)
}

func (d *directory) close(t *testing.T) string {
	t.Helper()
	d.stop()
	time.Sleep(quiet) // its connections go a little later
	d.proxy.stop(t)
	return d.proxy.file
}

func grpcSessions() []recordedSession {
	var out []recordedSession
	for _, impl := range implementations() {
		out = append(out, recordedSession{
			name: impl.name,
			story: "A process calls two services, and finds both. The one moves; its routes get a second cluster\n" +
				"and let go of it; the other service moves to another cluster. The control plane is away for two\n" +
				"seconds. One more move, then nothing happens for a while.",
			record: func(t *testing.T) string {
				d := openDirectory(t, impl, service, otherService)
				d.expect(t, serving+", "+serving)
				d.endpointsAt(t, "greeter", d.second)
				d.push(t, notServing+", "+serving)
				d.route("greeter-routes", "greeter", "spare")
				d.push(t, notServing+", "+serving)
				d.route("greeter-routes", "greeter")
				d.push(t, notServing+", "+serving)
				d.route("other-routes", "spare")
				d.push(t, notServing+", "+serving)
				d.control.restartAfter(t, 2*time.Second)
				d.control.rest(t, 2*time.Second)
				d.endpointsAt(t, "spare", d.second)
				d.push(t, notServing+", "+notServing)
				time.Sleep(idle)
				return d.close(t)
			},
		}, recordedSession{
			name:   impl.name + "-nack",
			story:  "A gRPC client rejects a cluster whose policy it does not know; two seconds later there is a good one.",
			expect: []string{"nack-received"},
			record: func(t *testing.T) string {
				d := openDirectory(t, impl, service)
				d.expect(t, serving)
				d.cluster("greeter", 1)
				d.clusters["greeter"].LbPolicy = clusterv3.Cluster_MAGLEV
				d.control.set(t, d.world())
				d.control.nack(t)
				time.Sleep(2 * time.Second)
				d.cluster("greeter", 2)
				d.endpointsAt(t, "greeter", d.second)
				d.push(t, notServing)
				time.Sleep(idle)
				return d.close(t)
			},
		}, recordedSession{
			name: impl.name + "-missing-cluster",
			story: "The routes of a service name a cluster that there is not. The client asks for it, and the control\n" +
				"plane, go-control-plane, says nothing of it.",
			expect: []string{"requested-resource-timeout"},
			record: func(t *testing.T) string {
				d := openDirectory(t, impl, service)
				d.expect(t, serving)
				d.route("greeter-routes", "greeter", "missing")
				d.push(t, serving)
				time.Sleep(20 * time.Second)
				return d.close(t)
			},
		})
	}
	return out
}
