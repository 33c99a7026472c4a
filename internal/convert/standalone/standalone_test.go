package standalone_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/convert/standalone"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

const prefix = "type.googleapis.com/"

// of is a resource that is written in JSON, without its type.
func of(t testing.TB, typ, name, text string) *decode.Resource {
	t.Helper()
	var packed anypb.Any
	text = fmt.Sprintf(`{"@type":%q,%s}`, prefix+typ, text)
	if err := lenient.JSON([]byte(text)).Whole(&packed, protoregistry.GlobalTypes); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &decode.Resource{Name: name, TypeURL: packed.TypeUrl, Body: packed.Value}
}

func pair(name string) (chain, key []byte, err error) {
	if name == "none" {
		return nil, nil, errors.New("there is none")
	}
	return []byte("chain of " + name), []byte(strings.Repeat("key", 30)), nil
}

const (
	listener = "envoy.config.listener.v3.Listener"
	cluster  = "envoy.config.cluster.v3.Cluster"
	hcm      = `"@type":"type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"`
	ads      = `{"ads":{},"resource_api_version":"V3"}`
)

// made makes a bootstrap, which has to be one that protobuf reads back.
func made(t testing.TB, c *standalone.Client) (text string, notes []string) {
	t.Helper()
	doc, notes := standalone.Make(c)
	out := doc.JSON()
	typ, err := protoregistry.GlobalTypes.FindMessageByName("envoy.config.bootstrap.v3.Bootstrap")
	if err != nil {
		t.Fatal(err)
	}
	if err := lenient.JSON(out).Whole(typ.New().Interface(), protoregistry.GlobalTypes); err != nil {
		t.Errorf("it is no bootstrap: %v\n%s", err, out)
	}
	var b strings.Builder
	b.Write(doc.Compact())
	return b.String(), notes
}

// What cannot be put in its place is said, and nothing of it is left that asks.
func TestWhatIsMissing(t *testing.T) {
	text, notes := made(t, &standalone.Client{
		Pair: pair, Clusters: []string{"agent", "there"},
		Node: []byte(`{"id":"n","metadata":{"a":[1,"b"]}}`),
		Resources: map[string][]*decode.Resource{
			"LDS": {
				of(t, listener, "in", `"name":"in","filter_chains":[{"filters":[
					{"name":"manager","typed_config":{`+hcm+`,"rds":{"route_config_name":"lost","config_source":`+ads+`},"http_filters":[
						{"name":"gone","config_discovery":{"config_source":`+ads+`,"type_urls":["x"]}},
						{"name":"by-default","config_discovery":{"config_source":`+ads+`,"default_config":{"@type":"`+prefix+`envoy.extensions.filters.http.router.v3.Router"},"type_urls":["x"]}}]}}],
					"transport_socket":{"name":"tls","typed_config":{"@type":"`+prefix+`envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
						"common_tls_context":{"tls_certificate_sds_secret_configs":[{"name":"mine","sds_config":`+ads+`},{"name":"none","sds_config":`+ads+`}],
							"validation_context_sds_secret_config":{"name":"roots","sds_config":`+ads+`}},
						"session_ticket_keys_sds_secret_config":{"name":"tickets","sds_config":`+ads+`}}}}]`),
				of(t, listener, "inside", `"name":"inside","internal_listener":{}`),
			},
			"CDS": {
				of(t, cluster, "there", `"name":"there","type":"EDS","eds_cluster_config":{"service_name":"service","eds_config":`+ads+`},"lrs_server":{"self":{}}`),
				of(t, cluster, "named", `"name":"named","type":"EDS","eds_cluster_config":{"eds_config":`+ads+`}`),
				of(t, cluster, "empty", `"name":"empty","type":"EDS","eds_cluster_config":{"eds_config":`+ads+`}`),
			},
			"EDS": {
				of(t, "envoy.config.endpoint.v3.ClusterLoadAssignment", "service", `"cluster_name":"service","endpoints":[{"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"::1","port_value":1}}}}]}]`),
				of(t, "envoy.config.endpoint.v3.ClusterLoadAssignment", "named", `"cluster_name":"named","endpoints":[{"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"a.example","port_value":1}}}}]}]`),
				of(t, "envoy.config.endpoint.v3.ClusterLoadAssignment", "nobody's", `"cluster_name":"nobody's"`),
			},
		},
	})
	for _, is := range []string{
		`"route_config":{"name":"lost"}`, `{"name":"by-default","typed_config":`, `"name":"there","type":"STATIC"`, `"name":"named","type":"STRICT_DNS"`,
		`{"name":"agent","type":"STATIC","load_assignment":{"cluster_name":"agent"}}`, `{"name":"mine","tls_certificate":`, `{"name":"roots","validation_context":`,
		`{"name":"tickets","session_ticket_keys":`, "envoy.bootstrap.internal_listener", `"node":{"id":"n","metadata":{"a":[1,"b"]}}`,
	} {
		if !strings.Contains(text, is) {
			t.Errorf("there is no %s in\n%s", is, text)
		}
	}
	for _, not := range []string{`"ads"`, `"gone"`, `"eds_cluster_config"`, `"lrs_server"`, `"self"`} {
		if strings.Contains(text, not) {
			t.Errorf("there is %s in\n%s", not, text)
		}
	}
	for _, said := range []string{`RDS "lost"`, `ECDS "gone"`, `ECDS "by-default"`, `"mine"`, `"none"`, `"roots"`, `"tickets"`, `"agent"`, `"empty"`, "nobody's", "load"} {
		if !slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, said) }) {
			t.Errorf("nothing is said of %s in\n%s", said, strings.Join(notes, "\n"))
		}
	}
}

// The endpoints of a collection stand in their locality.
func TestLEDS(t *testing.T) {
	const collection = "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/web/"
	endpoint := func(name, address string) *decode.Resource {
		return of(t, "envoy.config.endpoint.v3.LbEndpoint", collection+name, `"endpoint":{"address":{"socket_address":{"address":"`+address+`","port_value":1}}}`)
	}
	text, notes := made(t, &standalone.Client{Pair: pair, Resources: map[string][]*decode.Resource{
		"CDS": {of(t, cluster, "web", `"name":"web","type":"EDS","eds_cluster_config":{"eds_config":`+ads+`}`)},
		"EDS": {of(t, "envoy.config.endpoint.v3.ClusterLoadAssignment", "web", `"cluster_name":"web","endpoints":[
			{"leds_cluster_locality_config":{"leds_config":`+ads+`,"leds_collection_name":"`+collection+`*"}},
			{"leds_cluster_locality_config":{"leds_config":`+ads+`,"leds_collection_name":"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/none/*"}}]`)},
		// The third is in a collection below, and the fourth of a list with this beginning.
		"LEDS": {endpoint("a", "10.0.0.1"), endpoint("b", "10.0.0.2"), endpoint("below/c", "10.0.0.3"), endpoint("d?zone=x", "10.0.0.4")},
	}})
	if strings.Contains(text, "10.0.0.3") || !strings.Contains(text, "10.0.0.4") {
		t.Errorf("what is in the collection is not what the account says: %s", text)
	}
	if !strings.Contains(text, `"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"10.0.0.1","port_value":1}}}},{"endpoint":`) || strings.Contains(text, "leds") {
		t.Errorf("%s", text)
	}
	if len(notes) != 2 || !strings.Contains(notes[0], "/none/") || !strings.Contains(notes[1], "web/below/c") {
		t.Errorf("it says %q", notes)
	}
}

// What a newer API has is left out, and said.
func TestUnknown(t *testing.T) {
	r := of(t, cluster, "c", `"name":"c"`)
	r.Body = append(r.Body, 0xfa, 0xff, 0x03, 0x01, 'x') // field 8191
	text, notes := made(t, &standalone.Client{Pair: pair, Resources: map[string][]*decode.Resource{"CDS": {r}}})
	if strings.Contains(text, "@") || len(notes) != 1 || !strings.Contains(notes[0], "CDS c") {
		t.Errorf("%s, %q", text, notes)
	}
	odd, err := proto.Marshal(&anypb.Any{TypeUrl: prefix + "unheard.of.Filter", Value: []byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	filter := append([]byte{0x0a, 1, 'f', 0x22, byte(len(odd))}, odd...) // name, typed_config
	chain := append([]byte{0x1a, byte(len(filter))}, filter...)          // filters
	l := &decode.Resource{Name: "l", TypeURL: prefix + listener, Body: append([]byte{0x0a, 1, 'l', 0x1a, byte(len(chain))}, chain...)}
	text, notes = made(t, &standalone.Client{Pair: pair, Resources: map[string][]*decode.Resource{"LDS": {l}}})
	if strings.Contains(text, "unheard") || len(notes) != 1 || !strings.Contains(notes[0], "unheard.of.Filter") {
		t.Errorf("%s, %q", text, notes)
	}
}

// FuzzMake: whatever was accepted, what is made is JSON, and asks nobody for endpoints.
func FuzzMake(f *testing.F) {
	f.Add(of(f, listener, "", `"name":"a","filter_chains":[{"filters":[{"name":"m","typed_config":{`+hcm+`,"scoped_routes":{"scoped_rds":{}}}}]}]`).Body,
		of(f, cluster, "", `"name":"a","type":"EDS","eds_cluster_config":{"eds_config":`+ads+`}`).Body,
		of(f, "envoy.config.route.v3.RouteConfiguration", "", `"name":"a","vhds":{}`).Body)
	f.Add([]byte{0x0a, 1, 'a'}, []byte{0xff}, []byte{})
	f.Fuzz(func(t *testing.T, l, c, r []byte) {
		all := map[string][]*decode.Resource{}
		add := func(typ, message string, body []byte) {
			all[typ] = append(all[typ], &decode.Resource{Name: "a", TypeURL: prefix + message, Body: body})
		}
		add("LDS", listener, l)
		add("CDS", cluster, c)
		for typ, message := range map[string]string{
			"RDS": "envoy.config.route.v3.RouteConfiguration", "VHDS": "envoy.config.route.v3.VirtualHost", "SRDS": "envoy.config.route.v3.ScopedRouteConfiguration",
			"EDS": "envoy.config.endpoint.v3.ClusterLoadAssignment", "SDS": "envoy.extensions.transport_sockets.tls.v3.Secret",
			"ECDS": "envoy.config.core.v3.TypedExtensionConfig", "RTDS": "envoy.service.runtime.v3.Runtime",
		} {
			add(typ, message, r)
		}
		doc, _ := standalone.Make(&standalone.Client{Node: l, Resources: all, Pair: pair})
		out := doc.JSON()
		if !json.Valid(out) || len(doc.YAML()) == 0 {
			t.Fatalf("%s", out)
		}
	})
}
