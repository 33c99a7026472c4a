package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

var servingCSDS = regexp.MustCompile(`^status of clients \(CSDS\) on (\S+)$`)

// csdsAt is a connection to where a process says that it serves CSDS.
func csdsAt(t *testing.T, stderr *lines, exited <-chan struct{}) *grpc.ClientConn {
	t.Helper()
	return dialCSDS(t, stderr.find(t, servingCSDS, exited)[1])
}

func dialCSDS(t *testing.T, addr string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// startServeCSDS runs serve-csds on a source.
func startServeCSDS(t *testing.T, args ...string) *grpc.ClientConn {
	t.Helper()
	conn, _, _ := launchServeCSDS(t, args...)
	return conn
}

func launchServeCSDS(t *testing.T, args ...string) (conn *grpc.ClientConn, stderr *lines, exited chan struct{}) {
	t.Helper()
	cmd := exec.Command(program(t), append([]string{"serve-csds"}, args...)...)
	stderr, exited = newLines(), make(chan struct{})
	cmd.Stderr, cmd.Env = stderr, quietEnv(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var err error
	go func() {
		err = cmd.Wait()
		close(exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if <-exited; err != nil {
			t.Errorf("serve-csds ended with %v:\n%s", err, stderr)
		}
	})
	return csdsAt(t, stderr, exited), stderr, exited
}

// configs asks for the status of all clients, by node id.
func configs(t *testing.T, conn *grpc.ClientConn) map[string]*statusv3.ClientConfig {
	t.Helper()
	r, err := statusv3.NewClientStatusDiscoveryServiceClient(conn).FetchClientStatus(t.Context(), &statusv3.ClientStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*statusv3.ClientConfig{}
	for _, c := range r.Config {
		out[c.Node.GetId()] = c
	}
	return out
}

// saidOf is what a client is said to hold, a line for each resource, without times.
func saidOf(c *statusv3.ClientConfig) []string {
	var out []string
	for _, g := range c.GetGenericXdsConfigs() {
		sum := func(b []byte) string { return fmt.Sprintf("%d bytes %x", len(b), b) }
		line := fmt.Sprint(g.TypeUrl, " ", g.Name, " ", g.ClientStatus, " ", g.VersionInfo, " ", sum(g.XdsConfig.GetValue()))
		if f := g.ErrorState; f != nil {
			line += " failed: " + f.VersionInfo
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// What a proxy says of its clients by CSDS is what they say themselves: grpc-go by
// its own CSDS, byte for byte, Envoy by its acknowledgements. A file says the same.
func TestServeCSDS(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	m := newMesh(t, v.source)
	envoys := startControlPlaneAs(t, envoyNode, careful(v))
	envoys.set(t, m.world())
	world := greeterWorld(t)
	programs := startControlPlane(t, "holder")
	programs.set(t, world)
	p := startProxyWith(t, envoys.Addr(), setup{args: []string{"--listen", freeAddr(t), "--upstream", programs.Addr(), "--serve-csds", "127.0.0.1:0"}})
	second := p.stderr.find(t, regexp.MustCompile(`listening on (\S+), upstream `+regexp.QuoteMeta(programs.Addr())), p.exited)
	conn := csdsAt(t, p.stderr, p.exited)
	if c := configs(t, conn); len(c) > 0 {
		t.Errorf("before anybody is there: %v", c)
	}
	addr := freeAddr(t)
	startStatusClient(t, second[1], "holder", addr)
	e, path := launchEnvoyWith(t, envoyBootstrap(t, v, envoyNode, p.addr))
	e.await(t, path)

	states := func(c *statusv3.ClientConfig) string {
		var out []string
		for _, g := range c.GetGenericXdsConfigs() {
			out = append(out, fmt.Sprint(g.TypeUrl[strings.LastIndexByte(g.TypeUrl, '.')+1:], " ", g.Name, " ", g.ClientStatus, " ", g.ConfigStatus))
		}
		return strings.Join(out, ", ")
	}
	const inEnvoy = "Listener ingress ACKED SYNCED, RouteConfiguration routes ACKED SYNCED, Cluster web ACKED SYNCED, ClusterLoadAssignment web ACKED SYNCED"
	var said map[string]*statusv3.ClientConfig
	eventually(t, "what Envoy has accepted", func() bool {
		said = configs(t, conn)
		return states(said[envoyNode]) == inEnvoy
	})
	if n := said[envoyNode].Node; n.GetUserAgentName() != "envoy" || len(n.GetExtensions()) < 10 {
		t.Errorf("of the node of Envoy, only this is known: %.200v", n)
	}
	for _, g := range said[envoyNode].GenericXdsConfigs {
		if got, err := g.XdsConfig.UnmarshalNew(); err != nil || got == nil {
			t.Errorf("%s %s: %v", g.TypeUrl, g.Name, err)
		}
	}

	// agree waits until the proxy and the client say the same, and that is so.
	own := dialCSDS(t, addr)
	agree := func(what string, is func([]string) bool) {
		t.Helper()
		var we, it []string
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s: the client says\n%s\nand the proxy\n%s", what, strings.Join(it, "\n"), strings.Join(we, "\n"))
			}
		})
		eventually(t, what, func() bool {
			r, err := statusv3.NewClientStatusDiscoveryServiceClient(own).FetchClientStatus(t.Context(), &statusv3.ClientStatusRequest{}, grpc.WaitForReady(true))
			if err != nil {
				t.Fatal(err)
			}
			all := &statusv3.ClientConfig{}
			for _, c := range r.Config { // one for each xDS client in it
				all.GenericXdsConfigs = append(all.GenericXdsConfigs, c.GenericXdsConfigs...)
			}
			we, it = saidOf(configs(t, conn)["holder"]), saidOf(all)
			return is(it) && slices.Equal(we, it)
		})
	}
	all := func(state string, n int) func([]string) bool {
		return func(lines []string) bool {
			found := 0
			for _, l := range lines {
				if strings.Contains(l, " "+state+" ") {
					found++
				}
			}
			return found == n
		}
	}
	agree("all accepted", all("ACKED", 4))
	broken := xdstest.Cluster("greeter", xdstest.ADS())
	broken.LbPolicy = clusterv3.Cluster_MAGLEV // which grpc-go does not know
	world.Clusters = []*clusterv3.Cluster{broken}
	programs.set(t, world)
	agree("one rejected", all("NACKED", 1))

	// On the wire the client rejects the response, and beside that it tells of each
	// resource.
	why := func(c *statusv3.ClientConfig) string {
		for _, g := range c.GetGenericXdsConfigs() {
			if g.ErrorState != nil {
				return g.ErrorState.Details
			}
		}
		return ""
	}
	r, err := statusv3.NewClientStatusDiscoveryServiceClient(own).FetchClientStatus(t.Context(), &statusv3.ClientStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	reason := ""
	for _, c := range r.Config {
		reason += why(c)
	}
	if got := why(configs(t, conn)["holder"]); reason == "" || !strings.Contains(got, reason) {
		t.Errorf("the client says %q, and the proxy %q", reason, got)
	}

	// A running proxy and the file that it writes are sources, too.
	last := configs(t, conn)
	same := func(what string, c *grpc.ClientConn, want ...string) {
		t.Helper()
		got := configs(t, c)
		if len(got) != len(want) {
			t.Errorf("%s: %d clients", what, len(got))
		}
		for _, node := range want {
			if !proto.Equal(got[node], last[node]) {
				t.Errorf("%s: of %s it says\n%s\nand not\n%s", what, node, strings.Join(saidOf(got[node]), "\n"), strings.Join(saidOf(last[node]), "\n"))
			}
		}
	}
	same("what is being written", startServeCSDS(t, p.file), envoyNode, "holder")

	// Who asks clients what they hold may ask here.
	reader := startProxyWith(t, programs.Addr(), setup{args: []string{"--csds", "holder=" + startServeCSDS(t, p.file, "--client", "holder").Target(), "--held-interval", "200ms"}})
	eventually(t, "that another proxy reads it", func() bool {
		h, node := holdings(t, heldEntries(t, reader.file))
		return node == "holder" && fmt.Sprint(h["Cluster greeter"]) == "[ACKED NACKED without]" && fmt.Sprint(h["RouteConfiguration routes"]) == "[ACKED]"
	})
	p.stop(t)
	over := startServeCSDS(t, p.file)
	same("what is over", over, envoyNode, "holder")
	beside(t, over)
}

// Where others can reach it, no call is answered without the token, which is told
// once.
func TestServeCSDSWithToken(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "one.xds")
	if err := os.WriteFile(script, []byte("C> type=CDS V= N= R=[] node=gw-0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, stderr, exited := launchServeCSDS(t, script, "--listen", "0.0.0.0:0", "--viewer-allow-remote")
	token := stderr.find(t, regexp.MustCompile(`^its calls need the metadata authorization: (Bearer \S+); `), exited)[1]
	client := statusv3.NewClientStatusDiscoveryServiceClient(conn)
	for name, given := range map[string][]string{"none": nil, "another": {"authorization", "Bearer x"}} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), given...)
		if _, err := client.FetchClientStatus(ctx, &statusv3.ClientStatusRequest{}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("with %s it says %v", name, err)
		}
		if _, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("of its health it says with %s: %v", name, err)
		}
	}
	r, err := client.FetchClientStatus(metadata.AppendToOutgoingContext(t.Context(), "authorization", token), &statusv3.ClientStatusRequest{})
	if err != nil || len(r.Config) != 1 || r.Config[0].Node.GetId() != "gw-0" {
		t.Errorf("with the token: %v, %v", r, err)
	}
}

// beside are the services that stand beside CSDS.
func beside(t *testing.T, conn *grpc.ClientConn) {
	t.Helper()
	const name = "envoy.service.status.v3.ClientStatusDiscoveryService"
	h, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
	if err != nil || h.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", h, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := grpc_reflection_v1.NewServerReflectionClient(conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}}); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Recv(); err != nil || len(got.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("reflection: %v, %v", got, err)
	}
	s, err := statusv3.NewClientStatusDiscoveryServiceClient(conn).StreamClientStatus(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // each request has an answer
		if err := s.Send(&statusv3.ClientStatusRequest{ExcludeResourceContents: true}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Recv(); err != nil || len(got.Config) == 0 || got.Config[0].GenericXdsConfigs[0].XdsConfig != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
}
