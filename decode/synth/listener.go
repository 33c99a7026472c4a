package synth

import (
	"hash/fnv"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// listener has a filter chain for each route configuration that it asks for. The
// clusters it names itself are those of inline routes, or of a TCP proxy where
// the routes come from elsewhere.
func (m *maker) listener() proto.Message {
	h := fnv.New32a()
	h.Write([]byte(m.name))
	refs := &m.r.Refs
	l := &listenerv3.Listener{Name: m.name, Address: address("127.0.0.1", 10_000+h.Sum32()%50_000), Metadata: m.metadata()}
	if m.r.NotGRPC {
		l.UseOriginalDst = wrapperspb.Bool(true)
	}
	if m.r.Invalid {
		l.Address = &corev3.Address{} // must be one of several kinds
	}
	for _, name := range refs.Routes {
		m.chain(l, httpManager, m.httpManager(&hcmv3.HttpConnectionManager{RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{
			Rds: &hcmv3.Rds{RouteConfigName: name, ConfigSource: m.source()},
		}}))
	}
	if refs.SRDS {
		m.chain(l, httpManager, m.httpManager(&hcmv3.HttpConnectionManager{RouteSpecifier: &hcmv3.HttpConnectionManager_ScopedRoutes{
			ScopedRoutes: m.scopedRoutes(),
		}}))
	}
	switch {
	case len(l.FilterChains) == 0:
		m.chain(l, httpManager, m.httpManager(&hcmv3.HttpConnectionManager{RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{
			RouteConfig: m.routeConfig("inline", ""),
		}}))
	case len(refs.Clusters) > 0:
		m.chain(l, "envoy.filters.network.tcp_proxy", m.tcpProxy())
	}
	return l
}

const httpManager = "envoy.filters.network.http_connection_manager"

// chain adds a filter chain. From the second on, chains differ in their port.
func (m *maker) chain(l *listenerv3.Listener, name string, config proto.Message) {
	c := &listenerv3.FilterChain{
		Filters: []*listenerv3.Filter{{
			Name: name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: m.any(config)},
		}},
		TransportSocket: m.downstreamTLS(),
	}
	if n := len(l.FilterChains); n > 0 {
		c.FilterChainMatch = &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(uint32(min(n, 65_535)))}
	}
	l.FilterChains = append(l.FilterChains, c)
}

func (m *maker) httpManager(h *hcmv3.HttpConnectionManager) *hcmv3.HttpConnectionManager {
	h.StatPrefix = m.labelOr("ingress/")
	for _, name := range m.r.Refs.Filters {
		discovery := &corev3.ExtensionConfigSource{
			ConfigSource: m.source(), TypeUrls: []string{xds.TypePrefix + string((&luav3.Lua{}).ProtoReflect().Descriptor().FullName())},
		}
		if m.r.Refs.Default {
			discovery.DefaultConfig = m.any(lua("-- default"))
		}
		h.HttpFilters = append(h.HttpFilters, &hcmv3.HttpFilter{
			Name: name, ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: discovery},
		})
	}
	h.HttpFilters = append(h.HttpFilters, &hcmv3.HttpFilter{
		Name:       "envoy.filters.http.router",
		ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: m.any(&routerv3.Router{})},
	})
	return h
}

func (m *maker) scopedRoutes() *hcmv3.ScopedRoutes {
	return &hcmv3.ScopedRoutes{
		Name: "scopes", RdsConfigSource: m.source(),
		ScopeKeyBuilder: &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
			Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
				HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
					Name:        "x-scope",
					ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{},
				},
			},
		}}},
		ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRds{ScopedRds: &hcmv3.ScopedRds{ScopedRdsConfigSource: m.source()}},
	}
}

func (m *maker) tcpProxy() *tcpv3.TcpProxy {
	p := &tcpv3.TcpProxy{StatPrefix: m.labelOr("tcp/")}
	names := m.r.Refs.Clusters
	if len(names) == 1 {
		p.ClusterSpecifier = &tcpv3.TcpProxy_Cluster{Cluster: names[0]}
		return p
	}
	w := &tcpv3.TcpProxy_WeightedCluster{}
	for _, n := range names {
		w.Clusters = append(w.Clusters, &tcpv3.TcpProxy_WeightedCluster_ClusterWeight{Name: n, Weight: 1})
	}
	p.ClusterSpecifier = &tcpv3.TcpProxy_WeightedClusters{WeightedClusters: w}
	return p
}

func lua(code string) *luav3.Lua {
	return &luav3.Lua{DefaultSourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: code}}}
}

func numbered(word string, i int) string { return word + "-" + strconv.Itoa(i+1) }
