package decode

import (
	"mime"
	"strings"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// Variant is the shape of a conversation, as the machine-readable forms name
// it.
type Variant string

// The variants. An empty Variant means that the method is not known, because
// the headers of the stream were lost.
const (
	VariantSotwADS  Variant = "sotw-ads"
	VariantDeltaADS Variant = "delta-ads"
	VariantSotw     Variant = "sotw"
	VariantDelta    Variant = "delta"
	VariantREST     Variant = "rest"
	VariantFile     Variant = "file"
	VariantLRS      Variant = "lrs"
	VariantCSDS     Variant = "csds"
	VariantOther    Variant = "other"
)

// Method is what the path of a request says about the stream.
type Method struct {
	Path    string
	Service string // full name of the service, "" for REST
	Name    string // of the method, such as "StreamClusters"
	Variant Variant
	Type    string // short type of a per-type stream, such as "CDS"; "" for ADS
	V2      bool   // transport version 2
	Unary   bool   // one request, one response: Fetch methods and REST
	// Request and Response are the full names of the message types, "" where
	// they are not known.
	Request, Response string
}

// Message is the full name of the type that side sends, or "".
func (m Method) Message(side session.Side) string {
	switch side {
	case session.Client:
		return m.Request
	case session.Server:
		return m.Response
	}
	return ""
}

// LookupMethod says what is known of a :path. It knows every discovery service
// of transport versions 2 and 3, and the REST paths, those of types that it does
// not know included. "file:" and a name is a watched file. Any other path gives
// variant Other, and an empty one the zero Method.
func LookupMethod(path string) Method {
	if path == "" {
		return Method{}
	}
	if strings.HasPrefix(path, filePrefix) {
		return fileMethod(path)
	}
	bare, _, _ := strings.Cut(path, "?")
	if m, ok := methods[bare]; ok {
		m.Path = path
		return m
	}
	if m, ok := restMethod(bare); ok {
		m.Path = path
		return m
	}
	m := Method{Path: path, Variant: VariantOther}
	if service, name, ok := strings.Cut(strings.TrimPrefix(bare, "/"), "/"); ok && !strings.Contains(name, "/") {
		m.Service, m.Name = service, name
	}
	return m
}

// restMethod describes a REST path of no type that is known here. It is polled
// like the others.
func restMethod(path string) (Method, bool) {
	for _, v := range [...]struct{ path, prefix string }{
		{"/v3/discovery:", "envoy.service.discovery.v3."}, {"/v2/discovery:", "envoy.api.v2."},
	} {
		if strings.HasPrefix(path, v.path) {
			return Method{
				Path: path, Variant: VariantREST, V2: v.path[2] == '2', Unary: true,
				Request: v.prefix + "DiscoveryRequest", Response: v.prefix + "DiscoveryResponse",
			}, true
		}
	}
	return Method{}, false
}

// Methods returns every method that LookupMethod knows, in no order.
func Methods() []Method {
	out := make([]Method, 0, len(methods))
	for _, m := range methods {
		out = append(out, m)
	}
	return out
}

// Form is how the bytes of a message are written.
type Form uint8

// Discovery messages are protobuf on gRPC and JSON on REST.
const (
	FormProto Form = iota
	FormJSON
)

// FormOf derives the form from the method and the content type of the side
// that sent the message. The content type wins where it says something.
func FormOf(m Method, contentType string) Form {
	if contentType == "application/grpc" { // as nearly everyone says
		return FormProto
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	switch {
	case media == "application/json", media == "text/json", strings.HasSuffix(media, "+json"):
		return FormJSON
	case media == "application/x-protobuf", media == "application/protobuf", strings.HasPrefix(media, "application/grpc"):
		return FormProto
	}
	if m.Variant == VariantREST || m.Variant != VariantFile && strings.Contains(m.Path, "/discovery:") {
		return FormJSON
	}
	return FormProto
}

// service is one row of the table that methods is made of. A nil list of verbs
// stands for Stream, Delta and Fetch.
type service struct {
	typ    string
	v3, v2 string // full names; v2 is "" where version 3 brought the service
	noun   string
	verbs  []string
	rest   string // last part of the REST path, or ""
}

var services = []service{
	{typ: "LDS", v3: "envoy.service.listener.v3.ListenerDiscoveryService", v2: "envoy.api.v2.ListenerDiscoveryService", noun: "Listeners", rest: "listeners"},
	{typ: "RDS", v3: "envoy.service.route.v3.RouteDiscoveryService", v2: "envoy.api.v2.RouteDiscoveryService", noun: "Routes", rest: "routes"},
	{typ: "SRDS", v3: "envoy.service.route.v3.ScopedRoutesDiscoveryService", v2: "envoy.api.v2.ScopedRoutesDiscoveryService", noun: "ScopedRoutes", rest: "scoped-routes"},
	{typ: "VHDS", v3: "envoy.service.route.v3.VirtualHostDiscoveryService", v2: "envoy.api.v2.VirtualHostDiscoveryService", noun: "VirtualHosts", verbs: []string{"Delta"}},
	{typ: "CDS", v3: "envoy.service.cluster.v3.ClusterDiscoveryService", v2: "envoy.api.v2.ClusterDiscoveryService", noun: "Clusters", rest: "clusters"},
	{typ: "EDS", v3: "envoy.service.endpoint.v3.EndpointDiscoveryService", v2: "envoy.api.v2.EndpointDiscoveryService", noun: "Endpoints", rest: "endpoints"},
	{typ: "LEDS", v3: "envoy.service.endpoint.v3.LocalityEndpointDiscoveryService", noun: "LocalityEndpoints", verbs: []string{"Delta"}},
	{typ: "SDS", v3: "envoy.service.secret.v3.SecretDiscoveryService", v2: "envoy.service.discovery.v2.SecretDiscoveryService", noun: "Secrets", rest: "secrets"},
	{typ: "RTDS", v3: "envoy.service.runtime.v3.RuntimeDiscoveryService", v2: "envoy.service.discovery.v2.RuntimeDiscoveryService", noun: "Runtime", rest: "runtime"},
	{typ: "ECDS", v3: "envoy.service.extension.v3.ExtensionConfigDiscoveryService", noun: "ExtensionConfigs", rest: "extension_configs"},
	{v3: "envoy.service.discovery.v3.AggregatedDiscoveryService", v2: "envoy.service.discovery.v2.AggregatedDiscoveryService", noun: "AggregatedResources", verbs: []string{"Stream", "Delta"}},
}

// reporting are the services beside discovery that speak of the same things.
var reporting = []Method{
	{
		Service: "envoy.service.load_stats.v3.LoadReportingService", Name: "StreamLoadStats", Variant: VariantLRS,
		Request: "envoy.service.load_stats.v3.LoadStatsRequest", Response: "envoy.service.load_stats.v3.LoadStatsResponse",
	},
	{
		Service: "envoy.service.load_stats.v2.LoadReportingService", Name: "StreamLoadStats", Variant: VariantLRS, V2: true,
		Request: "envoy.service.load_stats.v2.LoadStatsRequest", Response: "envoy.service.load_stats.v2.LoadStatsResponse",
	},
	{
		Service: "envoy.service.health.v3.HealthDiscoveryService", Name: "StreamHealthCheck", Variant: VariantOther, Type: "HDS",
		Request: "envoy.service.health.v3.HealthCheckRequestOrEndpointHealthResponse", Response: "envoy.service.health.v3.HealthCheckSpecifier",
	},
	{
		Service: "envoy.service.health.v3.HealthDiscoveryService", Name: "FetchHealthCheck", Variant: VariantOther, Type: "HDS", Unary: true,
		Request: "envoy.service.health.v3.HealthCheckRequestOrEndpointHealthResponse", Response: "envoy.service.health.v3.HealthCheckSpecifier",
	},
	{
		Service: "envoy.service.discovery.v2.HealthDiscoveryService", Name: "StreamHealthCheck", Variant: VariantOther, Type: "HDS", V2: true,
		Request: "envoy.service.discovery.v2.HealthCheckRequestOrEndpointHealthResponse", Response: "envoy.service.discovery.v2.HealthCheckSpecifier",
	},
	{
		Service: "envoy.service.discovery.v2.HealthDiscoveryService", Name: "FetchHealthCheck", Variant: VariantOther, Type: "HDS", V2: true, Unary: true,
		Request: "envoy.service.discovery.v2.HealthCheckRequestOrEndpointHealthResponse", Response: "envoy.service.discovery.v2.HealthCheckSpecifier",
	},
	{
		Service: "envoy.service.status.v3.ClientStatusDiscoveryService", Name: "StreamClientStatus", Variant: VariantCSDS,
		Request: "envoy.service.status.v3.ClientStatusRequest", Response: "envoy.service.status.v3.ClientStatusResponse",
	},
	{
		Service: "envoy.service.status.v3.ClientStatusDiscoveryService", Name: "FetchClientStatus", Variant: VariantCSDS, Unary: true,
		Request: "envoy.service.status.v3.ClientStatusRequest", Response: "envoy.service.status.v3.ClientStatusResponse",
	},
	{
		Service: "envoy.service.status.v2.ClientStatusDiscoveryService", Name: "StreamClientStatus", Variant: VariantCSDS, V2: true,
		Request: "envoy.service.status.v2.ClientStatusRequest", Response: "envoy.service.status.v2.ClientStatusResponse",
	},
	{
		Service: "envoy.service.status.v2.ClientStatusDiscoveryService", Name: "FetchClientStatus", Variant: VariantCSDS, V2: true, Unary: true,
		Request: "envoy.service.status.v2.ClientStatusRequest", Response: "envoy.service.status.v2.ClientStatusResponse",
	},
}

// methods is keyed by path and never written to after it is made.
var methods = methodTable()

func methodTable() map[string]Method {
	table := make(map[string]Method)
	add := func(m Method) {
		if m.Path == "" {
			m.Path = "/" + m.Service + "/" + m.Name
		}
		table[m.Path] = m
	}
	for _, s := range services {
		s.addTo(add)
	}
	for _, m := range reporting {
		add(m)
		if !m.Unary {
			continue
		}
		// The REST face of a Fetch method has the same messages, as JSON.
		m.Path = "/v3/discovery:"
		if m.V2 {
			m.Path = "/v2/discovery:"
		}
		if m.Variant == VariantCSDS {
			m.Path += "client_status"
		} else {
			m.Path += "health_check"
		}
		m.Service, m.Name = "", ""
		add(m)
	}
	return table
}

func (s service) addTo(add func(Method)) {
	for _, v := range []struct {
		service, prefix, rest string
		v2                    bool
	}{
		{s.v3, "envoy.service.discovery.v3.", "/v3/discovery:", false},
		{s.v2, "envoy.api.v2.", "/v2/discovery:", true},
	} {
		if v.service == "" {
			continue
		}
		verbs := s.verbs
		if verbs == nil {
			verbs = []string{"Stream", "Delta", "Fetch"}
		}
		for _, verb := range verbs {
			m := Method{Service: v.service, Name: verb + s.noun, Type: s.typ, V2: v.v2, Unary: verb == "Fetch"}
			m.Variant, m.Request, m.Response = VariantSotw, v.prefix+"DiscoveryRequest", v.prefix+"DiscoveryResponse"
			if verb == "Delta" {
				m.Variant, m.Request, m.Response = VariantDelta, v.prefix+"DeltaDiscoveryRequest", v.prefix+"DeltaDiscoveryResponse"
			}
			if s.typ == "" {
				m.Variant += "-ads"
			}
			add(m)
		}
		if s.rest != "" {
			add(Method{
				Path: v.rest + s.rest, Type: s.typ, Variant: VariantREST, V2: v.v2, Unary: true,
				Request: v.prefix + "DiscoveryRequest", Response: v.prefix + "DiscoveryResponse",
			})
		}
	}
}
