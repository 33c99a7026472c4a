package decode

import (
	"slices"
	"strings"
)

// TypeName is the full message name in a type URL: what follows the last
// slash.
func TypeName(typeURL string) string {
	return typeURL[strings.LastIndexByte(typeURL, '/')+1:]
}

// ShortType is the customary abbreviation of a resource type, such as "CDS",
// the same for versions 2 and 3. A type without one gives the last part of its
// name: "ServiceEntry" for "networking.istio.io/v1alpha3/ServiceEntry".
func ShortType(typeURL string) string {
	name := TypeName(typeURL)
	if s, ok := shortTypes[name]; ok {
		return s
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// TypeKey names the state that messages of a type share. The version 2 and the
// version 3 URL of one resource type have the same key; other types are their
// own.
func TypeKey(typeURL string) string {
	if s, ok := shortTypes[TypeName(typeURL)]; ok {
		return s
	}
	return typeURL
}

// shortTypes is keyed by full message name.
var shortTypes = map[string]string{
	"envoy.config.listener.v3.Listener":                "LDS",
	"envoy.api.v2.Listener":                            "LDS",
	"envoy.config.route.v3.RouteConfiguration":         "RDS",
	"envoy.api.v2.RouteConfiguration":                  "RDS",
	"envoy.config.route.v3.ScopedRouteConfiguration":   "SRDS",
	"envoy.api.v2.ScopedRouteConfiguration":            "SRDS",
	"envoy.config.route.v3.VirtualHost":                "VHDS",
	"envoy.api.v2.route.VirtualHost":                   "VHDS",
	"envoy.config.cluster.v3.Cluster":                  "CDS",
	"envoy.api.v2.Cluster":                             "CDS",
	"envoy.config.endpoint.v3.ClusterLoadAssignment":   "EDS",
	"envoy.api.v2.ClusterLoadAssignment":               "EDS",
	"envoy.config.endpoint.v3.LbEndpoint":              "LEDS",
	"envoy.extensions.transport_sockets.tls.v3.Secret": "SDS",
	"envoy.api.v2.auth.Secret":                         "SDS",
	"envoy.service.runtime.v3.Runtime":                 "RTDS",
	"envoy.service.discovery.v2.Runtime":               "RTDS",
	"envoy.config.core.v3.TypedExtensionConfig":        "ECDS",
	"istio.networking.nds.v1.NameTable":                "NDS",
	"istio.mesh.v1alpha1.ProxyConfig":                  "PCDS",
	"istio.workload.Workload":                          "WDS",
	"istio.workload.Address":                           "WDS",
	"istio.security.Authorization":                     "WADS",
}

// ShortTypes returns every abbreviation that ShortType or the Type of a Method
// can be, in alphabetical order.
func ShortTypes() []string {
	var out []string
	for _, s := range shortTypes {
		out = append(out, s)
	}
	for _, m := range methods {
		if m.Type != "" {
			out = append(out, m.Type)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isWrapper says whether a type URL names the envelope that carries one
// resource with its version and name.
func isWrapper(typeURL string) bool {
	switch TypeName(typeURL) {
	case "envoy.service.discovery.v3.Resource", "envoy.api.v2.Resource":
		return true
	}
	return false
}
