package xds

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
			if named := slices.Contains(named, key); (ByURL(name).NameField != "") != named || ByShort(key).Short != key {
				t.Errorf("%s: %+v", name, ByURL(name))
			}
		}
	}
	if n != len(byName) {
		t.Errorf("%d types are looked at, %d are known", n, len(byName))
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

// The word for a type URL means that URL, and what refers to a type is a type.
func TestTypeTable(t *testing.T) {
	for i := range types {
		typ := &types[i]
		for word, name := range map[string]string{typ.Short: typ.V3, "v3." + typ.Short: typ.V3, "v2." + typ.Short: typ.V2} {
			url := TypeURL(word)
			if name == "" && url == "" {
				continue
			}
			if url != TypePrefix+name || TypeURL(TypeWord(url)) != url || ByURL(url).Short != typ.Short {
				t.Errorf("%s is %s, of which the word is %s", word, url, TypeWord(url))
			}
		}
		for _, p := range typ.Parents {
			if Rank(p) >= len(Order()) {
				t.Errorf("%s: parent %s", typ.Short, p)
			}
		}
		if typ.Full && !typ.Whole || typ.Full && !typ.Wildcard || typ.Named && typ.Wildcard {
			t.Errorf("%+v contradicts itself", typ)
		}
	}
	for i, short := range Order() {
		if Rank(short) != i {
			t.Errorf("%s has rank %d, want %d", short, Rank(short), i)
		}
	}
	for _, other := range []string{"", "NDS", "HDS", "ServiceEntry"} {
		if Rank(other) < len(Order()) {
			t.Errorf("%q has rank %d", other, Rank(other))
		}
	}
	if Rank("NDS") != Rank("WDS") || Rank("NDS") != Rank("ServiceEntry") {
		t.Error("what is not of Envoy has an order of its own: tables sort it by name")
	}
	if got := TypeWord(TypePrefix + "istio.workload.Workload"); got != "" {
		t.Errorf("%s, which means another message", got)
	}
	for _, word := range []string{"", "HDS", "cds", "v2.", "v2.ECDS", "v2.v3.CDS", "v4.CDS"} {
		if got := TypeURL(word); got != "" {
			t.Errorf("%q is %s", word, got)
		}
	}
}
