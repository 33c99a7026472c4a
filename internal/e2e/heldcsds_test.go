package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/xds/csds"

	"github.com/xdsproxy/xdsproxy/internal/effect"
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

// statusVariable makes the client of this package say at an address what it holds.
const statusVariable = "XDSPROXY_E2E_STATUS"

// statusClient calls once, and then says by CSDS what it holds, until its input ends.
func statusClient(target, addr string) int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	status, err := csds.NewClientStatusDiscoveryServer()
	if err != nil {
		return fail(err)
	}
	defer status.Close()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fail(err)
	}
	s := grpc.NewServer()
	statusv3.RegisterClientStatusDiscoveryServiceServer(s, status)
	go func() { _ = s.Serve(l) }()
	defer s.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true)); err != nil {
		return fail(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// greeterWorld is what a gRPC program has to know of a service that is there.
func greeterWorld(t *testing.T) xdstest.World {
	t.Helper()
	backend, err := xdstest.StartBackend(grpc_health_v1.HealthCheckResponse_SERVING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Stop)
	listener := xdstest.APIListener(service, "routes")
	endpoints := xdstest.Endpoints("greeter", backend.Addr())
	return xdstest.World{
		Listeners: []*listenerv3.Listener{listener},
		Routes:    []*routev3.RouteConfiguration{xdstest.ClusterRoute("routes", "greeter")},
		Clusters:  []*clusterv3.Cluster{xdstest.Cluster("greeter", xdstest.ADS())},
		Endpoints: []*endpointv3.ClusterLoadAssignment{endpoints},
	}
}

// startStatusClient starts a statusClient of a node behind a server.
func startStatusClient(t *testing.T, server, node, addr string) {
	t.Helper()
	bootstrap, err := xdstest.Bootstrap(server, node)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), clientVariable+"=xds:///"+service, statusVariable+"="+addr, "GRPC_XDS_BOOTSTRAP_CONFIG="+string(bootstrap))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := newLines()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("output of the client:\n%s", out)
		}
	})
}

// What a gRPC program holds, grpc-go's own service says: what is in use, what it
// rejected beside it, and what went away.
func TestHeldByCSDS(t *testing.T) {
	t.Parallel()
	world := greeterWorld(t)
	c := startControlPlane(t, "holder")
	c.set(t, world)
	addr := freeAddr(t)
	p := startProxyWith(t, c.Addr(), setup{args: []string{"--csds", addr, "--held-interval", "200ms"}})
	startStatusClient(t, p.addr, "holder", addr)
	has := func(name string, states ...string) {
		t.Helper()
		eventually(t, fmt.Sprint(name, states), func() bool {
			h, node := holdings(t, heldEntries(t, p.file))
			return node == "holder" && fmt.Sprint(h[name]) == fmt.Sprint(states)
		})
	}
	for _, name := range []string{"Listener " + service, "RouteConfiguration routes", "Cluster greeter", "ClusterLoadAssignment greeter"} {
		has(name, "ACKED")
	}
	becomes := func(typ, name string, want effect.State) (e effect.Effect) {
		t.Helper()
		eventually(t, typ+" "+name+" "+want.String(), func() bool {
			a, _ := effects(t, p.file, impatient())
			e, _ = a.Of("holder", typ, name)
			return e.State == want
		})
		return e
	}
	for _, of := range [][2]string{{"LDS", service}, {"RDS", "routes"}, {"CDS", "greeter"}, {"EDS", "greeter"}} {
		if e := becomes(of[0], of[1], effect.InEffect); !e.Accepted.Known() || !e.Effective.Known() {
			t.Errorf("%+v", e)
		}
	}
	world.Routes = []*routev3.RouteConfiguration{xdstest.ClusterRoute("routes", "greeter", "greeter")}
	c.set(t, world)
	eventually(t, "the new routes", func() bool {
		a, _ := effects(t, p.file, impatient())
		e, _ := a.Of("holder", "RDS", "routes")
		_, took := e.Took()
		return e.State == effect.InEffect && took && e.Sent.Seq > becomes("CDS", "greeter", effect.InEffect).Accepted.Seq
	})
	broken := xdstest.Cluster("greeter", xdstest.ADS())
	broken.LbPolicy = clusterv3.Cluster_MAGLEV // which grpc-go does not know
	world.Clusters = []*clusterv3.Cluster{broken}
	c.set(t, world)
	has("Cluster greeter", "ACKED", "NACKED without")
	if e := becomes("CDS", "greeter", effect.Failed); !e.Rejected.Known() || e.Accepted.Known() || e.Why == "" {
		t.Errorf("%+v", e)
	}
	becomes("EDS", "greeter", effect.InEffect)
	broken.LbPolicy = clusterv3.Cluster_ROUND_ROBIN
	c.set(t, world)
	becomes("CDS", "greeter", effect.InEffect)
	p.stop(t)
	if _, all := effects(t, p.file, impatient()); len(butWarming(all)) > 0 {
		t.Errorf("%+v", all)
	}
	for _, e := range heldEntries(t, p.file) {
		if e.Held.Source != session.HeldCSDS || e.Held.Address != addr {
			t.Errorf("entry %d is %+v", e.Seq, e.Held)
		}
	}
}
