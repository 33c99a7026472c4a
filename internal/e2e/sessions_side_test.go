package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// side is an Envoy with a stream for all types, and a control plane that knows
// resources of every type one by one.
type side struct {
	*mesh
	caches map[string]*cache.LinearCache
	mux    *cache.MuxCache
	wanted chan string // the names that were asked for
}

func newSide(t *testing.T) *side {
	t.Helper()
	tool(t, "envoy", "envoy", "_bin", "envoy")
	s := &side{mesh: emptyMesh(xdstest.ADS()), caches: map[string]*cache.LinearCache{}, wanted: make(chan string, 64)}
	s.mux = &cache.MuxCache{Classify: func(r *cache.Request) string { return r.GetTypeUrl() }, Caches: map[string]cache.Cache{}}
	s.mux.ClassifyDelta = func(r *cache.DeltaRequest) string {
		for _, name := range r.GetResourceNamesSubscribe() {
			select {
			case s.wanted <- name:
			default:
			}
		}
		return r.GetTypeUrl()
	}
	for _, typeURL := range []string{
		cds, eds, lds, rds, resource.SecretType, resource.ScopedRouteType, resource.VirtualHostType, resource.ExtensionConfigType, resource.RuntimeType,
	} {
		c := cache.NewLinearCache(typeURL, cache.WithVersionPrefix(xdstest.ShortType(typeURL)+"-"))
		s.caches[typeURL], s.mux.Caches[typeURL] = c, c
	}
	return s
}

// put adds or changes a resource, which is written as Envoy's documentation does.
func (s *side) put(t *testing.T, typeURL, name string, o object) {
	t.Helper()
	o["@type"] = typeURL
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	packed := new(anypb.Any)
	if err := protojson.Unmarshal(text, packed); err != nil {
		t.Fatal(err)
	}
	r, err := packed.UnmarshalNew()
	if err != nil {
		t.Fatal(err)
	}
	s.putResource(t, typeURL, name, r)
}

func (s *side) putResource(t *testing.T, typeURL, name string, r types.Resource) {
	t.Helper()
	if err := s.caches[typeURL].UpdateResource(name, r); err != nil {
		t.Fatal(err)
	}
}

// renew makes a certificate and its key.
func (s *side) renew(t *testing.T, secret string) {
	t.Helper()
	s.certify(secret)
	s.putResource(t, resource.SecretType, secret, s.secrets[secret])
}

// backed adds a cluster with one endpoint.
func (s *side) backed(t *testing.T, name, addr string) {
	t.Helper()
	s.cluster(name, 1)
	s.endpointsAt(t, name, addr)
	s.putResource(t, eds, name, s.endpoints[name])
	s.putResource(t, cds, name, s.clusters[name])
}

func adsConfig() object { return object{"resource_api_version": "V3", "ads": object{}} }

const typePrefix = "type.googleapis.com/"

// ingress adds a listener; more are filters before the router, and routes says
// where its routes come from.
func (s *side) ingress(t *testing.T, name string, routes object, more ...object) {
	t.Helper()
	const hcm = "envoy.filters.network.http_connection_manager"
	manager := object{
		"@type": typePrefix + "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", "stat_prefix": name,
		"http_filters": append(more, object{"name": "envoy.filters.http.router", "typed_config": object{
			"@type": typePrefix + "envoy.extensions.filters.http.router.v3.Router",
		}}),
	}
	for k, v := range routes {
		manager[k] = v
	}
	s.put(t, lds, name, object{
		"name": name, "address": socket("127.0.0.1", 0),
		"filter_chains": []object{{"filters": []object{{"name": hcm, "typed_config": manager}}}},
	})
}

// direct is a virtual host that answers by itself.
func direct(name, domain, body string) object {
	return object{"name": name, "domains": []string{domain}, "routes": []object{{
		"match": object{"prefix": "/"}, "direct_response": object{"status": 200, "body": object{"inline_string": body}},
	}}}
}

// layered gives an Envoy a layer of RTDS.
func layered(v *variant) {
	v.layers = []object{{"name": "flags", "rtds_layer": object{"name": "flags", "rtds_config": adsConfig()}}}
}

// open starts the control plane, the proxy and an Envoy that also reports its load.
func (s *side) open(t *testing.T) *scene {
	t.Helper()
	v := variants()[1]
	layered(&v)
	control := startControlPlaneAs(t, envoyNode, xdstest.Options{Cache: s.mux})
	out := &scene{mesh: s.mesh, control: control, proxy: startProxy(t, control.Addr())}
	text := envoyBootstrap(t, v, envoyNode, out.proxy.addr)
	text["cluster_manager"] = object{"load_stats_config": object{
		"api_type": "GRPC", "transport_api_version": "V3",
		"grpc_services": []object{{"envoy_grpc": object{"cluster_name": xdsCluster, "skip_envoy_headers": true}}},
	}}
	e, admin := launchEnvoyWith(t, text)
	e.await(t, admin)
	out.envoy = e
	return out
}

// once asks an Envoy, and returns what it answers.
func once(ctx context.Context, url, host string, headers ...string) (body string, _ http.Header, _ error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	r.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return string(text), answer.Header, err
}

// answered asks an Envoy until it answers as wanted.
func answered(t *testing.T, url, host, want string, headers ...string) (last http.Header) {
	t.Helper()
	eventually(t, fmt.Sprintf("the answer %q of %s", want, host), func() bool {
		body, header, err := once(t.Context(), url, host, headers...)
		last = header
		return err == nil && body == want
	})
	return last
}

// ask asks an Envoy something for which it has to ask for name, and gives it that
// when it does.
func (s *side) ask(t *testing.T, url, host, want, name string, give func(), headers ...string) {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		body, _, err := once(t.Context(), url, host, headers...)
		got <- fmt.Sprint(body, err)
	}()
	for asked := ""; asked != name; {
		select {
		case asked = <-s.wanted:
		case <-time.After(patience):
			t.Fatalf("Envoy does not ask for %s", name)
		}
	}
	give()
	if body := <-got; body != fmt.Sprint(want, nil) {
		t.Errorf("the answer is %s, not %s", body, want)
	}
}

func sideSessions() []recordedSession {
	return []recordedSession{
		{
			name: "envoy-delta-side",
			story: "An Envoy gets scopes of routes, the configuration of a filter and runtime values on one stream,\n" +
				"each of which changes. The certificates of two clusters come by streams of secrets, a delta one and\n" +
				"one of the state of the world, and are renewed. It reports its load every second.",
			record: recordSide, differs: layered,
		},
		{
			name: "envoy-delta-on-demand",
			story: "An Envoy asks for a virtual host and for a cluster when a request needs them. The virtual host\n" +
				"changes.",
			record: recordOnDemand, differs: layered,
			traffic: func(t *testing.T, e *envoy) {
				url := e.url(t, "ingress")
				answered(t, url, "lazy.example", "two")
				if _, _, err := once(t.Context(), url, "header.example", "x-cluster", "lazy"); err != nil { // its backend is gone
					t.Error(err)
				}
			},
		},
		{
			name:  "grpc-go-load-reports",
			story: "A gRPC client reports its load to its control plane, every second, and the cluster moves.",
			record: func(t *testing.T) string {
				d := openDirectory(t, implementations()[0], service)
				d.expect(t, serving)
				d.clusters["greeter"].LrsServer = &corev3.ConfigSource{
					ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}},
				}
				d.endpointsAt(t, "greeter", d.second)
				d.push(t, notServing)
				time.Sleep(5 * time.Second)
				d.endpointsAt(t, "greeter", d.first)
				d.push(t, serving)
				time.Sleep(5 * time.Second)
				return d.close(t)
			},
		},
	}
}

func recordSide(t *testing.T) string {
	s := newSide(t)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the backend") }))
	t.Cleanup(backend.Close)
	s.backed(t, "web", backend.Listener.Addr().String())
	flag := func(value string) {
		s.put(t, resource.RuntimeType, "flags", object{"name": "flags", "layer": object{"flags.value": value}})
	}
	header := func(value string) {
		s.put(t, resource.ExtensionConfigType, "stamp", object{"name": "stamp", "typed_config": object{
			"@type": typePrefix + "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation",
			"mutations": object{"response_mutations": []object{{"append": object{
				"header": object{"key": "x-stamp", "value": value}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
			}}}},
		}})
	}
	scope := func(color, routes string) {
		s.put(t, resource.ScopedRouteType, color, object{
			"name": color, "route_configuration_name": routes, "key": object{"fragments": []object{{"string_key": color}}},
		})
	}
	for name, source := range map[string]*corev3.ConfigSource{
		"payments": xdstest.PerTypeDelta(xdsCluster), "ledger": xdstest.PerType(xdsCluster),
	} {
		s.source = source
		s.secretCluster(t, name, name+"-cert")
		s.endpointsAt(t, name, backend.Listener.Addr().String())
		c := s.clusters[name]
		c.ClusterDiscoveryType, c.EdsClusterConfig = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, nil
		c.LoadAssignment = s.endpoints[name]
		s.putResource(t, cds, name, c)
		s.renew(t, name+"-cert")
	}
	flag("one")
	header("one")
	scope("blue", "to-web")
	s.put(t, rds, "to-web", object{"name": "to-web", "virtual_hosts": []object{{
		"name": "all", "domains": []string{"*"},
		"routes": []object{{"match": object{"prefix": "/"}, "route": object{"cluster": "web"}}},
	}}})
	s.put(t, rds, "by-itself", object{"name": "by-itself", "virtual_hosts": []object{direct("all", "*", "no backend")}})
	s.ingress(t, "by-scope", object{"scoped_routes": object{
		"name": "scopes", "rds_config_source": adsConfig(), "scoped_rds": object{"scoped_rds_config_source": adsConfig()},
		"scope_key_builder": object{"fragments": []object{{"header_value_extractor": object{"name": "x-scope", "index": 0}}}},
	}}, object{"name": "stamp", "config_discovery": object{
		"config_source": adsConfig(), "type_urls": []string{typePrefix + "envoy.extensions.filters.http.header_mutation.v3.HeaderMutation"},
	}})
	scene := s.open(t)
	url := scene.envoy.url(t, "by-scope")
	stamped := func(want string) {
		t.Helper()
		eventually(t, "the header "+want, func() bool {
			return answered(t, url, "any.example", "from the backend", "x-scope", "blue").Get("x-stamp") == want
		})
	}
	stamped("one")
	header("two")
	stamped("two")
	scope("red", "by-itself")
	answered(t, url, "any.example", "no backend", "x-scope", "red")
	flag("two")
	eventually(t, "the runtime value", func() bool {
		body, err := get("http://" + scene.envoy.admin + "/runtime")
		return err == nil && slices.Contains(runtimeValues(body), "two")
	})
	if err := s.caches[resource.ScopedRouteType].DeleteResource("red"); err != nil {
		t.Fatal(err)
	}
	scene.control.rest(t, quiet)
	s.renew(t, "payments-cert")
	s.renew(t, "ledger-cert")
	time.Sleep(idle)
	return scene.close(t)
}

// runtimeValues are the final values of an Envoy's /runtime.
func runtimeValues(body string) (out []string) {
	var all struct {
		Entries map[string]struct {
			Final string `json:"final_value"`
		}
	}
	if json.Unmarshal([]byte(body), &all) == nil {
		for _, e := range all.Entries {
			out = append(out, e.Final)
		}
	}
	return out
}

func recordOnDemand(t *testing.T) string {
	s := newSide(t)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "from the backend") }))
	t.Cleanup(backend.Close)
	s.put(t, resource.RuntimeType, "flags", object{"name": "flags", "layer": object{"flags.value": "one"}})
	s.put(t, rds, "routes", object{"name": "routes", "vhds": object{"config_source": adsConfig()}, "virtual_hosts": []object{{
		"name": "by-header", "domains": []string{"header.example"},
		"routes": []object{{"match": object{"prefix": "/"}, "route": object{"cluster_header": "x-cluster"}}},
	}}})
	// Without any virtual host Envoy warms the listener for 15 s.
	s.put(t, resource.VirtualHostType, "routes/first.example", direct("routes/first.example", "first.example", "first"))
	s.ingress(t, "ingress", object{"rds": object{"route_config_name": "routes", "config_source": adsConfig()}},
		object{"name": "envoy.filters.http.on_demand", "typed_config": object{
			"@type": typePrefix + "envoy.extensions.filters.http.on_demand.v3.OnDemand",
			"odcds": object{"source": adsConfig(), "timeout": "20s"},
		}})
	scene := s.open(t)
	url := scene.envoy.url(t, "ingress")
	s.ask(t, url, "lazy.example", "one", "routes/lazy.example", func() {
		s.put(t, resource.VirtualHostType, "routes/lazy.example", direct("routes/lazy.example", "lazy.example", "one"))
	})
	s.put(t, resource.VirtualHostType, "routes/lazy.example", direct("routes/lazy.example", "lazy.example", "two"))
	answered(t, url, "lazy.example", "two")
	s.ask(t, url, "header.example", "from the backend", "lazy", func() {
		s.backed(t, "lazy", backend.Listener.Addr().String())
	}, "x-cluster", "lazy")
	time.Sleep(idle)
	return scene.close(t)
}
