package xdstest

import (
	"fmt"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/decode/constraints"
)

// accept unpacks and validates resources as Envoy does: it returns the good
// ones by name, and an error in Envoy's words for the others.
func accept(typeURL string, list []*anypb.Any) (map[string]proto.Message, error) {
	good := make(map[string]proto.Message, len(list))
	var bad []string
	judge := constraints.New()
	for _, a := range list {
		m, err := a.UnmarshalNew()
		if err != nil {
			bad = append(bad, err.Error())
			continue
		}
		name := cache.GetResourceName(m)
		if v := judge.Violations(m.ProtoReflect(), 1); len(v) > 0 {
			bad = append(bad, fmt.Sprintf("%s: Proto constraint validation failed (invalid %s.%s)", name, m.ProtoReflect().Descriptor().Name(), inGo(v[0])))
			continue
		}
		good[name] = m
	}
	if len(bad) == 0 {
		return good, nil
	}
	slices.Sort(bad)
	what := "Error applying resource(s)"
	if typeURL == resource.ClusterType {
		what = "Error adding/updating cluster(s)"
	}
	return good, fmt.Errorf("%s %s", what, strings.Join(bad, ", "))
}

// inGo is a violation with the names that fields have in generated code.
func inGo(v constraints.Violation) string {
	name := ""
	for part := range strings.SplitSeq(v.Field, "_") {
		name += strings.ToUpper(part[:min(1, len(part))]) + part[min(1, len(part)):]
	}
	if v.Reason == "" {
		return name + "." + inGo(v.Inside[0])
	}
	return name + ": " + v.Reason
}

// references lists, sorted, what a resource makes its owner ask for next: the
// endpoints and secrets of clusters, the routes of listeners.
func references(m proto.Message) (typeNames map[string][]string) {
	typeNames = map[string][]string{}
	switch m := m.(type) {
	case *clusterv3.Cluster:
		if m.GetType() == clusterv3.Cluster_EDS {
			typeNames[resource.EndpointType] = []string{m.GetName()}
		}
		var tls tlsv3.UpstreamTlsContext
		if m.GetTransportSocket().GetTypedConfig().UnmarshalTo(&tls) == nil {
			for _, s := range tls.GetCommonTlsContext().GetTlsCertificateSdsSecretConfigs() {
				typeNames[resource.SecretType] = append(typeNames[resource.SecretType], s.GetName())
			}
		}
	case *listenerv3.Listener:
		for _, chain := range m.GetFilterChains() {
			for _, f := range chain.GetFilters() {
				var manager hcmv3.HttpConnectionManager
				if f.GetTypedConfig().UnmarshalTo(&manager) == nil && manager.GetRds() != nil {
					typeNames[resource.RouteType] = append(typeNames[resource.RouteType], manager.GetRds().GetRouteConfigName())
				}
			}
		}
	}
	return typeNames
}
