package xds

import (
	"reflect"
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// What the path of a request says, of each sort of path.
func TestLookupMethod(t *testing.T) {
	const sotwRequest, sotwResponse = PackageV3 + "DiscoveryRequest", PackageV3 + "DiscoveryResponse"
	for path, want := range map[string]Method{
		"": {},
		"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources": {
			Service: "envoy.service.discovery.v3.AggregatedDiscoveryService", Name: "StreamAggregatedResources",
			Variant: VariantSotwADS, Request: sotwRequest, Response: sotwResponse,
		},
		"/envoy.service.discovery.v2.AggregatedDiscoveryService/DeltaAggregatedResources": {
			Service: "envoy.service.discovery.v2.AggregatedDiscoveryService", Name: "DeltaAggregatedResources",
			Variant: VariantDeltaADS, V2: true, Request: PackageV2 + "DeltaDiscoveryRequest", Response: PackageV2 + "DeltaDiscoveryResponse",
		},
		"/envoy.service.endpoint.v3.EndpointDiscoveryService/StreamEndpoints": {
			Service: "envoy.service.endpoint.v3.EndpointDiscoveryService", Name: "StreamEndpoints", Type: "EDS",
			Variant: VariantSotw, Request: sotwRequest, Response: sotwResponse,
		},
		"/envoy.service.endpoint.v3.EndpointDiscoveryService/DeltaEndpoints": {
			Service: "envoy.service.endpoint.v3.EndpointDiscoveryService", Name: "DeltaEndpoints", Type: "EDS",
			Variant: VariantDelta, Request: PackageV3 + "DeltaDiscoveryRequest", Response: PackageV3 + "DeltaDiscoveryResponse",
		},
		"/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters": {
			Service: "envoy.service.cluster.v3.ClusterDiscoveryService", Name: "FetchClusters", Type: "CDS", Unary: true,
			Variant: VariantSotw, Request: sotwRequest, Response: sotwResponse,
		},
		"/v3/discovery:clusters?a=b": {Type: "CDS", Unary: true, Variant: VariantREST, Request: sotwRequest, Response: sotwResponse},
		"/v2/discovery:clusters": {
			Type: "CDS", Unary: true, V2: true, Variant: VariantREST, Request: PackageV2 + "DiscoveryRequest", Response: PackageV2 + "DiscoveryResponse",
		},
		"/v3/discovery:things": {Unary: true, Variant: VariantREST, Request: sotwRequest, Response: sotwResponse},
		"/v2/discovery:things": {Unary: true, V2: true, Variant: VariantREST, Request: PackageV2 + "DiscoveryRequest", Response: PackageV2 + "DiscoveryResponse"},
		"/v3/discovery:client_status": {
			Unary: true, Variant: VariantCSDS,
			Request: "envoy.service.status.v3.ClientStatusRequest", Response: "envoy.service.status.v3.ClientStatusResponse",
		},
		"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats": {
			Service: "envoy.service.load_stats.v3.LoadReportingService", Name: "StreamLoadStats", Variant: VariantLRS,
			Request: "envoy.service.load_stats.v3.LoadStatsRequest", Response: "envoy.service.load_stats.v3.LoadStatsResponse",
		},
		"/grpc.health.v1.Health/Check": {Service: "grpc.health.v1.Health", Name: "Check", Variant: VariantOther},
		"/ready":                       {Variant: VariantOther},
		"/a/b/c":                       {Variant: VariantOther},
		"file:/etc/cds.yaml?x":         {Name: "/etc/cds.yaml?x", Variant: VariantFile, Request: sotwRequest, Response: sotwResponse},
	} {
		want.Path = path
		got := LookupMethod(path)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %+v\nwant %+v", path, got, want)
		}
		for side, name := range map[session.Side]string{session.Client: want.Request, session.Server: want.Response, session.Proxy: ""} {
			if got.Message(side) != name {
				t.Errorf("%s: the %s sends %q", path, side, got.Message(side))
			}
		}
		url := TypeURL(want.Type)
		if want.V2 {
			url = TypeURL("v2." + want.Type)
		}
		if got.TypeURL() != url || (url == "") != (want.Type == "") {
			t.Errorf("%s: its resources are of type %q", path, got.TypeURL())
		}
	}
	if held := Held(); held.Message(session.Client) != "envoy.service.status.v3.ClientStatusResponse" || held.Message(session.Server) != held.Message(session.Client) {
		t.Errorf("%+v", held)
	}
}

// A method is found by its bare name, in the version that it says.
func TestMethodNamed(t *testing.T) {
	for name, want := range map[string]string{
		"StreamClusters":         "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters",
		"v3.StreamClusters":      "/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters",
		"v2.StreamClusters":      "/envoy.api.v2.ClusterDiscoveryService/StreamClusters",
		"DeltaLocalityEndpoints": "/envoy.service.endpoint.v3.LocalityEndpointDiscoveryService/DeltaLocalityEndpoints",
		"":                       "", "v2.": "", "v3.": "", "v2.DeltaLocalityEndpoints": "", "streamclusters": "",
	} {
		m, found := MethodNamed(name)
		if m.Path != want || found != (want != "") {
			t.Errorf("%q: %q, %v", name, m.Path, found)
		}
	}
	all := Methods()
	if len(all) != len(methods) {
		t.Errorf("%d methods of %d", len(all), len(methods))
	}
	for _, m := range all {
		if got := LookupMethod(m.Path); !reflect.DeepEqual(got, m) {
			t.Errorf("%s:\n got %+v\nwant %+v", m.Path, got, m)
		}
	}
}

// What each shape of a conversation is.
func TestVariants(t *testing.T) {
	said := map[Variant][3]bool{ // ADS, delta, discovery
		VariantSotwADS: {true, false, true}, VariantDeltaADS: {true, true, true}, VariantSotw: {false, false, true}, VariantDelta: {false, true, true},
		VariantREST: {}, VariantFile: {}, VariantLRS: {}, VariantCSDS: {}, VariantOther: {},
	}
	if len(Variants()) != len(said) {
		t.Errorf("%v", Variants())
	}
	for _, v := range Variants() {
		want, known := said[v]
		if got := [3]bool{v.ADS(), v.Delta(), v.Discovery()}; !known || got != want {
			t.Errorf("%s: %v", v, got)
		}
	}
}

// The orders in which types are shown, and the words for them.
func TestTypeOrders(t *testing.T) {
	for name, c := range map[string]struct{ got, want []string }{
		"all":    {Order(), []string{"LDS", "RDS", "SRDS", "VHDS", "CDS", "EDS", "LEDS", "SDS", "ECDS", "RTDS"}},
		"core":   {Core(), []string{"LDS", "RDS", "CDS", "EDS"}},
		"words":  {ShortTypes(), []string{"CDS", "ECDS", "EDS", "HDS", "LDS", "LEDS", "NDS", "PCDS", "RDS", "RTDS", "SDS", "SRDS", "VHDS", "WADS", "WDS"}},
		"events": {FileEvents(), []string{"rename", "write", "create", "read", "delete", "swap", "change"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %q", name, c.got)
		}
	}
	for url, want := range map[string]string{
		TypePrefix + "envoy.config.cluster.v3.Cluster": "CDS", TypePrefix + "envoy.api.v2.Cluster": "v2.CDS",
		"envoy.config.cluster.v3.Cluster": "", TypePrefix + "a.B": "", "": "",
	} {
		if got := TypeWord(url); got != want {
			t.Errorf("%q: %q", url, got)
		}
	}
	for url, want := range map[string]bool{
		TypePrefix + ResourceV3: true, TypePrefix + ResourceV2: true, ResourceV3: true, TypePrefix + "a.Resource": false, "": false,
	} {
		if IsWrapper(url) != want {
			t.Errorf("%q is a wrapper: %v", url, !want)
		}
	}
	if got := ByURL("type.googleapis.com/a.B"); !reflect.DeepEqual(got, Type{}) {
		t.Errorf("%+v", got)
	}
	if got := ByShort("AB"); !reflect.DeepEqual(got, Type{}) {
		t.Errorf("%+v", got)
	}
}
