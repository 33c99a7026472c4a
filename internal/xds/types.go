package xds

// types are the types of Envoy's API in the order in which they are shown, then
// Istio's.
var types = [...]Type{
	{
		Short: "LDS", V3: "envoy.config.listener.v3.Listener", V2: "envoy.api.v2.Listener", NameField: "name",
		Core: true, Full: true, Whole: true, Wildcard: true,
	},
	{
		Short: "RDS", V3: "envoy.config.route.v3.RouteConfiguration", V2: "envoy.api.v2.RouteConfiguration", NameField: "name",
		Core: true, Named: true, Parents: []string{"LDS", "SRDS"},
	},
	{
		Short: "SRDS", V3: "envoy.config.route.v3.ScopedRouteConfiguration", V2: "envoy.api.v2.ScopedRouteConfiguration", NameField: "name",
		Whole: true, Wildcard: true, Parents: []string{"LDS"},
	},
	{
		Short: "VHDS", V3: "envoy.config.route.v3.VirtualHost", V2: "envoy.api.v2.route.VirtualHost", NameField: "name",
		Wildcard: true, Parents: []string{"RDS"},
	},
	{
		Short: "CDS", V3: "envoy.config.cluster.v3.Cluster", V2: "envoy.api.v2.Cluster", NameField: "name",
		Core: true, Full: true, Whole: true, Wildcard: true, Parents: []string{"LDS", "RDS", "VHDS"},
	},
	{
		Short: "EDS", V3: "envoy.config.endpoint.v3.ClusterLoadAssignment", V2: "envoy.api.v2.ClusterLoadAssignment", NameField: "cluster_name",
		Core: true, Named: true, Parents: []string{"CDS"},
	},
	{
		Short: "LEDS", V3: "envoy.config.endpoint.v3.LbEndpoint",
		Named: true,
	},
	{
		Short: "SDS", V3: "envoy.extensions.transport_sockets.tls.v3.Secret", V2: "envoy.api.v2.auth.Secret", NameField: "name",
		Named: true, Parents: []string{"LDS", "CDS"},
	},
	{
		Short: "ECDS", V3: "envoy.config.core.v3.TypedExtensionConfig", NameField: "name",
		Named: true, Parents: []string{"LDS", "CDS"},
	},
	{
		Short: "RTDS", V3: "envoy.service.runtime.v3.Runtime", V2: "envoy.service.discovery.v2.Runtime", NameField: "name",
		Named: true,
	},
	{Short: "NDS", V3: "istio.networking.nds.v1.NameTable", Wildcard: true},
	{Short: "PCDS", V3: "istio.mesh.v1alpha1.ProxyConfig", Wildcard: true},
	{Short: "WDS", V3: "istio.workload.Address", Also: "istio.workload.Workload", Wildcard: true},
	{Short: "WADS", V3: "istio.security.Authorization", Wildcard: true},
}

// byName is keyed by full message name.
var byName = func() map[string]*Type {
	out := make(map[string]*Type)
	for i := range types {
		for _, name := range []string{types[i].V3, types[i].V2, types[i].Also} {
			if name != "" {
				out[name] = &types[i]
			}
		}
	}
	return out
}()
