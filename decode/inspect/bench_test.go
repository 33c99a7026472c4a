package inspect_test

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/inspect"
)

func fromJSON(t testing.TB, msg proto.Message, text string) *anypb.Any {
	t.Helper()
	if err := protojson.Unmarshal([]byte(text), msg); err != nil {
		t.Fatal(err)
	}
	return packed(t, msg)
}

func packed(t testing.TB, msg proto.Message) *anypb.Any {
	t.Helper()
	a := &anypb.Any{}
	if err := anypb.MarshalFrom(a, msg, proto.MarshalOptions{Deterministic: true, AllowPartial: true}); err != nil {
		t.Fatal(err)
	}
	return a
}

func BenchmarkInspect(b *testing.B) {
	for name, a := range map[string]*anypb.Any{
		"cluster":  fromJSON(b, &clusterv3.Cluster{}, sidecarCluster),
		"listener": fromJSON(b, &listenerv3.Listener{}, sidecarListener),
	} {
		b.Run(name, func(b *testing.B) {
			in := inspect.New(nil)
			b.SetBytes(int64(len(a.Value)))
			b.ReportAllocs()
			for b.Loop() {
				if f := in.Inspect(a.TypeUrl, a.Value, false); f.Undecodable != "" || len(f.Invalid)+len(f.Unknown)+len(f.Deprecated) > 0 || len(f.Refs) == 0 {
					b.Fatalf("%+v", f)
				}
			}
		})
		b.Run(name+"/unmarshal", func(b *testing.B) { // for comparison, without what is in Any
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.UnmarshalNew(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// As istiod sends them to a sidecar.
const sidecarCluster = `{
	"name": "outbound|8080||payments.shop.svc.cluster.local",
	"alt_stat_name": "outbound|8080||payments.shop.svc.cluster.local;",
	"type": "EDS",
	"eds_cluster_config": {
		"eds_config": {"ads": {}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"},
		"service_name": "outbound|8080||payments.shop.svc.cluster.local"
	},
	"connect_timeout": "10s",
	"lb_policy": "LEAST_REQUEST",
	"circuit_breakers": {"thresholds": [{
		"max_connections": 4294967295, "max_pending_requests": 4294967295, "max_requests": 4294967295, "max_retries": 4294967295, "track_remaining": true
	}]},
	"common_lb_config": {"locality_weighted_lb_config": {}},
	"typed_extension_protocol_options": {"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
		"@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
		"explicit_http_config": {"http2_protocol_options": {"max_concurrent_streams": 1073741824}}
	}},
	"metadata": {"filter_metadata": {"istio": {
		"services": [{"host": "payments.shop.svc.cluster.local", "name": "payments", "namespace": "shop"}],
		"default_original_port": 8080, "alpn_override": "true"
	}}},
	"transport_socket_matches": [{
		"name": "tlsMode-istio", "match": {"tlsMode": "istio"},
		"transport_socket": {"name": "envoy.transport_sockets.tls", "typed_config": {
			"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
			"common_tls_context": {
				"tls_params": {"tls_minimum_protocol_version": "TLSv1_2", "tls_maximum_protocol_version": "TLSv1_3"},
				"alpn_protocols": ["istio-peer-exchange", "istio"],
				"tls_certificate_sds_secret_configs": [{"name": "default", "sds_config": {"ads": {}}}],
				"combined_validation_context": {
					"default_validation_context": {"match_typed_subject_alt_names": [
						{"san_type": "URI", "matcher": {"exact": "spiffe://cluster.local/ns/shop/sa/payments"}}
					]},
					"validation_context_sds_secret_config": {"name": "ROOTCA", "sds_config": {"ads": {}}}
				}
			},
			"sni": "outbound_.8080_._.payments.shop.svc.cluster.local"
		}}
	}, {
		"name": "tlsMode-disabled", "match": {},
		"transport_socket": {"name": "envoy.transport_sockets.raw_buffer", "typed_config": {
			"@type": "type.googleapis.com/envoy.extensions.transport_sockets.raw_buffer.v3.RawBuffer"
		}}
	}]
}`

const sidecarListener = `{
	"name": "0.0.0.0_8080",
	"address": {"socket_address": {"address": "0.0.0.0", "port_value": 8080}},
	"traffic_direction": "OUTBOUND",
	"bind_to_port": false,
	"continue_on_listener_filters_timeout": true,
	"listener_filters_timeout": "0s",
	"listener_filters": [
		{"name": "envoy.filters.listener.tls_inspector", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"}},
		{"name": "envoy.filters.listener.http_inspector", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.listener.http_inspector.v3.HttpInspector"}}
	],
	"metadata": {"filter_metadata": {"istio": {"services": [{"host": "payments.shop.svc.cluster.local", "name": "payments", "namespace": "shop"}, {"host": "search.shop.svc.cluster.local", "name": "search", "namespace": "shop"}]}}},
	"filter_chains": [{
		"filter_chain_match": {"transport_protocol": "raw_buffer", "application_protocols": ["http/1.1", "h2c"]},
		"filters": [{
			"name": "envoy.filters.network.http_connection_manager",
			"typed_config": {
				"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
				"stat_prefix": "outbound_0.0.0.0_8080",
				"rds": {"config_source": {"ads": {}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"}, "route_config_name": "8080"},
				"http_filters": [
					{"name": "istio.metadata_exchange", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC", "rules": {"policies": {
						"ns[shop]-policy[payments]-rule[0]": {
							"permissions": [{"and_rules": {"rules": [{"or_rules": {"rules": [{"header": {"name": ":method", "string_match": {"exact": "GET"}}}, {"header": {"name": ":method", "string_match": {"exact": "POST"}}}]}}, {"url_path": {"path": {"prefix": "/api/v1/payments/"}}}]}}],
							"principals": [{"and_ids": {"ids": [{"or_ids": {"ids": [{"authenticated": {"principal_name": {"exact": "spiffe://cluster.local/ns/shop/sa/front"}}}, {"authenticated": {"principal_name": {"exact": "spiffe://cluster.local/ns/shop/sa/admin"}}}]}}]}}]
						}
					}}}},
					{"name": "envoy.filters.http.grpc_stats", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.grpc_stats.v3.FilterConfig", "emit_filter_state": true, "stats_for_all_methods": false}},
					{"name": "istio.alpn", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.header_to_metadata.v3.Config", "request_rules": [
						{"header": "x-request-id", "on_header_present": {"metadata_namespace": "envoy.lb", "key": "request-id", "type": "STRING"}},
						{"header": "x-shop-tenant", "on_header_present": {"metadata_namespace": "envoy.lb", "key": "tenant", "type": "STRING"}, "on_header_missing": {"metadata_namespace": "envoy.lb", "key": "tenant", "value": "none"}}
					]}},
					{"name": "envoy.filters.http.fault", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault"}},
					{"name": "envoy.filters.http.cors", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors"}},
					{"name": "istio.stats", "config_discovery": {"config_source": {"ads": {}, "initial_fetch_timeout": "0s", "resource_api_version": "V3"}, "type_urls": ["type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"]}},
					{"name": "envoy.filters.http.router", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}
				],
				"tracing": {"client_sampling": {"value": 100}, "random_sampling": {"value": 1}, "overall_sampling": {"value": 100}, "custom_tags": [
					{"tag": "istio.authorization.dry_run.allow_policy.name", "metadata": {"kind": {"request": {}}, "metadata_key": {"key": "envoy.filters.http.rbac", "path": [{"key": "istio_dry_run_allow_shadow_effective_policy_id"}]}}},
					{"tag": "istio.authorization.dry_run.deny_policy.name", "metadata": {"kind": {"request": {}}, "metadata_key": {"key": "envoy.filters.http.rbac", "path": [{"key": "istio_dry_run_deny_shadow_effective_policy_id"}]}}},
					{"tag": "istio.canonical_revision", "literal": {"value": "latest"}},
					{"tag": "istio.canonical_service", "literal": {"value": "front"}},
					{"tag": "istio.mesh_id", "literal": {"value": "cluster.local"}},
					{"tag": "istio.namespace", "literal": {"value": "shop"}}
				]},
				"access_log": [{"name": "envoy.access_loggers.file", "typed_config": {
					"@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog", "path": "/dev/stdout",
					"log_format": {"text_format_source": {"inline_string": "[%START_TIME%] \"%REQ(:METHOD)% %REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL%\" %RESPONSE_CODE% %RESPONSE_FLAGS% %RESPONSE_CODE_DETAILS% %CONNECTION_TERMINATION_DETAILS% \"%UPSTREAM_TRANSPORT_FAILURE_REASON%\" %BYTES_RECEIVED% %BYTES_SENT% %DURATION% %RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)% \"%REQ(X-FORWARDED-FOR)%\" \"%REQ(USER-AGENT)%\" \"%REQ(X-REQUEST-ID)%\" \"%REQ(:AUTHORITY)%\" \"%UPSTREAM_HOST%\" %UPSTREAM_CLUSTER_RAW% %UPSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_LOCAL_ADDRESS% %DOWNSTREAM_REMOTE_ADDRESS% %REQUESTED_SERVER_NAME% %ROUTE_NAME%\n"}}
				}}],
				"use_remote_address": false,
				"upgrade_configs": [{"upgrade_type": "websocket"}],
				"stream_idle_timeout": "0s",
				"normalize_path": true,
				"request_id_extension": {"typed_config": {"@type": "type.googleapis.com/envoy.extensions.request_id.uuid.v3.UuidRequestIdConfig", "use_request_id_for_trace_sampling": true}},
				"path_with_escaped_slashes_action": "KEEP_UNCHANGED"
			}
		}]
	}],
	"default_filter_chain": {
		"filter_chain_match": {},
		"filters": [
			{"name": "istio.stats", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC", "stat_prefix": "tcp."}},
			{"name": "envoy.filters.network.tcp_proxy", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy", "stat_prefix": "PassthroughCluster", "cluster": "PassthroughCluster"}}
		],
		"name": "PassthroughFilterChain"
	}
}`
