package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// content is the payload of a resource at a revision. Only the certificate of a
// workload is its own.
func (p *proxy) content(typ, name string, of kind, rev int) *anypb.Any {
	key := contentKey{trackOf(typ, of), name, rev, ""}
	if typ == "SDS" && name == "default" {
		key.pod = p.pod
	}
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	a := p.w.contents[key]
	if a == nil {
		a = packed(p.message(key))
		p.w.contents[key] = a
	}
	return a
}

type contentKey struct {
	track
	name string
	rev  int
	pod  string
}

func (p *proxy) message(k contentKey) proto.Message {
	switch k.typ {
	case "CDS":
		return clusterOf(k.name, k.rev)
	case "EDS":
		return endpointsOf(k.name, k.rev, p.w.seed)
	case "LDS":
		return p.listenerOf(k)
	case "RDS":
		return p.routesOf(k)
	}
	return p.secretOf(k)
}

func ads() *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}}, ResourceApiVersion: corev3.ApiVersion_V3,
	}
}

func clusterOf(name string, rev int) proto.Message {
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(time.Duration(5000+rev) * time.Millisecond),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: ads()},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections: wrapperspb.UInt32(4294967295), MaxRequests: wrapperspb.UInt32(4294967295), TrackRemaining: true,
		}}},
		Metadata: serviceMetadata(name),
	}
}

// serviceMetadata is what Istio says of where a cluster comes from.
func serviceMetadata(name string) *corev3.Metadata {
	host := name[strings.LastIndexByte(name, '|')+1:]
	parts := strings.SplitN(host, ".", 3)
	text := structpb.NewStringValue
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{"istio": {Fields: map[string]*structpb.Value{
		"services": structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{structpb.NewStructValue(&structpb.Struct{
			Fields: map[string]*structpb.Value{"host": text(host), "name": text(parts[0]), "namespace": text(parts[1])},
		})}}),
	}}}}
}

// endpointsOf has some endpoints, and many for one service in ten.
func endpointsOf(name string, rev int, seed uint64) proto.Message {
	h := fnv.New64a()
	h.Write([]byte(name))
	size := 2 + int(h.Sum64()%7)
	if strings.Contains(name, "0-backend") {
		size = 60
	}
	rng := rand.New(rand.NewPCG(seed^h.Sum64(), 0))
	host := make([]uint32, size)
	for i := range host {
		host[i] = rng.Uint32() & 0xffff
	}
	if rev > 0 { // one of them is new
		host[rev%size] = 0x10000 | uint32(rev)
	}
	zones := [...]string{"eu-west-1a", "eu-west-1b", "eu-west-1c"}
	c := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	for z, zone := range zones {
		l := &endpointv3.LocalityLbEndpoints{Locality: &corev3.Locality{Region: "eu-west-1", Zone: zone}}
		for i := z; i < size; i += len(zones) {
			l.LbEndpoints = append(l.LbEndpoints, &endpointv3.LbEndpoint{
				HealthStatus: corev3.HealthStatus_HEALTHY, LoadBalancingWeight: wrapperspb.UInt32(1),
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: socket(fmt.Sprintf("10.%d.%d.%d", host[i]>>16, host[i]>>8&255, host[i]&255), 8080)}},
			})
		}
		if l.LoadBalancingWeight = wrapperspb.UInt32(uint32(len(l.LbEndpoints))); len(l.LbEndpoints) > 0 {
			c.Endpoints = append(c.Endpoints, l)
		}
	}
	return c
}

func socket(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func (p *proxy) listenerOf(k contentKey) proto.Message {
	routes, port, tls := sidecarRoutes, uint32(8080), []string(nil)
	switch {
	case k.of == grpcClient:
		routes = grpcRoutes
	case k.of == gateway:
		routes, port, tls = gatewayRoutes, 8443, p.w.secrets
	case k.name == "virtualInbound":
		port, tls = 15006, []string{"default"}
	}
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: fmt.Sprintf("%s_%d", k.name, k.rev),
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: packed(&routerv3.Router{})},
		}},
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{RouteConfigName: routes, ConfigSource: ads()}},
	}
	if k.of == grpcClient {
		return &listenerv3.Listener{Name: k.name, ApiListener: &listenerv3.ApiListener{ApiListener: packed(manager)}}
	}
	l := &listenerv3.Listener{Name: k.name, Address: socket("0.0.0.0", port)}
	if k.name == "virtualInbound" {
		manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{
			Name: "inbound", VirtualHosts: []*routev3.VirtualHost{host("inbound", []string{"*"}, p.w.services[:1])},
		}}
	}
	chain := func() *listenerv3.FilterChain {
		return &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{
			Name: "envoy.filters.network.http_connection_manager", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: packed(manager)},
		}}}
	}
	for i, secret := range tls {
		c := chain()
		c.TransportSocket = &corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{
			TypedConfig: packed(&tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
				TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: secret, SdsConfig: ads()}},
			}}),
		}}
		if k.of == gateway {
			c.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{fmt.Sprintf("shop-%d.example.com", i)}}
		}
		l.FilterChains = append(l.FilterChains, c)
	}
	if len(tls) == 0 {
		l.FilterChains = append(l.FilterChains, chain())
	}
	return l
}

func packed(m proto.Message) *anypb.Any {
	a := &anypb.Any{}
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err) // what is made here is valid
	}
	return a
}

// host sends everything to some services, by prefix.
func host(name string, domains, services []string) *routev3.VirtualHost {
	h := &routev3.VirtualHost{Name: name, Domains: domains}
	for i, s := range services {
		prefix := "/"
		if i < len(services)-1 {
			prefix = fmt.Sprintf("/api/v%d/", i)
		}
		h.Routes = append(h.Routes, &routev3.Route{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: prefix}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: s}, Timeout: durationpb.New(15 * time.Second),
			}},
		})
	}
	return h
}

// routesOf has a virtual host for each service, but for that which is added later,
// until some steps after that. At the gateways it is one host.
func (p *proxy) routesOf(k contentKey) proto.Message {
	c := &routev3.RouteConfiguration{Name: k.name, ResponseHeadersToAdd: []*corev3.HeaderValueOption{{
		Header: &corev3.HeaderValue{Key: "x-config-revision", Value: fmt.Sprint(k.rev)},
	}}}
	services := p.w.services[:len(p.w.services)-1]
	if k.rev >= p.w.lateAt+2 {
		services = p.w.services
	}
	if k.of != sidecar {
		services = services[:few]
		c.VirtualHosts = append(c.VirtualHosts, host("shop", []string{"*"}, services))
		if k.of == gateway && k.rev == p.w.bad {
			c.VirtualHosts[0].Routes = append([]*routev3.Route{badRoute(services[0])}, c.VirtualHosts[0].Routes...)
		}
		return c
	}
	for _, s := range services {
		domain := s[strings.LastIndexByte(s, '|')+1:]
		c.VirtualHosts = append(c.VirtualHosts, host(domain+":8080", []string{domain, strings.TrimSuffix(domain, ".svc.cluster.local")}, []string{s}))
	}
	return c
}

const badRegex = "/catalogue/(a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p){1,40}/items"

// badRoute has an expression that old Envoys find too complex.
func badRoute(service string) *routev3.Route {
	r := host("", nil, []string{service}).Routes[0]
	r.Match.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: badRegex}}
	return r
}

// notAfter is until when a certificate holds: some are about to expire when the day
// ends, the others have 80 days.
func (p *proxy) notAfter(name string, rev int) time.Time {
	const day = 24 * time.Hour
	w, lasts := p.w, 80*day
	switch {
	case name == "default" && p.fault == "certificate-expires":
		lasts = day
	case name == w.secrets[1] && rev == 0: // is renewed in time
		lasts = 3 * day
	case name == w.secrets[2]:
		lasts = 2 * day
	case name == w.secrets[3]:
		lasts = 5 * day
	}
	return w.timeOf(w.steps).Add(lasts).Truncate(time.Hour)
}

func (p *proxy) secretOf(k contentKey) proto.Message {
	identity := "spiffe://cluster.local/ns/shop-production-tenant/sa/" + p.pod
	if k.name != "default" {
		identity = strings.TrimPrefix(k.name, "kubernetes://") + ".example.com"
	}
	from := p.w.timeOf(k.rev).Truncate(time.Hour)
	chain, key := p.w.certs.leaf(identity, int64(k.rev)+2, from, p.notAfter(k.name, k.rev))
	bytes := func(b []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
	}
	return &tlsv3.Secret{Name: k.name, Type: &tlsv3.Secret_TlsCertificate{TlsCertificate: &tlsv3.TlsCertificate{
		CertificateChain: bytes(chain), PrivateKey: bytes(key),
	}}}
}
