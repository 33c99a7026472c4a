package e2e

import (
	"context"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

const service = "greeter.e2e"

// The answers of the two backends, as the clients print them.
const (
	serving    = "answer: 0801"
	notServing = "answer: 0802"
)

// implementation is a gRPC with an xDS client of its own.
type implementation struct {
	name string
	need func(t *testing.T) // skips the test where it is not installed
	// start calls services again and again, finding them by way of the
	// management server of the bootstrap, and writes the answers of all on a
	// line, with commas, whenever one has changed.
	start func(t *testing.T, bootstrap []byte, with before, services ...string) (*lines, func())
}

// before is what comes before the command of a client that is not Go.
type before []string

func (b before) command(name string, args ...string) *exec.Cmd {
	words := append(append(slices.Clone(b), name), args...)
	return exec.Command(words[0], words[1:]...)
}

func implementations() []implementation {
	js := func(t *testing.T) string { return filepath.Dir(tool(t, "grpc-js", "node_modules")) }
	core := func(t *testing.T) string { return filepath.Dir(tool(t, "grpc-core", "grpc")) }
	return []implementation{
		{"grpc-go", func(*testing.T) {}, startGRPCGo},
		{"grpc-js", func(t *testing.T) { js(t) }, func(t *testing.T, bootstrap []byte, with before, services ...string) (*lines, func()) {
			args := append([]string{"testdata/grpc-js/client.js", js(t)}, services...)
			return startClient(t, bootstrap, with.command("node", args...))
		}},
		{"grpc-core", func(t *testing.T) { core(t) }, func(t *testing.T, bootstrap []byte, with before, services ...string) (*lines, func()) {
			cmd := with.command("python3", append([]string{"testdata/grpc-core/client.py"}, services...)...)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+core(t))
			return startClient(t, bootstrap, cmd)
		}},
		{"grpc-java", func(t *testing.T) { javaClient(t) }, func(t *testing.T, bootstrap []byte, with before, services ...string) (*lines, func()) {
			args := javaClient(t, services...)
			return startClient(t, bootstrap, with.command(args[0], args[1:]...))
		}},
	}
}

// javaClient is the command of a client by grpc-java, which starts with as little work
// as Java lets it.
func javaClient(t *testing.T, services ...string) []string {
	t.Helper()
	jars := filepath.Join(filepath.Dir(tool(t, "grpc-java", ".installed")), "jars", "*")
	return append([]string{"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", jars, "testdata/grpc-java/Client.java"}, services...)
}

func startGRPCGo(t *testing.T, bootstrap []byte, _ before, services ...string) (*lines, func()) {
	t.Helper()
	var conns []*grpc.ClientConn
	for _, name := range services {
		conn, err := xdstest.DialGRPC(bootstrap, name)
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	out, done := newLines(), make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(done)
		for last := ""; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			var answers []string
			for _, conn := range conns {
				answers = append(answers, callHealth(ctx, conn))
			}
			answer := strings.Join(answers, ", ")
			if answer != last {
				_, _ = out.Write([]byte(answer + "\n"))
			}
			last = answer
		}
		for _, conn := range conns {
			conn.Close()
		}
	}()
	stop := func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return out, stop
}

func callHealth(ctx context.Context, conn *grpc.ClientConn) string {
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), "\n", " ")
	}
	b, err := proto.Marshal(resp)
	if err != nil {
		return ""
	}
	return "answer: " + hex.EncodeToString(b)
}

// plainBootstrap names one management server, to which plaintext is spoken.
func plainBootstrap(t *testing.T, addr, node string) []byte {
	t.Helper()
	b, err := xdstest.Bootstrap(addr, node)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// startClient starts a client that is not Go; closing its standard input ends it.
func startClient(t *testing.T, bootstrap []byte, cmd *exec.Cmd) (*lines, func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(file, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "GRPC_XDS_BOOTSTRAP="+file)
	out, noise := newLines(), newLines()
	cmd.Stdout, cmd.Stderr = out, noise
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	ownGroup(cmd) // of what it starts, too
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		killGroup(cmd)
		<-exited
		if t.Failed() {
			t.Logf("output of %s:\n%s\n%s", cmd.Args[0], out, noise)
		}
	})
	return out, func() {
		stdin.Close()
		select {
		case <-exited:
		case <-time.After(patience):
			t.Errorf("%s does not end when its standard input does", cmd.Args[0])
		}
	}
}

// grpcStory leads a gRPC client with this bootstrap through a whole conversation
// with the control plane. What it has understood shows in which of two
// backends its calls reach.
func grpcStory(t *testing.T, impl implementation, c *controlPlane, bootstrap []byte, end ending) {
	backend := func(answer grpc_health_v1.HealthCheckResponse_ServingStatus) string {
		b, err := xdstest.StartBackend(answer)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Stop)
		return b.Addr()
	}
	first := backend(grpc_health_v1.HealthCheckResponse_SERVING)
	second := backend(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	world := func(cluster *clusterv3.Cluster, addr string) xdstest.World {
		l := xdstest.APIListener(service, "routes")
		e := xdstest.Endpoints("greeter", addr)
		return xdstest.World{
			Clusters:  []*clusterv3.Cluster{cluster},
			Endpoints: []*endpointv3.ClusterLoadAssignment{e},
			Listeners: []*listenerv3.Listener{l},
			Routes:    []*routev3.RouteConfiguration{xdstest.ClusterRoute("routes", "greeter")},
		}
	}
	good := xdstest.Cluster("greeter", xdstest.Self())

	c.set(t, world(good, first))
	out, stop := impl.start(t, bootstrap, nil, service)
	answers := func(want string) {
		t.Helper()
		eventually(t, want, func() bool { return out.last() == want })
	}
	answers(serving)
	c.set(t, world(good, second))
	answers(notServing)

	c.settle(t)
	c.set(t, world(xdstest.BrokenCluster("greeter", xdstest.Self()), second))
	if refused := c.nack(t); !strings.Contains(strings.ToLower(refused.Error), "policy") {
		t.Errorf("the rejection does not speak of the policy: %q", refused.Error)
	}
	c.set(t, world(good, first))
	answers(serving)

	if end == drains {
		c.drain(t)
		stop()
		return
	}
	c.restart(t)
	c.set(t, world(good, second))
	answers(notServing)
	c.settle(t)
	stop()
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	for _, impl := range implementations() {
		t.Run(impl.name, func(t *testing.T) {
			t.Parallel()
			impl.need(t)
			c := startControlPlane(t, impl.name)
			p := startProxy(t, c.Addr())
			grpcStory(t, impl, c, plainBootstrap(t, p.addr, c.node), comesBack)
			p.stop(t)
			compare(t, c.account, p)
		})
	}
}
