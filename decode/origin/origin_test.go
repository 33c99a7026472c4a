package origin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/origin"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

const prefix = "type.googleapis.com/envoy.config."

// wire is a resource in protobuf, of its JSON.
func wire(t testing.TB, text string) (string, []byte) {
	t.Helper()
	var a anypb.Any
	if err := protojson.Unmarshal([]byte(strings.ReplaceAll(text, "#", prefix)), &a); err != nil {
		t.Fatal(err)
	}
	return a.TypeUrl, a.Value
}

// said are the sources of a resource, with their systems; of its protobuf and of
// its JSON they are the same.
func said(t *testing.T, text string) []string {
	t.Helper()
	typeURL, body := wire(t, text)
	list, more := origin.Of(typeURL, body, origin.Most)
	again, _ := origin.Of(typeURL, []byte(strings.ReplaceAll(text, "#", prefix)), origin.Most)
	if !slices.Equal(list, again) {
		t.Errorf("of JSON %v, not %v", again, list)
	}
	out := []string{}
	for _, s := range list {
		out = append(out, s.System+": "+s.String())
	}
	if more {
		out = append(out, "more")
	}
	return out
}

// What each system writes, where it writes it.
func TestSystems(t *testing.T) {
	const route = `{"match":{"prefix":"/"},"route":{"cluster":"c"}`
	object := func(kind, name string, more ...string) string {
		return `{"kind":"` + kind + `","namespace":"shop","name":"` + name + `"` + strings.Join(more, "") + `}`
	}
	gateway := func(objects ...string) string {
		return `"metadata":{"filter_metadata":{"envoy-gateway":{"resources":[` + strings.Join(objects, ",") + `]}}}`
	}
	for _, c := range []struct{ name, text, want string }{
		{"rule", `{"@type":"#cluster.v3.Cluster","name":"httproute/shop/cart/rule/2",` + gateway(object("HTTPRoute", "cart")) + `}`, "Envoy Gateway: HTTPRoute shop/cart, rule 2"},
		{"rule 0 and JSON", `{"@type":"#cluster.v3.Cluster","name":"grpcroute/shop/cart/rule/0",` + gateway(object("GRPCRoute", "cart")) + `}`, "Envoy Gateway: GRPCRoute shop/cart, rule 0"},
		{"no rule", `{"@type":"#cluster.v3.Cluster","name":"tcproute/shop/t/rule/-1",` + gateway(object("TCPRoute", "t")) + `}`, "Envoy Gateway: TCPRoute shop/t"},
		{"a name that says another object", `{"@type":"#cluster.v3.Cluster","name":"httproute/shop/other/rule/2",` + gateway(object("HTTPRoute", "cart")) + `}`, "Envoy Gateway: HTTPRoute shop/cart"},
		{"no kind", `{"@type":"#route.v3.VirtualHost","name":"v","domains":["*"],` + gateway(object("", "eg", `,"sectionName":"http"`)) + `}`, "Envoy Gateway: kind unknown shop/eg, section http"},
		{"no name", `{"@type":"#cluster.v3.Cluster","name":"x",` + gateway(object("HTTPRoute", "")) + `}`, ""},
		{
			"policies", `{"@type":"#cluster.v3.Cluster","name":"x","metadata":{"filter_metadata":{"envoy-gateway":{"resources":[` + object("HTTPRoute", "r") + `],"policies":[` + object("BackendTrafficPolicy", "p") + `]}}}}`,
			"Envoy Gateway: HTTPRoute shop/r|Envoy Gateway: BackendTrafficPolicy shop/p",
		},
		{
			"routes, each once", `{"@type":"#route.v3.RouteConfiguration","name":"r","virtual_hosts":[{"name":"v","domains":["*"],"routes":[` +
				route + `,"name":"httproute/shop/a/rule/0/match/0",` + gateway(object("HTTPRoute", "a")) + `},` + route + `,"name":"httproute/shop/a/rule/0/match/1",` + gateway(object("HTTPRoute", "a")) + `},` +
				route + `,"name":"httproute/shop/a/rule/1/match/0",` + gateway(object("HTTPRoute", "a")) + `}]}]}`,
			"Envoy Gateway: HTTPRoute shop/a, rule 0|Envoy Gateway: HTTPRoute shop/a, rule 1",
		},
		{
			"endpoints", `{"@type":"#endpoint.v3.ClusterLoadAssignment","cluster_name":"httproute/shop/a/rule/0","endpoints":[{` + gateway(object("Service", "a")) + `,"lb_endpoints":[{` + gateway(object("Backend", "b")) + `}]}]}`,
			"Envoy Gateway: Service shop/a|Envoy Gateway: Backend shop/b",
		},
		{
			"chains and the routes in them", `{"@type":"#listener.v3.Listener","name":"l",` + gateway(object("Gateway", "l")) + `,"filter_chains":[{"name":"c",` + gateway(object("Gateway", "c")) + `,"filters":[{"name":"h","typed_config":{
			"@type":"type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager","stat_prefix":"h","route_config":{"name":"in",` + gateway(object("HTTPRoute", "in")) + `}}}]}]}`,
			"Envoy Gateway: Gateway shop/l|Envoy Gateway: Gateway shop/c|Envoy Gateway: HTTPRoute shop/in",
		},
		{
			"Istio", `{"@type":"#cluster.v3.Cluster","name":"outbound|80||web.shop.svc.cluster.local","metadata":{"filter_metadata":{"istio":{"config":"/apis/networking.istio.io/v1/namespaces/shop/destination-rule/web",
			"services":[{"host":"web.shop.svc.cluster.local","name":"web","namespace":"shop"},{"host":"a.example","name":"a.example","namespace":"shop"}]}}}}`,
			"Istio: DestinationRule shop/web|Istio: Service shop/web|Istio: kind unknown shop/a.example",
		},
		{"Istio's HTTPRoute", `{"@type":"#route.v3.Route","name":"x","match":{"prefix":"/"},"metadata":{"filter_metadata":{"istio":{"config":"/apis/g/v1/namespaces/shop/http-route/web"}}}}`, ""},
		{"Istio, not of that form", `{"@type":"#cluster.v3.Cluster","name":"x","metadata":{"filter_metadata":{"istio":{"config":"/apis/a/b/namespaces/shop/http-route/web/x"}}}}`, ""},
		{"Istio, Gateway API", `{"@type":"#cluster.v3.Cluster","name":"x","metadata":{"filter_metadata":{"istio":{"config":"/apis/g/v1/namespaces/shop/http-route/web"}}}}`, "Istio: HTTPRoute shop/web"},
		{
			"Contour", `{"@type":"#route.v3.VirtualHost","name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"metadata":{"filter_metadata":{"envoy.access_loggers.file":{"io.projectcontour.kind":"HTTPProxy","io.projectcontour.namespace":"shop","io.projectcontour.name":"web"}}}}]}`,
			"Contour: HTTPProxy shop/web",
		},
		{
			"kgateway", `{"@type":"#route.v3.VirtualHost","name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"metadata":{"filter_metadata":{"merge.TrafficPolicy.gateway.kgateway.dev":{"timeouts":["gateway.kgateway.dev/TrafficPolicy/shop/t","x"]}}}}]}`,
			"kgateway: TrafficPolicy shop/t",
		},
		{"a name, by Envoy Gateway", `{"@type":"#endpoint.v3.ClusterLoadAssignment","cluster_name":"httproute/shop/a/rule/3"}`, "Envoy Gateway: HTTPRoute shop/a, rule 3 (by its name)"},
		{"a name, by Istio", `{"@type":"#cluster.v3.Cluster","name":"outbound|80|v1|web.shop.svc.cluster.local"}`, "Istio: Service shop/web, port 80 (by its name)"},
		{"a name, by Contour", `{"@type":"#cluster.v3.Cluster","name":"shop/web/80/da39a3ee5e"}`, "Contour: Service shop/web, port 80 (by its name)"},
		{"a name, by kgateway", `{"@type":"#cluster.v3.Cluster","name":"kube_shop_web_80"}`, "kgateway: Service shop/web, port 80 (by its name)"},
		{"a name, by Consul", `{"@type":"#cluster.v3.Cluster","name":"v1.web.default.dc1.internal.11111111-2222.consul"}`, "Consul: service default/web (by its name)"},
		{"a name, by Consul, with a partition", `{"@type":"#cluster.v3.Cluster","name":"web.ns.part.dc1.internal-v1.11111111-2222.consul"}`, "Consul: service ns/web (by its name)"},
		{"a name, by Cilium", `{"@type":"#cluster.v3.Cluster","name":"shop/cec/shop:web:80"}`, "Cilium: Service shop/web, port 80 (by its name)"},
		{"a name that tells nothing", `{"@type":"#cluster.v3.Cluster","name":"default/eg/http"}`, ""},
		{"a listener's name", `{"@type":"#listener.v3.Listener","name":"httproute/shop/a/rule/3"}`, ""},
		{"nothing", `{"@type":"#cluster.v3.Cluster","name":"edge"}`, ""},
	} {
		if got := strings.Join(said(t, c.text), "|"); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
}

// The forms that machines read.
func TestSourceJSON(t *testing.T) {
	for _, s := range []origin.Source{
		{System: "Istio", Kind: "Service", Namespace: "n", Name: "a", Port: 80, ByName: true},
		{System: "Envoy Gateway", Kind: "HTTPRoute", Namespace: "n", Name: "a", Rule: 1},
	} {
		b, err := json.Marshal(s)
		var again origin.Source
		if err != nil || json.Unmarshal(b, &again) != nil || again != s {
			t.Errorf("%+v is %s (%v), and that %+v", s, b, err, again)
		}
		if s.Rule != 0 && !strings.Contains(string(b), `"rule":0`) {
			t.Errorf("rule 0 is in %s", b)
		}
	}
}

// Metadata that is huge: so many sources, of bounded texts.
func TestHuge(t *testing.T) {
	var objects []string
	for i := range 3 * origin.Most {
		objects = append(objects, fmt.Sprintf(`{"kind":"%s","namespace":"%d","name":"%s"}`, strings.Repeat("ä", 1000), i, strings.Repeat("b", 1000)))
	}
	typeURL, body := wire(t, `{"@type":"#cluster.v3.Cluster","name":"x","metadata":{"filter_metadata":{"envoy-gateway":{"resources":[`+strings.Join(objects, ",")+`]}}}}`)
	list, more := origin.Of(typeURL, body, origin.Most)
	if len(list) != origin.Most || !more {
		t.Errorf("%d sources, more %v", len(list), more)
	}
	sound(t, list)
	if text := origin.Words(list, more, 2); !strings.HasSuffix(text, "; and more") || strings.Count(text, ";") != 2 {
		t.Errorf("in words: %s", text)
	}
}

// A name of a megabyte, and metadata that lies about as many objects as there is
// room for, in bytes that are no text: reading them takes about as much memory as
// they have, and what is shown of them is text of a few hundred bytes.
func TestHugeNames(t *testing.T) {
	var objects []string
	for i := range 20_000 {
		objects = append(objects, fmt.Sprintf(`{"kind":"HTTPRoute","namespace":"n","name":"%d"}`, i%7))
	}
	const long = 15_000
	objects = append(objects, `{"kind":"HTTPRoute","namespace":"n","name":"`+strings.Repeat("z", long)+`"}`, `{"kind":7,"namespace":["n"],"name":{"a":1}}`)
	typeURL, body := wire(t, `{"@type":"#cluster.v3.Cluster","name":"httproute/n/`+strings.Repeat("x", 1<<20)+`/rule/1","metadata":{"filter_metadata":{"envoy-gateway":{"resources":[`+strings.Join(objects, ",")+`]}}}}`)
	body = bytes.Replace(body, bytes.Repeat([]byte("z"), long), bytes.Repeat([]byte("\xff\x1b"), long/2), 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	list, more := origin.Of(typeURL, body, origin.Most)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16*uint64(len(body)) {
		t.Errorf("%d bytes took %d", len(body), took)
	}
	if len(list) != 8 || more {
		t.Errorf("%d sources, more %v", len(list), more)
	}
	if !slices.ContainsFunc(list, func(s origin.Source) bool {
		return strings.Contains(s.Name, "\x1b") && strings.HasSuffix(s.Name, "…")
	}) {
		t.Errorf("no name says that it was cut: %.300q", list)
	}
	sound(t, list)
}

func sound(t *testing.T, list []origin.Source) {
	t.Helper()
	for i, s := range list {
		for _, text := range []string{s.Kind, s.Namespace, s.Name, s.Section} {
			if len(text) > 300 || !utf8.ValidString(text) {
				t.Errorf("%q of %d bytes", text[:min(len(text), 50)], len(text))
			}
		}
		if s.Name == "" || s.System == "" || slices.Contains(list[:i], s) {
			t.Errorf("%+v", s)
		}
	}
}

// FuzzOf reads whatever stands for a resource.
func FuzzOf(f *testing.F) {
	for _, text := range []string{
		`{"@type":"#cluster.v3.Cluster","name":"httproute/a/b/rule/2","metadata":{"filter_metadata":{"envoy-gateway":{"resources":[{"kind":"HTTPRoute","namespace":"a","name":"b"}]}}}}`,
		`{"@type":"#cluster.v3.Cluster","name":"outbound|80||a.b.svc.c","metadata":{"filter_metadata":{"istio":{"config":"/apis/a/b/namespaces/c/d-e/f","services":[{"host":"h","name":"n","namespace":"s"}]}}}}`,
		`{"@type":"#route.v3.RouteConfiguration","name":"r","virtual_hosts":[{"name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"metadata":{"filter_metadata":{"merge.a.b":{"x":["b/a/c/d"]}}}}]}]}`,
		`{"@type":"#endpoint.v3.ClusterLoadAssignment","cluster_name":"shop/cec/shop:web:80"}`,
	} {
		typeURL, body := wire(f, text)
		f.Add(strings.TrimPrefix(typeURL, prefix), body)
		f.Add(strings.TrimPrefix(typeURL, prefix), []byte(strings.ReplaceAll(text, "#", prefix)))
	}
	f.Add("listener.v3.Listener", []byte("\x1a\x04\x1a\x02\x22\x00\xca\x01\x00"))
	f.Fuzz(func(t *testing.T, typ string, body []byte) {
		list, more := origin.Of(prefix+typ, body, 4)
		if len(list) > 4 || more && len(list) < 4 {
			t.Errorf("%d sources, more %v", len(list), more)
		}
		sound(t, list)
		_ = origin.Words(list, more, 3)
	})
}

// What a name gives away is a guess by the scheme of one system, to the letter.
func TestNamed(t *testing.T) {
	for name, want := range map[string]string{
		"httproute/shop/checkout/rule/2":                     "Envoy Gateway: HTTPRoute shop/checkout, rule 2 (by its name)",
		"grpcroute/shop/checkout/rule/-1/x/y":                "Envoy Gateway: GRPCRoute shop/checkout (by its name)",
		"tcproute/shop/checkout/rule/0":                      "Envoy Gateway: TCPRoute shop/checkout, rule 0 (by its name)",
		"tlsroute/s/c/rule/0":                                "Envoy Gateway: TLSRoute s/c, rule 0 (by its name)",
		"udproute/s/c/rule/0":                                "Envoy Gateway: UDPRoute s/c, rule 0 (by its name)",
		"xroute/s/c/rule/0":                                  "",
		"http/s/c/rule/0":                                    "",
		"httproute/shop/checkout/rule/-2":                    "",
		"httproute/shop/checkout/rule/x":                     "",
		"httproute/shop/checkout/ruler/1":                    "",
		"httproute/shop/checkout/rule":                       "",
		"httproute/shop//rule/1":                             "",
		"outbound|80|v1|web.shop.svc.cluster.local":          "Istio: Service shop/web, port 80 (by its name)",
		"inbound|65535||web.shop.svc.x":                      "Istio: Service shop/web, port 65535 (by its name)",
		"outbound|65536||web.shop.svc.x":                     "",
		"outbound|0||web.shop.svc.x":                         "",
		"outbound|80||web.shop.svc":                          "",
		"outbound|80||web.shop.pod.local":                    "",
		"outbound|80|web.shop.svc.x":                         "",
		"nobound|80||web.shop.svc.x":                         "",
		"shop/web/80/da39a3ee5e":                             "Contour: Service shop/web, port 80 (by its name)",
		"shop/web/80/da39a3ee5":                              "",
		"shop/web/80/da39a3ee5g":                             "",
		"shop/web/x/da39a3ee5e":                              "",
		"shop/web/80/da39a3ee5e/x":                           "",
		strings.Repeat("s", 41) + "/web/80/da39a3ee5e":       "Contour: Service " + strings.Repeat("s", 41) + "/web, port 80 (by its name)",
		strings.Repeat("s", 42) + "/web/80/da39a3ee5e":       "",
		"kube_shop_web_80":                                   "kgateway: Service shop/web, port 80 (by its name)",
		"kube_shop_web":                                      "",
		"cube_shop_web_80":                                   "",
		"web.shop.dc1.internal.11111111-2222.consul":         "Consul: service shop/web (by its name)",
		"v1.web.shop.dc1.internal.11111111-2222.consul":      "Consul: service shop/web (by its name)",
		"web.shop.part.dc1.internal-v1.11111111-2222.consul": "Consul: service shop/web (by its name)",
		"v1.web.shop.part.dc1.internal-v1.1111.consul":       "Consul: service shop/web (by its name)",
		"a.v1.web.shop.dc1.internal.1111.consul":             "",
		"web.shop.dc1.external.1111.consul":                  "",
		"web.shop.dc1.internal.1111.console":                 "",
		"shop.dc1.internal.1111.consul":                      "",
		"web.shop.dc1.internal-v1.1111.consul":               "",
		"shop/config/shop:web:80":                            "Cilium: Service shop/web, port 80 (by its name)",
		"shop/config/shop:web":                               "",
		"shop/config/shop:web:http":                          "",
		"shop:web:80":                                        "",
		"":                                                   "",
	} {
		for _, typ := range []string{"CDS", "EDS"} {
			got := ""
			s, is := origin.Named(typ, name)
			if is {
				got = s.System + ": " + s.String()
			}
			if got != want {
				t.Errorf("%s: %q, not %q", name, got, want)
			}
		}
		if s, is := origin.Named("LDS", name); is {
			t.Errorf("%s of a listener: %v", name, s)
		}
	}
	long := strings.Repeat("w", 4*256-len("kube_shop__80"))
	if s, is := origin.Named("CDS", "kube_shop_"+long+"_80"); !is || s.Name != long[:256]+"…" {
		t.Errorf("a long name: %v", s)
	}
	if s, is := origin.Named("CDS", "kube_shop_"+long+"w_80"); is {
		t.Errorf("a name that is too long: %v", s)
	}
}

// A source as words, by its parts, and some of many.
func TestWordsOfSources(t *testing.T) {
	full := origin.Source{Kind: "HTTPRoute", Namespace: "shop", Name: "checkout", Section: "s", Rule: 3, Port: 80, ByName: true}
	bare := origin.Source{Name: "x"}
	if got := full.String(); got != "HTTPRoute shop/checkout, section s, rule 2, port 80 (by its name)" {
		t.Error(got)
	}
	if got := bare.String(); got != "kind unknown x" {
		t.Error(got)
	}
	if got := full.Paths(); got != [3]string{"HTTPRoute", "HTTPRoute/shop", "HTTPRoute/shop/checkout"} {
		t.Error(got)
	}
	if got := bare.Paths(); got != [3]string{"unknown", "unknown", "unknown/x"} {
		t.Error(got)
	}
	list := []origin.Source{{Kind: "A", Name: "1"}, {Kind: "B", Name: "2"}, {Kind: "C", Name: "3"}}
	for _, c := range []struct {
		n, most int
		more    bool
		want    string
	}{
		{1, 2, false, "A 1"},
		{2, 2, false, "A 1; B 2"},
		{3, 2, false, "A 1; B 2; and 1 more"},
		{3, 1, false, "A 1; and 2 more"},
		{3, 3, false, "A 1; B 2; C 3"},
		{3, 2, true, "A 1; B 2; and more"},
		{1, 2, true, "A 1; and more"},
	} {
		if got := origin.Words(list[:c.n], c.more, c.most); got != c.want {
			t.Errorf("%d of %d, more %v: %s", c.most, c.n, c.more, got)
		}
	}
	b, err := json.Marshal(full)
	var again origin.Source
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil || again != full || !strings.Contains(string(b), `"rule":2`) {
		t.Errorf("%s, %+v, %v", b, again, err)
	}
	if err := json.Unmarshal([]byte(`{"rule":-1}`), &again); err == nil {
		t.Error("a rule before the first is read")
	}
}
