package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// clientVariable makes the test binary a gRPC client, which calls the target
// that the variable holds.
const clientVariable = "E2E_CLIENT"

// countSignals, in the place of a target, makes it a program that says which
// signals it gets.
const countSignals = "signals"

func sayWhatComes() int {
	got := make(chan os.Signal, 64)
	signal.Notify(got, os.Interrupt, syscall.SIGTERM)
	fmt.Println("begun")
	for s := range got {
		if s == syscall.SIGTERM {
			fmt.Println("got TERM")
			return 7
		}
		fmt.Println("got INT")
	}
	return 1
}

// wrappedClient is a program as people write them: a channel to an xds target,
// and nothing that knows of a proxy. Its exit code is 40 + the status it is told.
func wrappedClient(target string) int {
	if target == countSignals {
		return sayWhatComes()
	}
	if addr := os.Getenv(statusVariable); addr != "" {
		return statusClient(target, addr)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}, grpc.WaitForReady(true))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("told", resp.GetStatus())
	return 40 + int(resp.GetStatus())
}

// A gRPC client with two servers: an authority tells it the listener, the
// default one all the rest.
func TestWrapGRPC(t *testing.T) {
	t.Parallel()
	backend, err := xdstest.StartBackend(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Stop)
	const authority = "other.e2e"
	name := "xdstp://" + authority + "/envoy.config.listener.v3.Listener/" + service
	listener := xdstest.APIListener(name, "routes")
	endpoints := xdstest.Endpoints("greeter", backend.Addr())
	first := startControlPlane(t, "wrapped")
	first.set(t, xdstest.World{
		Clusters:  []*clusterv3.Cluster{xdstest.Cluster("greeter", xdstest.Self())},
		Endpoints: []*endpointv3.ClusterLoadAssignment{endpoints},
		Routes:    []*routev3.RouteConfiguration{xdstest.ClusterRoute("routes", "greeter")},
	})
	second := startControlPlane(t, "wrapped")
	second.set(t, xdstest.World{Listeners: []*listenerv3.Listener{listener}})

	server := func(addr string) []object {
		return []object{{"server_uri": addr, "channel_creds": []object{{"type": "insecure"}}}}
	}
	text, err := json.Marshal(object{
		"xds_servers": server(first.Addr()),
		"authorities": object{authority: object{"xds_servers": server("dns:///" + second.Addr())}},
		"node":        object{"id": "wrapped"},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	client := clientVariable + "=xds://" + authority + "/" + service
	for how, c := range map[string]struct{ env, args []string }{
		"a file of the environment":  {[]string{"GRPC_XDS_BOOTSTRAP=" + file}, nil},
		"content of the environment": {[]string{"GRPC_XDS_BOOTSTRAP_CONFIG=" + string(text)}, nil},
		"a file that is named":       {[]string{"GRPC_XDS_BOOTSTRAP_CONFIG=left out"}, []string{"--bootstrap", file, "--"}},
	} {
		t.Run(how, func(t *testing.T) {
			p, out := startWrap(t, append(c.env, client), append(c.args, self)...)
			if code := p.ended(t); code != 40+int(grpc_health_v1.HealthCheckResponse_NOT_SERVING) {
				t.Errorf("exit code %d", code)
			}
			if out.last() != "told NOT_SERVING" {
				t.Errorf("standard output is %q", out)
			}
			types := map[string]int{}
			for _, l := range p.watch(t) {
				if l.What == "ACK" {
					types[l.Type]++
				}
			}
			for _, want := range []string{"LDS", "RDS", "CDS", "EDS"} {
				if types[want] == 0 {
					t.Errorf("no ACK of %s: %v", want, types)
				}
			}
			if f := p.info(t); !f.Complete || f.Connections != 2 || f.Gaps > 0 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// The gRPCs that are not Go, started as they are.
func TestWrapOtherGRPCs(t *testing.T) {
	t.Parallel()
	for _, impl := range implementations()[1:] {
		t.Run(impl.name, func(t *testing.T) {
			t.Parallel()
			impl.need(t)
			backend, err := xdstest.StartBackend(grpc_health_v1.HealthCheckResponse_SERVING)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(backend.Stop)
			listener := xdstest.APIListener(service, "routes")
			endpoints := xdstest.Endpoints("greeter", backend.Addr())
			c := startControlPlane(t, impl.name)
			c.set(t, xdstest.World{
				Clusters:  []*clusterv3.Cluster{xdstest.Cluster("greeter", xdstest.Self())},
				Endpoints: []*endpointv3.ClusterLoadAssignment{endpoints},
				Listeners: []*listenerv3.Listener{listener},
				Routes:    []*routev3.RouteConfiguration{xdstest.ClusterRoute("routes", "greeter")},
			})
			p := &proxy{file: filepath.Join(t.TempDir(), "session.xdsp")}
			out, stop := impl.start(t, plainBootstrap(t, c.Addr(), c.node), before{program(t), "wrap", "-w", p.file}, service)
			eventually(t, serving, func() bool { return out.last() == serving })
			c.settle(t)
			stop() // by the end of its standard input
			compare(t, c.account, p)
		})
	}
}
