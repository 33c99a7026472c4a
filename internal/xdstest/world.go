package xdstest

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// World is everything that one node is to know at one time.
type World struct {
	Clusters  []*clusterv3.Cluster
	Endpoints []*endpointv3.ClusterLoadAssignment
	Listeners []*listenerv3.Listener
	Routes    []*routev3.RouteConfiguration
	Secrets   []*tlsv3.Secret
}

// snapshot gives every type the same version, as many control planes do:
// a push then repeats types that did not change.
func (w World) snapshot(version string) (*cache.Snapshot, error) {
	return cache.NewSnapshot(version, map[resource.Type][]types.Resource{
		resource.ClusterType:  resources(w.Clusters),
		resource.EndpointType: resources(w.Endpoints),
		resource.ListenerType: resources(w.Listeners),
		resource.RouteType:    resources(w.Routes),
		resource.SecretType:   resources(w.Secrets),
	})
}

func resources[T types.Resource](list []T) []types.Resource {
	out := make([]types.Resource, len(list))
	for i, r := range list {
		out[i] = r
	}
	return out
}
