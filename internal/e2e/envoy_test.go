package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
	"github.com/xdsproxy/xdsproxy/session"
)

type object = map[string]any

// variant is a way in which Envoy asks for its configuration.
type variant struct {
	name    string
	dynamic object               // dynamic_resources of the bootstrap
	source  *corev3.ConfigSource // what its resources say about where to ask for others
	layers  []object             // of its runtime
	secure  object               // transport_socket of the cluster of its server; nil: plaintext
	static  []object             // listeners that it has from the beginning

	features []string // client_features of its node
	context  []string // what of its node it adds to the names of collections
}

const xdsCluster = "xds"

// ads says whether all is asked for on one stream.
func (v variant) ads() bool { return v.source.GetAds() != nil }

func variants() []variant {
	grpc := func(api string) object {
		return object{
			"api_type":              api,
			"transport_api_version": "V3",
			"grpc_services":         []object{{"envoy_grpc": object{"cluster_name": xdsCluster, "skip_envoy_headers": true}}},
			// Envoy's headers would tell the address of the machine. Its node is
			// 60 KB, most of it names of extensions.
			"set_node_on_first_message_only": true,
		}
	}
	ads := object{"resource_api_version": "V3", "ads": object{}}
	single := func(api string) object {
		of := object{"resource_api_version": "V3", "api_config_source": grpc(api)}
		return object{"cds_config": of, "lds_config": of}
	}
	return []variant{
		{name: "sotw", dynamic: object{"ads_config": grpc("GRPC"), "cds_config": ads, "lds_config": ads}, source: xdstest.ADS()},
		{name: "delta", dynamic: object{"ads_config": grpc("DELTA_GRPC"), "cds_config": ads, "lds_config": ads}, source: xdstest.ADS()},
		{name: "per-type", dynamic: single("GRPC"), source: xdstest.PerType(xdsCluster)},
		{name: "per-type-delta", dynamic: single("DELTA_GRPC"), source: xdstest.PerTypeDelta(xdsCluster)},
	}
}

// envoy is a running Envoy.
type envoy struct {
	admin  string
	output *lines
	cmd    *exec.Cmd
	exited chan struct{}
}

// envoyBootstrap is the bootstrap of an Envoy that asks server.
func envoyBootstrap(t *testing.T, v variant, node, server string) object {
	t.Helper()
	cluster := xdsClusterAt("STATIC", addressFor(t, server))
	if v.secure != nil {
		cluster["transport_socket"] = v.secure
	}
	return object{
		"node_context_params": v.context,

		"node":              object{"id": node, "cluster": "e2e", "client_features": v.features},
		"admin":             object{"address": socket("127.0.0.1", 0)},
		"dynamic_resources": v.dynamic,
		"layered_runtime":   object{"layers": v.layers},
		"static_resources":  object{"clusters": []object{cluster}, "listeners": v.static},
	}
}

// addressFor is host:port or unix:/path as Envoy writes it.
func addressFor(t *testing.T, addr string) object {
	t.Helper()
	if path, is := strings.CutPrefix(addr, "unix:"); is {
		return object{"pipe": object{"path": path}}
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	return socket(host, json.Number(port))
}

// xdsClusterAt is the cluster by which an Envoy reaches its server.
func xdsClusterAt(discovery string, address object) object {
	return object{
		"name":            xdsCluster,
		"type":            discovery,
		"connect_timeout": "5s",
		"typed_extension_protocol_options": object{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": object{
			"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"explicit_http_config": object{"http2_protocol_options": object{}},
		}},
		"load_assignment": object{"cluster_name": xdsCluster, "endpoints": []object{{
			"lb_endpoints": []object{{"endpoint": object{"address": address}}},
		}}},
	}
}

// startEnvoy starts an Envoy that asks server, and waits until it is ready.
func startEnvoy(t *testing.T, v variant, node, server string) *envoy {
	t.Helper()
	e, admin := launchEnvoy(t, v, node, server)
	e.await(t, admin)
	return e
}

// launchEnvoy starts an Envoy that asks server, and will write its admin address
// to a file.
func launchEnvoy(t *testing.T, v variant, node, server string) (e *envoy, admin string) {
	t.Helper()
	return launchEnvoyWith(t, envoyBootstrap(t, v, node, server))
}

// launchEnvoyWith is launchEnvoy with a bootstrap.
func launchEnvoyWith(t *testing.T, text object) (e *envoy, admin string) {
	t.Helper()
	path := tool(t, "envoy", "envoy", "_bin", "envoy")
	dir := t.TempDir()
	bootstrap, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "bootstrap.json")
	admin = filepath.Join(dir, "admin")
	if err := os.WriteFile(config, bootstrap, 0o600); err != nil {
		t.Fatal(err)
	}

	e = &envoy{output: newLines(), exited: make(chan struct{})}
	e.cmd = exec.Command(path, "--config-path", config, "--admin-address-path", admin,
		"--concurrency", "1", "--use-dynamic-base-id", "--disable-hot-restart", "--log-level", "warning")
	e.cmd.Stdout, e.cmd.Stderr = e.output, e.output
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = e.cmd.Wait()
		close(e.exited)
	}()
	t.Cleanup(func() {
		_ = e.cmd.Process.Kill()
		<-e.exited
		if t.Failed() {
			text := e.output.String() // which tells of each rejection
			t.Logf("the end of the output of Envoy:\n%s", text[max(0, len(text)-20_000):])
		}
	})
	return e, admin
}

// await waits until Envoy has written its admin address to a file, and is ready.
func (e *envoy) await(t *testing.T, admin string) {
	t.Helper()
	eventually(t, "Envoy's admin address", func() bool {
		select {
		case <-e.exited:
			t.Fatalf("Envoy ended:\n%s", e.output)
		default:
		}
		b, err := os.ReadFile(admin)
		e.admin = strings.TrimSpace(string(b))
		return err == nil && e.admin != ""
	})
	eventually(t, "Envoy is ready", func() bool {
		body, err := get("http://" + e.admin + "/ready")
		return err == nil && strings.Contains(body, "LIVE")
	})
}

func (e *envoy) stop(t *testing.T) {
	t.Helper()
	if err := e.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-e.exited:
	case <-time.After(patience):
		t.Fatal("Envoy does not end on SIGTERM")
	}
}

// url is where Envoy's listener called name really listens.
func (e *envoy) url(t *testing.T, name string) string {
	t.Helper()
	var found string
	eventually(t, "listener "+name, func() bool {
		body, err := get("http://" + e.admin + "/listeners?format=json")
		if err != nil {
			return false
		}
		var all struct {
			Statuses []struct {
				Name    string `json:"name"`
				Address struct {
					Socket struct {
						Port int `json:"port_value"`
					} `json:"socket_address"`
				} `json:"local_address"`
			} `json:"listener_statuses"`
		}
		if err := json.Unmarshal([]byte(body), &all); err != nil {
			t.Fatalf("/listeners: %v", err)
		}
		for _, l := range all.Statuses {
			if l.Name == name && l.Address.Socket.Port != 0 {
				found = fmt.Sprintf("http://127.0.0.1:%d/", l.Address.Socket.Port)
			}
		}
		return found != ""
	})
	return found
}

func socket(host string, port any) object {
	return object{"socket_address": object{"address": host, "port_value": port}}
}

// get returns the body of a response with status 200.
func get(url string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, body)
	}
	return string(body), err
}

// envoyStory leads an Envoy that dials addr through a whole conversation with
// the control plane. What Envoy has understood shows in how it answers HTTP
// requests.
func envoyStory(t *testing.T, v variant, c *controlPlane, addr string, end ending) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "from the backend")
	}))
	t.Cleanup(backend.Close)
	backendAddr := backend.Listener.Addr().String()

	world := func(route *routev3.RouteConfiguration, more ...*clusterv3.Cluster) xdstest.World {
		// Port 0: Envoy picks a free one and tells.
		l := xdstest.Listener("ingress", "127.0.0.1:0", "routes", v.source)
		e := xdstest.Endpoints("web", backendAddr)
		return xdstest.World{
			Clusters:  append([]*clusterv3.Cluster{xdstest.Cluster("web", v.source)}, more...),
			Endpoints: []*endpointv3.ClusterLoadAssignment{e},
			Listeners: []*listenerv3.Listener{l},
			Routes:    []*routev3.RouteConfiguration{route},
		}
	}
	c.set(t, world(xdstest.DirectRoute("routes", "one")))
	e := startEnvoy(t, v, c.node, addr)
	url := e.url(t, "ingress")
	answers := func(want string) {
		t.Helper()
		eventually(t, "the answer "+want, func() bool {
			body, err := get(url)
			return err == nil && body == want
		})
	}
	answers("one")
	c.set(t, world(xdstest.ClusterRoute("routes", "web")))
	answers("from the backend")

	c.set(t, world(xdstest.ClusterRoute("routes", "web"), xdstest.BrokenCluster("broken", v.source)))
	refused := c.nack(t)
	for _, word := range []string{"broken", "Proto constraint validation failed"} {
		if !strings.Contains(refused.Error, word) {
			t.Errorf("Envoy's rejection does not speak of %q: %q", word, refused.Error)
		}
	}
	c.set(t, world(xdstest.DirectRoute("routes", "three")))
	answers("three")

	if end == drains {
		c.drain(t)
		e.stop(t)
		return
	}
	before := len(c.account.Records())
	c.restart(t)
	c.set(t, world(xdstest.DirectRoute("routes", "four")))
	answers("four")
	c.wait(t, "a request for every type after the restart", func(rs []xdstest.Record) bool {
		return len(asked(rs[before:])) == len(asked(rs[:before]))
	})
	c.settle(t)
	e.stop(t)
}

// asked are the types that a client has asked for.
func asked(rs []xdstest.Record) map[string]bool {
	types := map[string]bool{}
	for _, r := range rs {
		if r.Kind == session.KindMessage && r.Side == session.Client {
			types[r.TypeURL] = true
		}
	}
	return types
}

func TestEnvoy(t *testing.T) {
	t.Parallel()
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			tool(t, "envoy", "envoy", "_bin", "envoy")
			c := startControlPlane(t, "envoy-"+v.name)
			p := startProxy(t, c.Addr())
			envoyStory(t, v, c, p.addr, comesBack)
			p.stop(t)
			compare(t, c.account, p)
		})
	}
}
