package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
)

// resource makes an Any of JSON with "@type". In the text "#" stands for the
// beginning of a type URL, and ads for a config source.
func resource(t testing.TB, text string) *anypb.Any {
	t.Helper()
	text = strings.NewReplacer(`"#`, `"type.googleapis.com/`, `:ads`, `:{"ads":{}}`).Replace(text)
	a := &anypb.Any{}
	if err := protojson.Unmarshal([]byte(text), a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

func inspected(t testing.TB, text string) *inspect.Facts {
	t.Helper()
	a := resource(t, text)
	return inspect.New(nil).Inspect(a.TypeUrl, a.Value, false)
}

func refs(f *inspect.Facts) (out []string) {
	sources := [...]string{"", " ads", " self", " other", " file"}
	uses := [...]string{"", " traffic", " service", " member", " idle"}
	for _, r := range f.Refs {
		text := r.Type + " " + r.Name + sources[r.Source] + uses[r.Use]
		if r.Default {
			text += " default"
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

const (
	hcmV3     = `{"@type":"#envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager","stat_prefix":"s",`
	hcmV2     = `{"@type":"#envoy.config.filter.network.http_connection_manager.v2.HttpConnectionManager","stat_prefix":"s",`
	listener3 = `{"@type":"#envoy.config.listener.v3.Listener","name":"l1","filter_chains":[{"filters":[{"name":"f","typed_config":`
	listener2 = `{"@type":"#envoy.api.v2.Listener","name":"l1","filter_chains":[{"filters":[{"name":"f","typed_config":`
	end       = `}]}]}`
	router3   = `{"name":"router","typed_config":{"@type":"#envoy.extensions.filters.http.router.v3.Router"}}`
)

func TestInspectRefs(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		want []string
	}{
		"weights of which some are 0": {
			`{"@type":"#envoy.config.route.v3.RouteConfiguration","name":"r1","virtual_hosts":[{"name":"v","domains":["*"],"routes":[
			{"match":{"prefix":"/a"},"route":{"weighted_clusters":{"clusters":[{"name":"a","weight":1},{"name":"b","weight":0},{"name":"c"}]}}},
			{"match":{"prefix":"/b"},"route":{"weighted_clusters":{"clusters":[{"cluster_header":"h","weight":0},{"name":"d","weight":2}]}}},
			{"match":{"prefix":"/c"},"route":{"weighted_clusters":{"clusters":[{"name":"d","weight":0}]}}},
			{"match":{"prefix":"/d"},"route":{"cluster":"e"}}]}]}`,
			[]string{"CDS a traffic", "CDS b idle", "CDS c traffic", "CDS d idle", "CDS d traffic", "CDS e traffic"},
		},
		"routes by RDS": {
			listener3 + hcmV3 + `"rds":{"route_config_name":"r1","config_source":ads}}` + end,
			[]string{"RDS r1 ads"},
		},
		"routes by RDS, version 2": {
			listener2 + hcmV2 + `"rds":{"route_config_name":"r1","config_source":{"self":{}}}}` + end,
			[]string{"RDS r1 self"},
		},
		"an api_listener": {
			`{"@type":"#envoy.config.listener.v3.Listener","name":"l1","api_listener":{"api_listener":` + hcmV3 + `"rds":{"route_config_name":"r1","config_source":ads}}}}`,
			[]string{"RDS r1 ads"},
		},
		"RDS over another stream": {
			listener3 + hcmV3 + `"rds":{"route_config_name":"r1","config_source":{"api_config_source":{"api_type":"GRPC","grpc_services":[{"envoy_grpc":{"cluster_name":"xds"}}]}}}}` + end,
			[]string{"CDS xds service", "RDS r1 other"},
		},
		"ADS by another name": {
			listener3 + hcmV3 + `"rds":{"route_config_name":"xdstp://a/x/r","config_source":{"api_config_source":{"api_type":"AGGREGATED_DELTA_GRPC"}}}}` + end,
			[]string{"RDS xdstp://a/x/r ads"},
		},
		"scoped routes": {
			listener3 + hcmV3 + `"scoped_routes":{"name":"s","rds_config_source":ads,"scoped_rds":{"scoped_rds_config_source":ads}}}` + end,
			[]string{"SRDS  ads"},
		},
		"scoped routes, version 2, listed": {
			listener2 + hcmV2 + `"scoped_routes":{"name":"s","rds_config_source":ads,"scoped_route_configurations_list":{"scoped_route_configurations":[{"name":"a","route_configuration_name":"r1"},{"name":"b","route_configuration_name":"r1"}]}}}` + end,
			[]string{"RDS r1 ads"},
		},
		"scoped routes, one of which names none": {
			listener3 + hcmV3 + `"scoped_routes":{"name":"s","rds_config_source":ads,"scoped_route_configurations_list":{"scoped_route_configurations":[{"name":"a"},{"name":"b","route_configuration_name":"r1"}]}}}` + end,
			[]string{"RDS r1 ads"},
		},
		"scoped routes by a collection": {
			listener3 + hcmV3 + `"scoped_routes":{"name":"s","scoped_rds":{"scoped_rds_config_source":ads,"srds_resources_locator":"xdstp://a/envoy.config.route.v3.ScopedRouteConfiguration/x/*"}}}` + end,
			[]string{"SRDS xdstp://a/envoy.config.route.v3.ScopedRouteConfiguration/x/* ads"},
		},
		"extensions by ECDS": {
			`{"@type":"#envoy.config.listener.v3.Listener","name":"l1",
			"listener_filters":[{"name":"lf","config_discovery":{"config_source":ads,"type_urls":["a/b"]}}],
			"filter_chains":[{"filters":[{"name":"nf","config_discovery":{"config_source":{"path_config_source":{"path":"/x"}},"type_urls":["a/b"]}},
				{"name":"hcm","typed_config":` + hcmV3 + `"http_filters":[{"name":"hf","config_discovery":{"config_source":ads,"default_config":{"@type":"#envoy.extensions.filters.http.router.v3.Router"}}},` + router3 + `]}}]}]}`,
			[]string{"ECDS hf ads default", "ECDS lf ads", "ECDS nf file"},
		},
		"secrets of a downstream": {
			`{"@type":"#envoy.config.listener.v3.Listener","name":"l1","filter_chains":[{"transport_socket":{"name":"tls","typed_config":{"@type":"#envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
			"common_tls_context":{"tls_certificate_sds_secret_configs":[{"name":"cert","sds_config":ads},{"name":"static"}],"validation_context_sds_secret_config":{"name":"ca","sds_config":ads}},
			"session_ticket_keys_sds_secret_config":{"name":"xdstp://a/envoy.extensions.transport_sockets.tls.v3.Secret/k"}}}}]}`,
			[]string{"SDS ca ads", "SDS cert ads", "SDS xdstp://a/envoy.extensions.transport_sockets.tls.v3.Secret/k"},
		},
		"secrets on demand": {
			`{"@type":"#envoy.config.core.v3.TypedExtensionConfig","name":"e","typed_config":{"@type":"#envoy.extensions.transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config","config_source":ads,"prefetch_secret_names":["a","b"]}}`,
			[]string{"SDS a ads default", "SDS b ads default"},
		},
		"secrets of a filter": {
			`{"@type":"#envoy.config.core.v3.TypedExtensionConfig","name":"e","typed_config":{"@type":"#envoy.extensions.filters.http.oauth2.v3.OAuth2","config":{
			"token_endpoint":{"uri":"http://a","cluster":"auth","timeout":"1s"},
			"credentials":{"client_id":"x","token_secret":{"name":"tok","sds_config":ads},"hmac_secret":{"name":"hmac","sds_config":{"path":"/x"}}}}}}`,
			[]string{"CDS auth service", "SDS hmac file", "SDS tok ads"},
		},
		"routes in a listener": {
			listener3 + hcmV3 + `"route_config":{"name":"r","virtual_hosts":[{"name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"route":{"cluster":"c1"}}]}]},
			"http_filters":[{"name":"a","typed_config":{"@type":"#envoy.extensions.filters.http.ext_authz.v3.ExtAuthz","grpc_service":{"envoy_grpc":{"cluster_name":"authz"}}}},` + router3 + `],
			"access_log":[{"name":"als","typed_config":{"@type":"#envoy.extensions.access_loggers.grpc.v3.HttpGrpcAccessLogConfig","common_config":{"log_name":"l","grpc_service":{"envoy_grpc":{"cluster_name":"als"}}}}}]}` + end,
			[]string{"CDS als service", "CDS authz service", "CDS c1 traffic"},
		},
		"a TCP proxy": {
			listener3 + `{"@type":"#envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy","stat_prefix":"s","weighted_clusters":{"clusters":[{"name":"c1","weight":1},{"name":"c2","weight":1}]}}` + end,
			[]string{"CDS c1 traffic", "CDS c2 traffic"},
		},
		"a TCP proxy, version 2": {
			listener2 + `{"@type":"#envoy.config.filter.network.tcp_proxy.v2.TcpProxy","stat_prefix":"s","cluster":"c1"}` + end,
			[]string{"CDS c1 traffic"},
		},
		"a UDP proxy": {
			`{"@type":"#envoy.config.listener.v3.Listener","name":"l1","listener_filters":[{"name":"u","typed_config":{"@type":"#envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig","stat_prefix":"s",
			"matcher":{"on_no_match":{"action":{"name":"route","typed_config":{"@type":"#envoy.extensions.filters.udp.udp_proxy.v3.Route","cluster":"c1"}}}}}}]}`,
			[]string{"CDS c1 traffic"},
		},
		"routes": {
			`{"@type":"#envoy.config.route.v3.RouteConfiguration","name":"r1","vhds":{"config_source":ads},"request_mirror_policies":[{"cluster":"m0"}],"virtual_hosts":[{"name":"v","domains":["*"],"routes":[
			{"match":{"prefix":"/a"},"route":{"weighted_clusters":{"clusters":[{"name":"c1","weight":1},{"cluster_header":"x","weight":1}]},"request_mirror_policies":[{"cluster":"m1"}]}},
			{"match":{"prefix":"/b"},"route":{"cluster":"c1"}},
			{"match":{"prefix":"/c"},"route":{"cluster_header":"x"}},
			{"match":{"prefix":"/d"},"redirect":{"host_redirect":"h"}},
			{"match":{"prefix":"/e"},"route":{"inline_cluster_specifier_plugin":{"extension":{"name":"m","typed_config":{"@type":"#envoy.extensions.router.cluster_specifiers.matcher.v3.MatcherClusterSpecifier",
				"cluster_matcher":{"on_no_match":{"action":{"name":"a","typed_config":{"@type":"#envoy.extensions.router.cluster_specifiers.matcher.v3.ClusterAction","cluster":"c9"}}}}}}}}}]}]}`,
			[]string{"CDS c1 traffic", "CDS c9 traffic", "CDS m0 traffic", "CDS m1 traffic", "VHDS r1 ads"},
		},
		"routes, version 2": {
			`{"@type":"#envoy.api.v2.RouteConfiguration","name":"r1","vhds":{"config_source":ads},"virtual_hosts":[{"name":"v","domains":["*"],"routes":[
			{"match":{"prefix":"/a"},"route":{"weighted_clusters":{"clusters":[{"name":"c1","weight":1}]},"request_mirror_policy":{"cluster":"m1"}}}]}]}`,
			[]string{"CDS c1 traffic", "CDS m1 traffic", "VHDS r1 ads"},
		},
		"a virtual host": {
			`{"@type":"#envoy.config.route.v3.VirtualHost","name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"route":{"cluster":"c1"}}]}`,
			[]string{"CDS c1 traffic"},
		},
		"a virtual host, version 2": {
			`{"@type":"#envoy.api.v2.route.VirtualHost","name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"route":{"cluster":"c1"}}]}`,
			[]string{"CDS c1 traffic"},
		},
		"a scope": {
			`{"@type":"#envoy.config.route.v3.ScopedRouteConfiguration","name":"s","route_configuration_name":"r1","key":{"fragments":[{"string_key":"a"}]}}`,
			[]string{"RDS r1"},
		},
		"a scope, version 2": {
			`{"@type":"#envoy.api.v2.ScopedRouteConfiguration","name":"s","route_configuration_name":"r1","key":{"fragments":[{"string_key":"a"}]}}`,
			[]string{"RDS r1"},
		},
		"a scope with its routes": {
			`{"@type":"#envoy.config.route.v3.ScopedRouteConfiguration","name":"s","route_configuration":{"name":"r","virtual_hosts":[{"name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"route":{"cluster":"c1"}}]}]}}`,
			[]string{"CDS c1 traffic"},
		},
		"a cluster": {
			`{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","type":"EDS","eds_cluster_config":{"eds_config":ads},
			"transport_socket":{"name":"tls","typed_config":{"@type":"#envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext","common_tls_context":{
			"combined_validation_context":{"default_validation_context":{},"validation_context_sds_secret_config":{"name":"ca","sds_config":ads}}}}}}`,
			[]string{"EDS c1 ads", "SDS ca ads"},
		},
		"a cluster, version 2": {
			`{"@type":"#envoy.api.v2.Cluster","name":"c1","type":"EDS","eds_cluster_config":{"eds_config":ads,"service_name":"s1"},
			"tls_context":{"common_tls_context":{"validation_context_sds_secret_config":{"name":"ca","sds_config":ads}}}}`,
			[]string{"EDS s1 ads", "SDS ca ads"},
		},
		"a cluster of another type": {
			`{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","type":"STATIC","eds_cluster_config":{"eds_config":ads}}`, nil,
		},
		"an aggregate": {
			`{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","cluster_type":{"name":"envoy.clusters.aggregate","typed_config":{"@type":"#envoy.extensions.clusters.aggregate.v3.ClusterConfig","clusters":["a","b"]}}}`,
			[]string{"CDS a member", "CDS b member"},
		},
		"an aggregate, version 2": {
			`{"@type":"#envoy.api.v2.Cluster","name":"c1","cluster_type":{"name":"envoy.clusters.aggregate","typed_config":{"@type":"#envoy.config.cluster.aggregate.v2alpha.ClusterConfig","clusters":["a","b"]}}}`,
			[]string{"CDS a member", "CDS b member"},
		},
		"endpoints by locality": {
			`{"@type":"#envoy.config.endpoint.v3.ClusterLoadAssignment","cluster_name":"e1","endpoints":[{"leds_cluster_locality_config":{"leds_config":ads,"leds_collection_name":"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/g/*"}}]}`,
			[]string{"LEDS xdstp://a/envoy.config.endpoint.v3.LbEndpoint/g/* ads"},
		},
		"endpoints, version 2": {
			`{"@type":"#envoy.api.v2.ClusterLoadAssignment","cluster_name":"e1","endpoints":[{"lb_endpoints":[{"endpoint":{"address":{"socket_address":{"address":"1.2.3.4","port_value":80}}}}]}]}`, nil,
		},
	} {
		f := inspected(t, c.text)
		if diff := cmp.Diff(c.want, refs(f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		if f.Undecodable != "" || !f.Known {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// A cluster says how long its endpoints are waited for.
func TestInspectPatience(t *testing.T) {
	for source, want := range map[string]bool{
		`{"ads":{}}`: false,
		`{"ads":{},"initial_fetch_timeout":"0s"}`:    true,
		`{"ads":{},"initial_fetch_timeout":"0.5s"}`:  false,
		`{"ads":{},"initial_fetch_timeout":"60s"}`:   true,
		`{"ads":{},"initial_fetch_timeout":"15.9s"}`: false, // the default is 15 s
		`{"ads":{},"initial_fetch_timeout":"16s"}`:   true,
	} {
		f := inspected(t, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","type":"EDS","eds_cluster_config":{"eds_config":`+source+`}}`)
		if f.Patient != want {
			t.Errorf("%s: %v", source, f.Patient)
		}
	}
}

func TestInspectNames(t *testing.T) {
	for text, want := range map[string]string{
		`{"@type":"#envoy.config.endpoint.v3.ClusterLoadAssignment","cluster_name":"e1"}`:                                                       "e1",
		`{"@type":"#envoy.api.v2.ClusterLoadAssignment","cluster_name":"e1"}`:                                                                   "e1",
		`{"@type":"#envoy.extensions.transport_sockets.tls.v3.Secret","name":"s1"}`:                                                             "s1",
		`{"@type":"#envoy.api.v2.auth.Secret","name":"s1"}`:                                                                                     "s1",
		`{"@type":"#envoy.service.runtime.v3.Runtime","name":"t1","layer":{"a":1}}`:                                                             "t1",
		`{"@type":"#envoy.service.discovery.v2.Runtime","name":"t1"}`:                                                                           "t1",
		`{"@type":"#envoy.config.core.v3.TypedExtensionConfig","name":"x1","typed_config":{"@type":"#google.protobuf.BoolValue","value":true}}`: "x1",
		`{"@type":"#envoy.config.route.v3.ScopedRouteConfiguration","name":"p1"}`:                                                               "p1",
		`{"@type":"#envoy.config.route.v3.VirtualHost","name":"v1"}`:                                                                            "v1",
		`{"@type":"#envoy.config.listener.v3.Listener","name":"l1"}`:                                                                            "l1",
	} {
		if f := inspected(t, text); f.Name != want || !f.Named {
			t.Errorf("%s: %q, named %v", text, f.Name, f.Named)
		}
	}
	f := inspected(t, `{"@type":"#envoy.config.endpoint.v3.LbEndpoint","endpoint":{"hostname":"h"}}`)
	if f.Name != "" || f.Named || !f.Known {
		t.Errorf("an endpoint: %+v", f)
	}
	f = inspect.New(nil).Inspect("a.b/c.d.E", []byte("\x0a\x01x"), false)
	if f.Name != "" || f.Named || f.Known || f.Hash == [16]byte{} {
		t.Errorf("an unknown type: %+v", f)
	}
}

func TestInspectScopeKey(t *testing.T) {
	key := func(fragments string) string {
		f := inspected(t, `{"@type":"#envoy.config.route.v3.ScopedRouteConfiguration","name":"s","route_configuration_name":"r","key":{"fragments":[`+fragments+`]}}`)
		return f.ScopeKey
	}
	if got := key(`{"string_key":"a,b"},{"string_key":"c"}`); got != `"a,b","c"` {
		t.Error(got)
	}
	if a, b := key(`{"string_key":"a"},{"string_key":"b"}`), key(`{"string_key":"a\",\"b"}`); a == b {
		t.Errorf("two keys are one: %s", a)
	}
}

func TestInspectForGRPC(t *testing.T) {
	rds := func(source string) string {
		return `{"@type":"#envoy.config.listener.v3.Listener","name":"l1","api_listener":{"api_listener":` + hcmV3 + `"rds":{"route_config_name":"r1","config_source":` + source + `}}}}`
	}
	const cluster = `{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1",`
	for text, want := range map[string]string{
		rds(`{"ads":{}}`):    "",
		rds(`{"self":{}}`):   "",
		rds(`{"path":"/x"}`): "api_listener.api_listener.rds: the config source is neither ads nor self",
		rds(`{"api_config_source":{"api_type":"AGGREGATED_GRPC"}}`):                 "api_listener.api_listener.rds: the config source is neither ads nor self",
		cluster + `"type":"EDS","eds_cluster_config":{"eds_config":ads}}`:           "",
		cluster + `"type":"EDS","eds_cluster_config":{"eds_config":{"self":{}}}}`:   "",
		cluster + `"type":"EDS","eds_cluster_config":{"eds_config":{"path":"/x"}}}`: "eds_cluster_config.eds_config: the config source is neither ads nor self",
		cluster + `"type":"EDS"}`:                                  "eds_cluster_config.eds_config: the config source is neither ads nor self",
		cluster + `"type":"LOGICAL_DNS"}`:                          "",
		cluster + `"type":"STATIC"}`:                               "the cluster is neither EDS nor LOGICAL_DNS nor an aggregate",
		cluster + `"type":"LOGICAL_DNS","lrs_server":{"self":{}}}`: "",
		cluster + `"type":"LOGICAL_DNS","lrs_server":ads}`:         "lrs_server: the config source is not self",
		cluster + `"cluster_type":{"name":"envoy.clusters.aggregate","typed_config":{"@type":"#envoy.extensions.clusters.aggregate.v3.ClusterConfig","clusters":["a"]}}}`: "",
		cluster + `"cluster_type":{"name":"x","typed_config":{"@type":"#envoy.extensions.clusters.redis.v3.RedisClusterConfig"}}}`:                                        "the cluster is neither EDS nor LOGICAL_DNS nor an aggregate",
		`{"@type":"#envoy.config.listener.v3.Listener","name":"l1","listener_filters":[{"name":"a"}]}`:                                                                    "listener_filters are set",
		`{"@type":"#envoy.config.listener.v3.Listener","name":"l1","use_original_dst":true}`:                                                                              "use_original_dst is set",
		`{"@type":"#envoy.config.listener.v3.Listener","name":"l1","use_original_dst":false}`:                                                                             "",
	} {
		if got := strings.Join(inspected(t, text).GRPCProblems, "|"); got != want {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
	if f := inspected(t, cluster+`"type":"EDS","eds_cluster_config":{"eds_config":ads}}`); !f.EDS {
		t.Error("a cluster with EDS is not said to be one")
	}
	// Of many problems the first eight are told.
	for n, want := range map[int]int{7: 7, 8: 8, 9: 8} {
		var chains []string
		for i := range n {
			chains = append(chains, fmt.Sprintf(`{"filters":[{"name":"f","typed_config":`+hcmV3+`"rds":{"route_config_name":"r%d","config_source":{"path":"/x"}}}}]}`, i))
		}
		text := `{"@type":"#envoy.config.listener.v3.Listener","name":"l1","filter_chains":[` + strings.Join(chains, ",") + `]}`
		if got := inspected(t, text).GRPCProblems; len(got) != want || !strings.HasPrefix(got[want-1], fmt.Sprintf("filter_chains[%d].", want-1)) {
			t.Errorf("of %d problems there are %q", n, got)
		}
	}
}

func TestInspectUnknown(t *testing.T) {
	field := func(num protowire.Number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), 7)
	}
	cluster := resource(t, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","type":"STATIC","circuit_breakers":{"thresholds":[{"max_retries":1}]}}`)
	cluster.Value = append(cluster.Value, field(9999)...)
	nested := []byte(strings.Replace(string(resource(t, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","transport_socket":{"name":"t","typed_config":{"@type":"#envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"}}}`).Value),
		"RawBuffer", "RawBuffet", 1))
	for what, c := range map[string]struct {
		typ  string
		body []byte
		want []string
	}{
		"a field":      {cluster.TypeUrl, cluster.Value, []string{"unknown field 9999"}},
		"a deep field": {cluster.TypeUrl, protowire.AppendBytes(protowire.AppendTag(nil, 10, 2), protowire.AppendBytes(protowire.AppendTag(nil, 1, 2), field(99))), []string{"circuit_breakers.thresholds[0]: unknown field 99"}},
		"a type":       {cluster.TypeUrl, nested, []string{`transport_socket.typed_config: unknown type "envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffet"`}},
		"a wire type":  {cluster.TypeUrl, field(1), []string{"name: wire type 0"}},
		"deprecated":   {cluster.TypeUrl, resource(t, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","http2_protocol_options":{},"transport_socket_matches":[]}`).Value, nil},
		"a map":        {cluster.TypeUrl, resource(t, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1"}`).Value, nil},
	} {
		f := inspect.New(nil).Inspect(c.typ, c.body, false)
		if diff := cmp.Diff(c.want, f.Unknown); diff != "" || f.Undecodable != "" {
			t.Errorf("%s (-want +got):\n%s%s", what, diff, f.Undecodable)
		}
	}
	old := resource(t, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","http2_protocol_options":{},"protocol_selection":"USE_CONFIGURED_PROTOCOL","load_assignment":{"endpoints":[{"load_balancer_endpoints":{}}]}}`).Value
	if diff := cmp.Diff([]string{"http2_protocol_options", "load_assignment.endpoints[0].load_balancer_endpoints"}, inspect.New(nil).Inspect(cluster.TypeUrl, old, false).Deprecated); diff != "" {
		t.Errorf("deprecated (-want +got):\n%s", diff)
	}
	many := []byte(nil)
	for i := range 100 {
		many = append(many, field(protowire.Number(5000+i))...)
	}
	if f := inspect.New(nil).Inspect(cluster.TypeUrl, many, false); len(f.Unknown) != 8 {
		t.Errorf("%d are unknown", len(f.Unknown))
	}
}

func TestInspectInvalid(t *testing.T) {
	for text, want := range map[string][]string{
		`{"@type":"#envoy.config.cluster.v3.Cluster","name":"c1","connect_timeout":"-1s"}`: {"connect_timeout: value must be greater than 0s"},
		`{"@type":"#envoy.api.v2.Cluster","name":"c1","connect_timeout":"-1s"}`:            {"connect_timeout: value must be greater than 0s"},
		`{"@type":"#envoy.config.cluster.v3.Cluster","name":"","health_checks":[{"timeout":"1s"}]}`: {
			"name: value length must be at least 1 characters", "health_checks[0].interval: value is required", "health_checks[0].unhealthy_threshold: value is required", "health_checks[0].healthy_threshold: value is required",
		},
		listener3 + `{"@type":"#envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy","cluster":"c"}` + end: {
			"filter_chains[0].filters[0].typed_config.stat_prefix: value length must be at least 1 characters",
		},
		`{"@type":"#envoy.config.core.v3.Metadata","filter_metadata":{"":{}}}`: {"filter_metadata[]: value length must be at least 1 characters"},
	} {
		f := inspected(t, text)
		got := slices.Clone(f.Invalid)
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "runes", "characters")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		a := resource(t, text)
		if f := inspect.New(nil).Inspect(a.TypeUrl, a.Value, true); len(f.Invalid) > 0 {
			t.Errorf("%s, masked: %q", text, f.Invalid)
		}
	}
}

func TestInspectUndecodable(t *testing.T) {
	a := resource(t, listener3+hcmV3+`"rds":{"route_config_name":"r1","config_source":ads}}`+end)
	torn := []byte(strings.Replace(string(a.Value), "\x02r1", "\x7fr1", 1))
	f := inspect.New(nil).Inspect(a.TypeUrl, torn, false)
	if !strings.HasPrefix(f.Undecodable, "filter_chains[0].filters[0].typed_config.rds: field 2 is 127 bytes long") || len(f.Refs) > 0 {
		t.Errorf("%+v", f)
	}
	f = inspect.New(nil).Inspect(a.TypeUrl, []byte("\x0a\x01\xff"), false)
	if f.Undecodable != "name: the string is not valid UTF-8" {
		t.Errorf("%+v", f)
	}
	in := inspect.New(nil)
	first, second := in.Inspect(a.TypeUrl, torn, false), in.Inspect(a.TypeUrl, torn[:9], false)
	if first.Hash == second.Hash {
		t.Error("different bytes have one hash")
	}
	deep := []byte("\x08\x01")
	for range 120 {
		deep = protowire.AppendBytes(protowire.AppendTag(nil, 1, 2), protowire.AppendBytes(protowire.AppendTag(nil, 6, 2), deep))
	}
	if f := in.Inspect("a/google.protobuf.ListValue", deep, false); !strings.HasSuffix(f.Undecodable, "nested deeper than 100 messages") {
		t.Errorf("%+v", f)
	}
}

// REST has the resource as JSON: its facts and its hash are those of the bytes.
func TestInspectJSON(t *testing.T) {
	text := `{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c1","type":"EDS","eds_cluster_config":{"eds_config":{"ads":{}}}}`
	in := inspect.New(nil)
	a := resource(t, text)
	fromJSON, fromProto := in.Inspect(a.TypeUrl, []byte(text), false), in.Inspect(a.TypeUrl, a.Value, false)
	if diff := cmp.Diff(fromProto, fromJSON); diff != "" {
		t.Error(diff)
	}
	if f := in.Inspect(a.TypeUrl, []byte(strings.Replace(text, "name", "nome", 1)), false); len(f.Unknown) != 1 || !f.EDS {
		t.Errorf("an unknown field: %+v", f)
	}
	if f := in.Inspect(a.TypeUrl, []byte(strings.Replace(text, `"EDS"`, `{}`, 1)), false); f.Undecodable == "" {
		t.Errorf("not a cluster: %+v", f)
	}
	odd := `{"@type":"type.googleapis.com/envoy.config.cluster.v3.Cluster","name":"c1","transport_socket":{"typed_config":{"@type":"a/x.Y"}}}`
	if f := in.Inspect(a.TypeUrl, []byte(odd), false); f.Undecodable != "" || len(f.Unknown) != 1 {
		t.Errorf("an unknown type: %+v", f)
	}
}

func TestInspectDeduplicates(t *testing.T) {
	var routes []string
	for i := range 500 {
		routes = append(routes, `{"match":{"prefix":"/"},"route":{"cluster":"c`+string(rune('a'+i%26))+`"}}`)
	}
	a := resource(t, `{"@type":"#envoy.config.route.v3.RouteConfiguration","name":"r1","virtual_hosts":[{"name":"v","domains":["*"],"routes":[`+strings.Join(routes, ",")+`]}]}`)
	in := inspect.New(nil)
	for range 2 { // the second time with what the first left behind
		if f := in.Inspect(a.TypeUrl, a.Value, false); len(f.Refs) != 26 {
			t.Errorf("%d references", len(f.Refs))
		}
	}
}

// Of a map key that comes twice the last value counts, as for every decoder of
// protobuf: what the first one said is no content.
func TestInspectMapKeyTwice(t *testing.T) {
	with := func(name, value string) []byte {
		return resource(t, `{"@type":"#envoy.config.cluster.v3.Cluster","name":"`+name+`","typed_extension_protocol_options":{"k":{"@type":"#google.protobuf.StringValue","value":"`+value+`"}}}`).Value
	}
	hash := func(body []byte) [16]byte {
		return inspect.New(nil).Inspect("type.googleapis.com/envoy.config.cluster.v3.Cluster", body, false).Hash
	}
	old, last := hash(with("c", "old")), hash(with("c", "last"))
	if twice := hash(append(with("c", "old"), with("c", "last")...)); twice != last || twice == old {
		t.Errorf("of two the content is %x, of the first alone %x, of the last alone %x", twice, old, last)
	}
}

// What the client looks up before it accepts the resource, and where clusters are
// asked for on demand.
func TestInspectProvenClusters(t *testing.T) {
	const hosts = `"virtual_hosts":[{"name":"v","domains":["*"],"routes":[{"match":{"prefix":"/"},"route":{"cluster":"c1","request_mirror_policies":[{"cluster":"c2"}]}}]}]`
	const proxy = `{"name":"p","typed_config":{"@type":"#envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy","stat_prefix":"s","cluster":"c3"`
	for what, c := range map[string]struct {
		text     string
		proven   []string
		onDemand bool
	}{
		"routes within a listener": {
			text:   listener3 + hcmV3 + `"route_config":{` + hosts + `}}},` + proxy + `}}]}]}`,
			proven: []string{"c1", "c2"},
		},
		"not looked up":         {text: listener3 + hcmV3 + `"route_config":{"validate_clusters":false,` + hosts + `}}` + end},
		"on their own":          {text: `{"@type":"#envoy.config.route.v3.RouteConfiguration",` + hosts + `}`},
		"version 2":             {text: listener2 + hcmV2 + `"route_config":{` + hosts + `}}` + end, proven: []string{"c1", "c2"}},
		"on their own, but yes": {text: `{"@type":"#envoy.config.route.v3.RouteConfiguration","validate_clusters":true,` + hosts + `}`, proven: []string{"c1", "c2"}},
		"on demand": {
			text:     listener3 + hcmV3 + `"http_filters":[{"name":"d","typed_config":{"@type":"#envoy.extensions.filters.http.on_demand.v3.OnDemand","odcds":{"source":ads}}},` + router3 + `]}` + end,
			onDemand: true,
		},
		"only virtual hosts on demand": {
			text: listener3 + hcmV3 + `"http_filters":[{"name":"d","typed_config":{"@type":"#envoy.extensions.filters.http.on_demand.v3.OnDemand"}},` + router3 + `]}` + end,
		},
		"of a TCP proxy": {
			text:     `{"@type":"#envoy.config.listener.v3.Listener","name":"l1","filter_chains":[{"filters":[` + proxy + `,"on_demand":{"odcds_config":ads}}}]}]}`,
			onDemand: true,
		},
	} {
		t.Run(what, func(t *testing.T) {
			f := inspected(t, c.text)
			if !slices.Equal(f.Proven, c.proven) || f.OnDemand != c.onDemand || f.Undecodable != "" {
				t.Errorf("proven %q, on demand %v, %s", f.Proven, f.OnDemand, f.Undecodable)
			}
		})
	}
}

func TestInspectPlaces(t *testing.T) {
	a := resource(t, `{"@type":"#envoy.config.route.v3.RouteConfiguration","virtual_hosts":[{"name":"v","domains":["*"],"routes":[
		{"match":{"prefix":"/a"},"route":{"cluster":"c1"}},
		{"match":{"prefix":"/"},"route":{"weighted_clusters":{"clusters":[{"name":"c2","weight":1},{"name":"c3","weight":1}]},"request_mirror_policies":[{"cluster":"c1"}]}}]}]}`)
	in := inspect.New(nil)
	got := in.Places(a.TypeUrl, a.Value, false, []string{"c1", "c3", "c4"})
	want := map[string]string{
		"c1": "virtual_hosts[0].routes[0].route.cluster",
		"c3": "virtual_hosts[0].routes[1].route.weighted_clusters.clusters[1].name",
		"c4": "",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if f := in.Inspect(a.TypeUrl, a.Value, false); len(f.Refs) != 3 {
		t.Errorf("then %d references", len(f.Refs))
	}
}
