package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	transformv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/transform/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap/generate"
)

// played runs xdsproxy replay to its end, and decodes what it prints as JSON.
func played(t *testing.T, into any, env []string, args ...string) (code int, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	cmd := exec.Command(program(t), append([]string{"replay", "-o", "json"}, args...)...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, &said, append(quietEnv(t), env...)
	err := cmd.Run()
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), into); err != nil && into != nil {
		t.Fatalf("exit code %d, %v in %q; it says\n%s", code, err, &out, &said)
	}
	return code, said.String()
}

// playedAlike requires that a recording is played with a command as it was.
func playedAlike(t *testing.T, recording string, env []string, command ...string) replayReport {
	t.Helper()
	var report replayReport
	code, said := played(t, &report, env, append([]string{recording, "--"}, command...)...)
	if code != 0 || report.Matched == 0 || report.Matched != report.Expected {
		t.Errorf("exit code %d, %+v; it says\n%s", code, report, said)
	}
	return report
}

func envoyPath(t *testing.T) string { return tool(t, "envoy", "envoy", "_bin", "envoy") }

// The name of an Envoy is enough: its bootstrap is made from the recording.
func TestReplayWithEnvoy(t *testing.T) {
	t.Parallel()
	systems := filepath.Join(filepath.Dir(sessionsDir), "systems")
	for _, recording := range []string{
		filepath.Join(sessionsDir, "envoy-sotw.xdsp"),
		filepath.Join(sessionsDir, "envoy-delta-nack.xdsp"),
		filepath.Join(sessionsDir, "envoy-per-type.xdsp"),
		filepath.Join(sessionsDir, "envoy-per-type-delta.xdsp"),
		filepath.Join(sessionsDir, "envoy-delta-route-to-nowhere.xdsp"), // its Envoy had a cluster "xds", and one that nobody sent
		filepath.Join(sessionsDir, "envoy-delta-begins-anew.xdsp"),      // which is started again
		filepath.Join(sessionsDir, "envoy-per-type-restart.xdsp"),       // which is not: the server was
		filepath.Join(sessionsDir, "envoy-delta-side.xdsp"),             // of which the bootstrap had a layer of RTDS
		filepath.Join(sessionsDir, "envoy-delta-collections.xdsp"),      // which asks for collections
		filepath.Join(systems, "jcp-per-type-delta.xdsp"),               // clusters name the server by the cluster "xds"
		filepath.Join(systems, "istio-router-delta.xdsp"),               // which waits for a secret that nobody plays
		filepath.Join(systems, "consul-updates.xdsp"),                   // of three clients, and "local_agent" is in no response
		filepath.Join(systems, "consul-sotw-envoy.xdsp"),                // of seven streams in vain, before each of which Envoy waits longer
	} {
		t.Run(strings.TrimSuffix(filepath.Base(recording), ".xdsp"), func(t *testing.T) {
			t.Parallel()
			report := playedAlike(t, recording, nil, envoyPath(t))
			if said := strings.Join(report.Notes, " "); strings.Contains(said, "restart the live one") {
				t.Errorf("somebody is to restart what is started here: %s", said)
			}
		})
	}
}

// A script may run Envoy: it finds the bootstrap in the place of {}, and what it
// started is ended with it.
func TestReplayWithScript(t *testing.T) {
	t.Parallel()
	kept := filepath.Join(t.TempDir(), "bootstrap.json")
	playedAlike(t, filepath.Join(sessionsDir, "envoy-sotw.xdsp"), nil,
		"sh", "-c", `cp "$1" "$3"; "$2" -c "$1" --disable-hot-restart & wait`, "sh", "{}", envoyPath(t), kept)
	text, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	var bootstrap struct {
		Node  struct{ ID, Cluster string }
		Admin struct {
			Address struct {
				Socket struct {
					Port int `json:"port_value"`
				} `json:"socket_address"`
			}
		}
	}
	if err := json.Unmarshal(text, &bootstrap); err != nil || bootstrap.Node.ID != envoyNode || bootstrap.Node.Cluster != "e2e" {
		t.Errorf("%v, %+v", err, bootstrap)
	}
	eventually(t, "nobody answers at the admin port", func() bool {
		_, err := get(fmt.Sprintf("http://127.0.0.1:%d/ready", bootstrap.Admin.Address.Socket.Port))
		return err != nil
	})
}

// What Envoy asks for when a request needs it, it does not ask for without: that is
// a difference which says so.
func TestReplayOnDemand(t *testing.T) {
	t.Parallel()
	var report replayReport
	code, said := played(t, &report, nil, filepath.Join(sessionsDir, "envoy-delta-on-demand.xdsp"), "--idle", "3s", "--", envoyPath(t))
	found := map[string]bool{}
	for _, d := range report.Differences {
		for _, n := range d.Names {
			found[d.Type+" "+n] = strings.Contains(d.Detail, "needs it, and a replay makes no such request")
		}
	}
	if code != 11 || len(found) != 2 || !found["VHDS routes/lazy.example"] || !found["CDS lazy"] {
		t.Errorf("exit code %d, %+v; it says\n%s", code, report, said)
	}
}

// A cluster of the bootstrap without which a route is rejected is there again, and
// one without which another route was rejected is not.
func TestReplayTakenForGranted(t *testing.T) {
	t.Parallel()
	v := variants()[0]
	m := newMesh(t, v.source)
	checked := func(cluster string) {
		m.route("routes", cluster)
		m.routes["routes"].ValidateClusters = wrapperspb.Bool(true)
	}
	checked("own")
	c := startControlPlaneAs(t, envoyNode, careful(v))
	c.set(t, m.world())
	p := startProxy(t, c.Addr())
	text := envoyBootstrap(t, v, envoyNode, p.addr)
	static := text["static_resources"].(object)
	static["clusters"] = append(static["clusters"].([]object), object{"name": "own", "type": "STATIC"})
	e, admin := launchEnvoyWith(t, text)
	e.await(t, admin)
	c.rest(t, quiet)
	checked("nowhere")
	c.set(t, m.world())
	if refused := c.nack(t); !strings.Contains(refused.Error, "nowhere") {
		t.Errorf("it was rejected for %q", refused.Error)
	}
	e.stop(t)
	p.stop(t)
	playedAlike(t, p.file, nil, envoyPath(t))
}

// What may be in a bootstrap that is made is taken by the Envoys of three
// versions.
func TestMadeBootstraps(t *testing.T) {
	t.Parallel()
	of := generate.Client{
		Node: []byte(`{"metadata":{"a":[1,"b"]},"locality":{"region":"r"}}`), ADS: generate.Delta,
		Asks: []generate.Ask{
			{Type: "CDS"},
			{Type: "LDS", API: generate.SotW},
			{Type: "RTDS", Names: []string{"layer"}},
			{Type: "EDS", API: generate.Delta, Names: []string{"own"}},
		},
		Context:  []string{"id"},
		Clusters: []generate.Cluster{{Name: "agent", Server: true}, {Name: "elsewhere"}},
	}
	for i, server := range []string{"127.0.0.1:1", "[::]:1", "unix:/run/a.sock"} {
		if i > 0 { // once with everything, and then with collections
			of.Asks[0].Names = []string{"xdstp://a.example/envoy.config.cluster.v3.Cluster/mesh/*?xds.node.id=n"}
			of.Asks[1].Names = []string{"xdstp:///envoy.config.listener.v3.Listener/*"}
		}
		text, err := of.Envoy(server, "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "bootstrap.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, envoy := range []string{
			envoyPath(t), tool(t, "envoys", "1.36.4", "envoy", "_bin", "envoy"), tool(t, "envoys", "1.38.3", "envoy", "_bin", "envoy"),
		} {
			if out, err := exec.Command(envoy, "--mode", "validate", "-l", "error", "-c", file).CombinedOutput(); err != nil {
				t.Errorf("%s, %s: %v\n%s\n%s", envoy, server, err, out, text)
			}
		}
	}
}

type matrix struct {
	Commands []string
	Cells    []struct {
		Source, Command, Outcome, Error string
		Report                          replayReport
	}
}

// Three Envoys are asked what they think of what the newest was sent. The oldest
// does not know one of its filters, and says so; the table has it.
func TestReplayMatrix(t *testing.T) {
	t.Parallel()
	old := tool(t, "envoys", "1.36.4", "envoy", "_bin", "envoy")
	mid := tool(t, "envoys", "1.38.3", "envoy", "_bin", "envoy")
	v := variants()[1]
	s := openScene(t, v, careful(v), nil)
	s.endpointsOf(t, "web", 2)
	s.push(t)
	if err := addFilter(s.mesh, "ingress"); err != nil {
		t.Fatal(err)
	}
	s.push(t)
	dir := t.TempDir()
	copyFile(t, s.close(t), filepath.Join(dir, "today.xdsp"))
	copyFile(t, filepath.Join(sessionsDir, "envoy-sotw.xdsp"), filepath.Join(dir, "before.xdsp"))

	var m matrix
	code, said := played(t, &m, nil, dir, "--command", old, "--command", "'"+mid+"' -l error", "--", envoyPath(t))
	if code != 11 || len(m.Cells) != 6 || len(m.Commands) != 3 {
		t.Fatalf("exit code %d, %+v; it says\n%s", code, m, said)
	}
	for i, c := range m.Cells {
		want := "as recorded"
		if i == 3 { // the second recording with the first command
			want = "differs"
		}
		if c.Outcome != want || (filepath.Base(c.Source) == "before.xdsp") != (i < 3) {
			t.Errorf("cell %d: %+v; want %s", i, c, want)
		}
	}
	d := m.Cells[3].Report.Differences
	if len(d) != 1 || d[0].Type != "LDS" || d[0].Got != "NACK" || !strings.Contains(d[0].Detail, "transform") {
		t.Errorf("Envoy 1.36.4: %+v", d)
	}
}

// addFilter puts a filter that came with Envoy 1.37 into a listener.
func addFilter(m *mesh, listener string) error {
	config := m.listeners[listener].FilterChains[0].Filters[0].GetTypedConfig()
	var manager hcmv3.HttpConnectionManager
	err := config.UnmarshalTo(&manager)
	if err != nil {
		return err
	}
	filter, err := anypb.New(&transformv3.TransformConfig{})
	if err != nil {
		return err
	}
	manager.HttpFilters = append([]*hcmv3.HttpFilter{{
		Name: "envoy.filters.http.transform", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: filter},
	}}, manager.HttpFilters...)
	return config.MarshalFrom(&manager)
}

// The commands of programs that have a gRPC, as someone would type them.
func TestReplayWithGRPC(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, impl := range implementations() {
		t.Run(impl.name, func(t *testing.T) {
			t.Parallel()
			impl.need(t)
			env, command := []string{clientVariable + "=xds:///" + service}, []string{self}
			switch impl.name {
			case "grpc-js":
				env, command = nil, []string{"node", "testdata/grpc-js/client.js", filepath.Dir(tool(t, "grpc-js", "node_modules")), service}
			case "grpc-core":
				env = []string{"PYTHONPATH=" + filepath.Dir(tool(t, "grpc-core", "grpc"))}
				command = []string{"python3", "testdata/grpc-core/client.py", service}
			case "grpc-java":
				env, command = nil, javaClient(t, service)
			}
			playedAlike(t, filepath.Join(sessionsDir, impl.name+"-nack.xdsp"), env, command...)
		})
	}
}
