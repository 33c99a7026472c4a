package xds

import "strings"

// service is a row of the table that methods is made of.
type service struct {
	typ    string
	v3, v2 string   // full names; v2 is "" where version 3 brought the service
	verbs  []string // of its methods
	noun   string   // that follows the verb
	rest   string   // last part of the REST path, or ""

	// A service beside discovery has a variant of its own, and messages of its
	// own package.
	variant           Variant
	request, response string
}

var all = []string{"Stream", "Delta", "Fetch"}

var services = [...]service{
	{typ: "LDS", v3: "envoy.service.listener.v3.ListenerDiscoveryService", v2: "envoy.api.v2.ListenerDiscoveryService", verbs: all, noun: "Listeners", rest: "listeners"},
	{typ: "RDS", v3: "envoy.service.route.v3.RouteDiscoveryService", v2: "envoy.api.v2.RouteDiscoveryService", verbs: all, noun: "Routes", rest: "routes"},
	{typ: "SRDS", v3: "envoy.service.route.v3.ScopedRoutesDiscoveryService", v2: "envoy.api.v2.ScopedRoutesDiscoveryService", verbs: all, noun: "ScopedRoutes", rest: "scoped-routes"},
	{typ: "VHDS", v3: "envoy.service.route.v3.VirtualHostDiscoveryService", v2: "envoy.api.v2.VirtualHostDiscoveryService", verbs: []string{"Delta"}, noun: "VirtualHosts"},
	{typ: "CDS", v3: "envoy.service.cluster.v3.ClusterDiscoveryService", v2: "envoy.api.v2.ClusterDiscoveryService", verbs: all, noun: "Clusters", rest: "clusters"},
	{typ: "EDS", v3: "envoy.service.endpoint.v3.EndpointDiscoveryService", v2: "envoy.api.v2.EndpointDiscoveryService", verbs: all, noun: "Endpoints", rest: "endpoints"},
	{typ: "LEDS", v3: "envoy.service.endpoint.v3.LocalityEndpointDiscoveryService", verbs: []string{"Delta"}, noun: "LocalityEndpoints"},
	{typ: "SDS", v3: "envoy.service.secret.v3.SecretDiscoveryService", v2: "envoy.service.discovery.v2.SecretDiscoveryService", verbs: all, noun: "Secrets", rest: "secrets"},
	{typ: "RTDS", v3: "envoy.service.runtime.v3.RuntimeDiscoveryService", v2: "envoy.service.discovery.v2.RuntimeDiscoveryService", verbs: all, noun: "Runtime", rest: "runtime"},
	{typ: "ECDS", v3: "envoy.service.extension.v3.ExtensionConfigDiscoveryService", verbs: all, noun: "ExtensionConfigs", rest: "extension_configs"},
	{v3: "envoy.service.discovery.v3.AggregatedDiscoveryService", v2: "envoy.service.discovery.v2.AggregatedDiscoveryService", verbs: []string{"Stream", "Delta"}, noun: "AggregatedResources"},
	{
		v3: "envoy.service.load_stats.v3.LoadReportingService", v2: "envoy.service.load_stats.v2.LoadReportingService",
		verbs: []string{"Stream"}, noun: "LoadStats",
		variant: VariantLRS, request: "LoadStatsRequest", response: "LoadStatsResponse",
	},
	{
		typ: "HDS", v3: "envoy.service.health.v3.HealthDiscoveryService", v2: "envoy.service.discovery.v2.HealthDiscoveryService",
		verbs: []string{"Stream", "Fetch"}, noun: "HealthCheck", rest: "health_check",
		variant: VariantOther, request: "HealthCheckRequestOrEndpointHealthResponse", response: "HealthCheckSpecifier",
	},
	{
		v3: "envoy.service.status.v3.ClientStatusDiscoveryService", v2: "envoy.service.status.v2.ClientStatusDiscoveryService",
		verbs: []string{"Stream", "Fetch"}, noun: "ClientStatus", rest: "client_status",
		variant: VariantCSDS, request: "ClientStatusRequest", response: "ClientStatusResponse",
	},
}

// methods is keyed by path.
var methods = func() map[string]Method {
	out := make(map[string]Method)
	for i := range services {
		s := &services[i]
		s.addTo(out, Method{Service: s.v3, Type: s.typ}, restV3)
		if s.v2 != "" {
			s.addTo(out, Method{Service: s.v2, Type: s.typ, V2: true}, restV2)
		}
	}
	return out
}()

// addTo adds the methods of one version, of which m has what they share.
func (s *service) addTo(table map[string]Method, m Method, rest string) {
	for _, verb := range s.verbs {
		m := s.method(m, verb)
		m.Name = verb + s.noun
		m.Path = "/" + m.Service + "/" + m.Name
		table[m.Path] = m
	}
	if s.rest != "" { // the messages of Fetch, as JSON
		m := s.method(m, "Fetch")
		if s.variant == "" {
			m.Variant = VariantREST
		}
		m.Service, m.Path = "", rest+s.rest
		table[m.Path] = m
	}
}

// method adds what a verb says of the conversation.
func (s *service) method(m Method, verb string) Method {
	m.Unary = verb == "Fetch"
	if s.variant != "" {
		pkg := m.Service[:strings.LastIndexByte(m.Service, '.')+1]
		m.Variant, m.Request, m.Response = s.variant, pkg+s.request, pkg+s.response
		return m
	}
	m.Variant = VariantSotw
	if verb == "Delta" {
		m.Variant = VariantDelta
	}
	if s.typ == "" {
		m.Variant += "-ads"
	}
	return m.discovery(verb)
}

// Held is how a client was asked what it holds, outside of any stream: what it says
// is a message of its own, whoever is taken for its sender.
func Held() Method {
	const status = "envoy.service.status.v3.ClientStatusResponse"
	return Method{Variant: VariantOther, Request: status, Response: status}
}

// AdminPrefix begins the type URLs of what an Envoy says of itself beside its
// resources.
const AdminPrefix = "type.googleapis.com/envoy.admin.v3."
