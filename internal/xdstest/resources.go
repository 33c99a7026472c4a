package xdstest

import (
	"net/netip"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ADS says that a resource is to be asked for on the aggregated stream.
func ADS() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// Self says that a resource is to be asked for where its referrer came from.
// It is what gRPC clients want.
func Self() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_Self{Self: &corev3.SelfConfigSource{}},
	}
}

// PerType says that a resource is to be asked for on a stream of its own
// type's service, at the management server behind the cluster called via.
func PerType(via string) *corev3.ConfigSource { return perType(via, corev3.ApiConfigSource_GRPC) }

// PerTypeDelta is PerType with delta streams.
func PerTypeDelta(via string) *corev3.ConfigSource {
	return perType(via, corev3.ApiConfigSource_DELTA_GRPC)
}

func perType(via string, api corev3.ApiConfigSource_ApiType) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion: corev3.ApiVersion_V3,
		ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
			ApiType:             api,
			TransportApiVersion: corev3.ApiVersion_V3,
			// The node of an Envoy is 60 KB, most of it names of extensions.
			SetNodeOnFirstMessageOnly: true,
			GrpcServices: []*corev3.GrpcService{{
				TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{
					ClusterName:      via,
					SkipEnvoyHeaders: true, // they tell the address of the machine
				}},
			}},
		}},
	}
}

// Cluster is a cluster whose endpoints come from source.
func Cluster(name string, source *corev3.ConfigSource) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: source},
		ConnectTimeout:       durationpb.New(time.Second),
		LbPolicy:             clusterv3.Cluster_ROUND_ROBIN,
	}
}

// BrokenCluster is a cluster that no client may accept: Envoy requires a
// connect timeout above zero, and gRPC knows no Maglev.
func BrokenCluster(name string, source *corev3.ConfigSource) *clusterv3.Cluster {
	c := Cluster(name, source)
	c.ConnectTimeout = durationpb.New(0)
	c.LbPolicy = clusterv3.Cluster_MAGLEV
	return c
}

// Endpoints assigns host:port addresses to a cluster, in one locality.
func Endpoints(cluster string, addrs ...string) *endpointv3.ClusterLoadAssignment {
	group := &endpointv3.LocalityLbEndpoints{
		Locality:            &corev3.Locality{Region: "here", Zone: "a"},
		LoadBalancingWeight: wrapUint32(1),
	}
	for _, addr := range addrs {
		a := socketAddress(addr)
		group.LbEndpoints = append(group.LbEndpoints, &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: a}},
		})
	}
	return &endpointv3.ClusterLoadAssignment{
		ClusterName: cluster,
		Endpoints:   []*endpointv3.LocalityLbEndpoints{group},
	}
}

// DirectRoute is a route configuration that answers every request with body.
func DirectRoute(name, body string) *routev3.RouteConfiguration {
	return routeConfig(name, &routev3.Route{
		Match: prefix("/"),
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{
			Status: 200,
			Body:   &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: body}},
		}},
	})
}

// ClusterRoute is a route configuration that sends every request to cluster,
// but what begins with the name of one of others to that.
func ClusterRoute(name, cluster string, others ...string) *routev3.RouteConfiguration {
	to := func(path, cluster string) *routev3.Route {
		return &routev3.Route{
			Match: prefix(path),
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: cluster},
			}},
		}
	}
	var routes []*routev3.Route
	for _, o := range others {
		routes = append(routes, to("/"+o+"/", o))
	}
	return routeConfig(name, append(routes, to("/", cluster))...)
}

func prefix(p string) *routev3.RouteMatch {
	return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: p}}
}

func routeConfig(name string, routes ...*routev3.Route) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		Name: name,
		VirtualHosts: []*routev3.VirtualHost{{
			Name:    "all",
			Domains: []string{"*"},
			Routes:  routes,
		}},
	}
}

// Listener is an HTTP listener at host:port whose routes, called route, come
// from source.
func Listener(name, addr, route string, source *corev3.ConfigSource) *listenerv3.Listener {
	a := socketAddress(addr)
	manager := connectionManager(route, source)
	return &listenerv3.Listener{
		Name:    name,
		Address: a,
		FilterChains: []*listenerv3.FilterChain{{
			Filters: []*listenerv3.Filter{{
				Name:       "envoy.filters.network.http_connection_manager",
				ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager},
			}},
		}},
	}
}

// APIListener is the listener that a gRPC client asks for under the name of
// its target.
func APIListener(name, route string) *listenerv3.Listener {
	manager := connectionManager(route, Self())
	return &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: manager}}
}

func connectionManager(route string, source *corev3.ConfigSource) *anypb.Any {
	return packed(&hcmv3.HttpConnectionManager{
		StatPrefix: "ingress",
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{
			Rds: &hcmv3.Rds{RouteConfigName: route, ConfigSource: source},
		},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name:       "envoy.filters.http.router",
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&routerv3.Router{})},
		}},
	})
}

// packed is anypb.New with the same bytes for the same message every time, so
// that delta versions, which are hashes, do not change by themselves.
func packed(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	must(a, anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}))
	return a
}

// socketAddress panics if that is none of a host and a port.
func socketAddress(hostport string) *corev3.Address {
	a := must(netip.ParseAddrPort(hostport))
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address:       a.Addr().String(),
		PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(a.Port())},
	}}}
}
