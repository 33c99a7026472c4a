package inspect

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// refType says how messages of one type refer to resources.
type refType struct {
	kind refKind
	typ  string // of what they refer to
	// name and source are fields of the message.
	name, source protowire.Number
	ahead        bool // fetched before it is needed
}

type refKind uint8

const (
	refNamed     refKind = iota // a name and the ConfigSource for it
	refDiscovery                // a name and an ExtensionConfigSource for it
	refRoutes                   // a RouteConfiguration, and its Vhds
	refListener
	refCluster
	refScopes
	refScope
	refOnDemand
	refWeight // a cluster with a weight among others
)

// namedRefs are the messages that name a resource beside its ConfigSource:
// type of the resource, field with the name, field with the source.
var namedRefs = map[string][3]string{
	"envoy.extensions.filters.network.http_connection_manager.v3.Rds":                  {"RDS", "route_config_name", "config_source"},
	"envoy.config.filter.network.http_connection_manager.v2.Rds":                       {"RDS", "route_config_name", "config_source"},
	"envoy.extensions.filters.network.http_connection_manager.v3.ScopedRds":            {"SRDS", "srds_resources_locator", "scoped_rds_config_source"},
	"envoy.config.filter.network.http_connection_manager.v2.ScopedRds":                 {"SRDS", "", "scoped_rds_config_source"},
	"envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig":                        {"SDS", "name", "sds_config"},
	"envoy.api.v2.auth.SdsSecretConfig":                                                {"SDS", "name", "sds_config"},
	"envoy.extensions.transport_sockets.tls.cert_selectors.on_demand_secret.v3.Config": {"SDS", "prefetch_secret_names", "config_source"},
	"envoy.config.endpoint.v3.LedsClusterLocalityConfig":                               {"LEDS", "leds_collection_name", "leds_config"},
	"envoy.extensions.clusters.aggregate.v3.AggregateClusterResource":                  {"CDS", "resource_name", "config_source"},
}

// otherRefs are the messages that need more than that.
var otherRefs = map[string]refKind{
	"envoy.config.listener.v3.Listener": refListener,
	"envoy.api.v2.Listener":             refListener,
	"envoy.config.cluster.v3.Cluster":   refCluster,
	"envoy.api.v2.Cluster":              refCluster,
	"envoy.extensions.filters.network.http_connection_manager.v3.ScopedRoutes": refScopes,
	"envoy.config.filter.network.http_connection_manager.v2.ScopedRoutes":      refScopes,
	"envoy.config.route.v3.ScopedRouteConfiguration":                           refScope,
	"envoy.api.v2.ScopedRouteConfiguration":                                    refScope,
	"envoy.extensions.filters.http.on_demand.v3.OnDemandCds":                   refOnDemand,
	"envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.OnDemand":          refOnDemand,
	"envoy.config.route.v3.WeightedCluster.ClusterWeight":                      refWeight,
	"envoy.api.v2.route.WeightedCluster.ClusterWeight":                         refWeight,
}

// extensionSource is the type by which a message says that the configuration of
// the extension that it names comes by ECDS.
const extensionSource = "envoy.config.core.v3.ExtensionConfigSource"

// useOf are the fields that name clusters. Names that only a program of its
// own makes (of Lua, Wasm, plugins) and headers that name clusters are not
// known here.
var useOf = map[string]Use{
	"envoy.config.route.v3.RouteAction.cluster":                     UseTraffic,
	"envoy.config.route.v3.WeightedCluster.ClusterWeight.name":      UseTraffic,
	"envoy.config.route.v3.RouteAction.RequestMirrorPolicy.cluster": UseTraffic,
	"envoy.api.v2.route.RouteAction.cluster":                        UseTraffic,
	"envoy.api.v2.route.WeightedCluster.ClusterWeight.name":         UseTraffic,
	"envoy.api.v2.route.RouteAction.RequestMirrorPolicy.cluster":    UseTraffic,

	"envoy.extensions.router.cluster_specifiers.matcher.v3.ClusterAction.cluster":             UseTraffic,
	"envoy.extensions.router.cluster_specifiers.priority_group.v3.ClusterWeight.cluster_name": UseTraffic,
	"envoy.extensions.router.cluster_specifiers.lua.v3.LuaConfig.default_cluster":             UseTraffic,
	"envoy.extensions.router.cluster_specifier.golang.v3alpha.Config.default_cluster":         UseTraffic,

	"envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.cluster":                                            UseTraffic,
	"envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy.WeightedCluster.ClusterWeight.name":                 UseTraffic,
	"envoy.config.filter.network.tcp_proxy.v2.TcpProxy.cluster":                                                 UseTraffic,
	"envoy.config.filter.network.tcp_proxy.v2.TcpProxy.WeightedCluster.ClusterWeight.name":                      UseTraffic,
	"envoy.config.filter.network.tcp_proxy.v2.TcpProxy.DeprecatedV1.TCPRoute.cluster":                           UseTraffic,
	"envoy.extensions.filters.udp.udp_proxy.v3.Route.cluster":                                                   UseTraffic,
	"envoy.extensions.filters.udp.udp_proxy.v3.UdpProxyConfig.cluster":                                          UseTraffic,
	"envoy.config.filter.udp.udp_proxy.v2alpha.UdpProxyConfig.cluster":                                          UseTraffic,
	"envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.PrefixRoutes.Route.cluster":                     UseTraffic,
	"envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.PrefixRoutes.Route.RequestMirrorPolicy.cluster": UseTraffic,
	"envoy.extensions.filters.network.redis_proxy.v3.RedisProxy.PrefixRoutes.Route.ReadCommandPolicy.cluster":   UseTraffic,
	"envoy.config.filter.network.redis_proxy.v2.RedisProxy.cluster":                                             UseTraffic,
	"envoy.config.filter.network.redis_proxy.v2.RedisProxy.PrefixRoutes.catch_all_cluster":                      UseTraffic,
	"envoy.config.filter.network.redis_proxy.v2.RedisProxy.PrefixRoutes.Route.cluster":                          UseTraffic,
	"envoy.config.filter.network.redis_proxy.v2.RedisProxy.PrefixRoutes.Route.RequestMirrorPolicy.cluster":      UseTraffic,
	"envoy.extensions.filters.network.thrift_proxy.v3.RouteAction.cluster":                                      UseTraffic,
	"envoy.extensions.filters.network.thrift_proxy.v3.RouteAction.RequestMirrorPolicy.cluster":                  UseTraffic,
	"envoy.extensions.filters.network.thrift_proxy.v3.WeightedCluster.ClusterWeight.name":                       UseTraffic,
	"envoy.config.filter.network.thrift_proxy.v2alpha1.RouteAction.cluster":                                     UseTraffic,
	"envoy.config.filter.network.thrift_proxy.v2alpha1.WeightedCluster.ClusterWeight.name":                      UseTraffic,
	"envoy.extensions.filters.network.dubbo_proxy.v3.RouteAction.cluster":                                       UseTraffic,
	"envoy.config.filter.network.dubbo_proxy.v2alpha1.RouteAction.cluster":                                      UseTraffic,
	"envoy.extensions.filters.network.rocketmq_proxy.v3.RouteAction.cluster":                                    UseTraffic,
	"envoy.extensions.filters.network.sip_proxy.v3alpha.RouteAction.cluster":                                    UseTraffic,
	"envoy.extensions.filters.network.generic_proxy.action.v3.RouteAction.cluster":                              UseTraffic,
	"envoy.extensions.filters.http.mcp_router.v3.McpRouter.McpCluster.cluster":                                  UseTraffic,

	"envoy.extensions.clusters.aggregate.v3.ClusterConfig.clusters":                  UseMember,
	"envoy.config.cluster.aggregate.v2alpha.ClusterConfig.clusters":                  UseMember,
	"envoy.extensions.clusters.mcp_multicluster.v3.ClusterConfig.McpCluster.cluster": UseMember,

	"envoy.config.core.v3.GrpcService.EnvoyGrpc.cluster_name":                            UseService,
	"envoy.config.core.v3.HttpUri.cluster":                                               UseService,
	"envoy.config.core.v3.ApiConfigSource.cluster_names":                                 UseService,
	"envoy.api.v2.core.GrpcService.EnvoyGrpc.cluster_name":                               UseService,
	"envoy.api.v2.core.HttpUri.cluster":                                                  UseService,
	"envoy.api.v2.core.ApiConfigSource.cluster_names":                                    UseService,
	"envoy.config.trace.v3.ZipkinConfig.collector_cluster":                               UseService,
	"envoy.config.trace.v3.DatadogConfig.collector_cluster":                              UseService,
	"envoy.config.trace.v3.LightstepConfig.collector_cluster":                            UseService,
	"envoy.config.trace.v2.ZipkinConfig.collector_cluster":                               UseService,
	"envoy.config.trace.v2.DatadogConfig.collector_cluster":                              UseService,
	"envoy.config.trace.v2.LightstepConfig.collector_cluster":                            UseService,
	"envoy.extensions.access_loggers.fluentd.v3.FluentdAccessLogConfig.cluster":          UseService,
	"envoy.extensions.tracers.fluentd.v3.FluentdConfig.cluster":                          UseService,
	"envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig.cluster":            UseService,
	"envoy.extensions.filters.network.client_ssl_auth.v3.ClientSSLAuth.auth_api_cluster": UseService,
	"envoy.config.filter.network.client_ssl_auth.v2.ClientSSLAuth.auth_api_cluster":      UseService,
	"envoy.config.filter.http.squash.v2.Squash.cluster":                                  UseService,
}

// addRefs looks the type up in the tables above.
func (in *Inspector) addRefs(t *typeFacts) {
	number := func(name string) protowire.Number {
		if fd := t.md.Fields().ByName(protoreflect.Name(name)); fd != nil {
			return fd.Number()
		}
		return 0
	}
	if row, ok := namedRefs[t.name]; ok {
		t.refs = &refType{kind: refNamed, typ: row[0], name: number(row[1]), source: number(row[2])}
		t.refs.ahead = row[1] == "prefetch_secret_names"
	}
	if kind, ok := otherRefs[t.name]; ok {
		t.refs = &refType{kind: kind}
	}
	if n := number("vhds"); n != 0 && xds.TypeKey(t.name) == "RDS" {
		t.refs = &refType{kind: refRoutes, typ: "VHDS", name: number("name"), source: n}
	}
	for i := range t.fields {
		f := &t.fields[i]
		f.use = useOf[t.name+"."+f.name]
		if f.sub != nil && f.sub.name == extensionSource && !f.list {
			t.refs = &refType{kind: refDiscovery, typ: "ECDS", name: number("name"), source: f.num}
		}
	}
}
