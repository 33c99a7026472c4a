package standalone_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/convert/standalone"
	"github.com/xdsproxy/xdsproxy/internal/golden"
)

// TestWhole: bootstraps as a whole, of clients with all kinds of resources, and what is
// said of what they lack.
func TestWhole(t *testing.T) {
	const (
		table  = "envoy.config.route.v3.RouteConfiguration"
		scope  = "envoy.config.route.v3.ScopedRouteConfiguration"
		secret = "envoy.extensions.transport_sockets.tls.v3.Secret"
	)
	manager := func(members string) string {
		return `"filter_chains":[{"filters":[{"name":"manager","typed_config":{` + hcm + `,` + members + `}}]}]`
	}
	many := func(typ, message, member string, n int) (out []*decode.Resource) {
		for i := range n {
			name := fmt.Sprintf("%s%d", strings.ToLower(typ), i)
			out = append(out, of(t, message, name, fmt.Sprintf("%q:%q", member, name)))
		}
		return out
	}
	router := `"http_filters":[{"name":"router","typed_config":{"@type":"` + prefix + `envoy.extensions.filters.http.router.v3.Router"}}]`
	var b strings.Builder
	for _, tc := range []struct {
		name   string
		client standalone.Client
	}{
		{"nothing", standalone.Client{}},
		{"a node without members", standalone.Client{Node: []byte(`{}`)}},
		{"a node that cannot be read", standalone.Client{Node: []byte(`{"id":`)}},
		{"routes by name, and by scope", standalone.Client{Node: []byte(`{"id":"n","cluster":"c"}`), Resources: map[string][]*decode.Resource{
			"LDS": {
				of(t, listener, "l1", `"name":"l1",`+manager(`"rds":{"route_config_name":"r1","config_source":`+ads+`},`+router)),
				of(t, listener, "l2", `"name":"l2",`+manager(`"scoped_routes":{"name":"s","scope_key_builder":{"fragments":[]},"rds_config_source":`+ads+`,"scoped_rds":{"scoped_rds_config_source":`+ads+`}},`+router)),
				of(t, listener, "l3", `"name":"l3",`+manager(`"scoped_routes":{"name":"s","rds_config_source":`+ads+`,"scoped_route_configurations_list":{"scoped_route_configurations":[]}},`+router)),
				of(t, listener, "l4", `"name":"l4",`+manager(`"route_config":{"name":"own","virtual_hosts":[{"name":"v","domains":["*"],"routes":[{"match":{"safe_regex":{"google_re2":{},"regex":".*"}},"route":{"cluster":"c1"}}]}]},`+router)),
			},
			"RDS": {
				of(t, table, "r1", `"name":"r1","validate_clusters":true,"vhds":{"config_source":`+ads+`},"virtual_hosts":[{"name":"first","domains":["a"]}]`),
				of(t, table, "r2", `"name":"r2","vhds":{"config_source":`+ads+`}`),
			},
			"VHDS": {of(t, "envoy.config.route.v3.VirtualHost", "r1/second", `"name":"second","domains":["b"]`), of(t, "envoy.config.route.v3.VirtualHost", "r3/third", `"name":"third","domains":["b"]`)},
			"SRDS": {
				of(t, scope, "s1", `"name":"s1","on_demand":true,"route_configuration_name":"r2","key":{"fragments":[{"string_key":"k"}]}`),
				of(t, scope, "s2", `"name":"s2","route_configuration":{"name":"inline"}`),
				of(t, scope, "s3", `"name":"s3","route_configuration_name":"lost"`),
			},
			"RTDS": {of(t, "envoy.service.runtime.v3.Runtime", "runtime", `"name":"runtime","layer":{"a.b":7}`)},
		}}},
		{"what still asks", standalone.Client{Resources: map[string][]*decode.Resource{
			"LDS": {of(t, listener, "asks", `"name":"asks","filter_chains":[{"filters":[{"name":"f","config_discovery":{"config_source":{"path_config_source":{"path":"/x"}},"type_urls":["x"]}}]}],
				"listener_filters":[{"name":"known","config_discovery":{"config_source":`+ads+`,"type_urls":["x"]}}]`)},
			"CDS": {
				of(t, cluster, "odd", `"name":"odd","type":"STATIC","load_assignment":{"cluster_name":"x"},"transport_socket":{"name":"tls","typed_config":{"@type":"`+prefix+`envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
					"common_tls_context":{"combined_validation_context":{"validation_context_sds_secret_config":{"name":"known","sds_config":`+ads+`}},"tls_certificate_sds_secret_configs":[{"name":"a/cert","sds_config":`+ads+`}]}}}`),
			},
			"ECDS": {of(t, "envoy.config.core.v3.TypedExtensionConfig", "known", `"name":"known","typed_config":{"@type":"`+prefix+`envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"}`)},
			"SDS":  {of(t, secret, "known", `"name":"known","validation_context":{"trusted_ca":{"inline_string":"ca"}}`)},
		}}},
		{"more than is used", standalone.Client{Clusters: []string{"eds1"}, Resources: map[string][]*decode.Resource{
			"RDS":  many("RDS", table, "name", 5),
			"EDS":  many("EDS", "envoy.config.endpoint.v3.ClusterLoadAssignment", "cluster_name", 7),
			"VHDS": many("VHDS", "envoy.config.route.v3.VirtualHost", "name", 1),
			"ECDS": many("ECDS", "envoy.config.core.v3.TypedExtensionConfig", "name", 6),
		}}},
	} {
		tc.client.Pair = pair
		text, notes := made(t, &tc.client)
		fmt.Fprintf(&b, "== %s\n%s\n", tc.name, text)
		for _, n := range notes {
			fmt.Fprintf(&b, "  %s\n", n)
		}
	}
	golden.Is(t, "testdata/whole.txt", b.String())
}
