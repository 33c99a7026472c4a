package decode

import (
	"slices"
	"testing"
)

// Each resource type of xDS has one key in both versions, and Istio's have
// theirs.
func TestTypeKeys(t *testing.T) {
	types := map[string][]string{
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
		"WDS":  {"istio.workload.Address", "istio.workload.Workload"},
		"WADS": {"istio.security.Authorization"},
	}
	named := []string{"LDS", "RDS", "SRDS", "VHDS", "CDS", "EDS", "SDS", "RTDS", "ECDS"}
	n := 0
	for key, names := range types {
		for _, name := range names {
			n++
			url := "type.googleapis.com/" + name
			if ShortType(url) != key || TypeKey(url) != key {
				t.Errorf("%s: %s and %s", name, ShortType(url), TypeKey(url))
			}
			if isNamed(name) != slices.Contains(named, key) {
				t.Errorf("%s: named %v", name, isNamed(name))
			}
		}
	}
	if n != len(shortTypes) {
		t.Errorf("%d types are looked at, %d are known", n, len(shortTypes))
	}
	for url, want := range map[string]string{
		"networking.istio.io/v1alpha3/ServiceEntry":        "ServiceEntry",
		"type.googleapis.com/istio.v1.HealthInformation":   "HealthInformation",
		"istio.io/debug/syncz":                             "syncz",
		"type.googleapis.com/envoy.api.v2.auth.TlsContext": "TlsContext",
	} {
		if ShortType(url) != want || TypeKey(url) != url {
			t.Errorf("%s: %s and %s", url, ShortType(url), TypeKey(url))
		}
	}
}
