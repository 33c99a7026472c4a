package decode

import "strings"

// typePrefix is what xDS puts before the name of a message to make it a type
// URL.
const typePrefix = "type.googleapis.com/"

// preferred is which of several types a short name stands for where it does not
// say more: keyed by short type, the full message names of versions 3 and 2.
var preferred = map[string][2]string{
	"LDS":  {"envoy.config.listener.v3.Listener", "envoy.api.v2.Listener"},
	"RDS":  {"envoy.config.route.v3.RouteConfiguration", "envoy.api.v2.RouteConfiguration"},
	"SRDS": {"envoy.config.route.v3.ScopedRouteConfiguration", "envoy.api.v2.ScopedRouteConfiguration"},
	"VHDS": {"envoy.config.route.v3.VirtualHost", "envoy.api.v2.route.VirtualHost"},
	"CDS":  {"envoy.config.cluster.v3.Cluster", "envoy.api.v2.Cluster"},
	"EDS":  {"envoy.config.endpoint.v3.ClusterLoadAssignment", "envoy.api.v2.ClusterLoadAssignment"},
	"LEDS": {"envoy.config.endpoint.v3.LbEndpoint"},
	"SDS":  {"envoy.extensions.transport_sockets.tls.v3.Secret", "envoy.api.v2.auth.Secret"},
	"RTDS": {"envoy.service.runtime.v3.Runtime", "envoy.service.discovery.v2.Runtime"},
	"ECDS": {"envoy.config.core.v3.TypedExtensionConfig"},
	"NDS":  {"istio.networking.nds.v1.NameTable"},
	"PCDS": {"istio.mesh.v1alpha1.ProxyConfig"},
	"WDS":  {"istio.workload.Address"},
	"WADS": {"istio.security.Authorization"},
}

// TypeURL is the type URL that a short type stands for, or "" if there is none
// of that name. "CDS" and "v3.CDS" mean version 3, "v2.CDS" version 2.
func TypeURL(short string) string {
	version := 0
	if bare, ok := strings.CutPrefix(short, "v2."); ok {
		short, version = bare, 1
	} else {
		short = strings.TrimPrefix(short, "v3.")
	}
	if name := preferred[short][version]; name != "" {
		return typePrefix + name
	}
	return ""
}

// TypeWord is the shortest word for a type URL that TypeURL turns into the same
// again, or "" if there is none.
func TypeWord(typeURL string) string {
	name, ok := strings.CutPrefix(typeURL, typePrefix)
	if !ok {
		return ""
	}
	short := shortTypes[name]
	switch names := preferred[short]; {
	case short == "":
		return ""
	case names[0] == name:
		return short
	case names[1] == name:
		return "v2." + short
	}
	return ""
}
