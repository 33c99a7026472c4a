package synth

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	aggregatev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/clusters/aggregate/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// cluster has its endpoints by EDS, or is an aggregate, or else is of the one
// remaining type that gRPC clients accept too.
func (m *maker) cluster() proto.Message {
	c := &clusterv3.Cluster{
		Name: m.name, AltStatName: m.label, ConnectTimeout: durationpb.New(5 * time.Second),
		TransportSocket: m.upstreamTLS(), Metadata: m.metadata(),
	}
	switch refs := &m.r.Refs; {
	case refs.EDS:
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS}
		c.EdsClusterConfig = &clusterv3.Cluster_EdsClusterConfig{EdsConfig: m.source(), ServiceName: refs.EDSName}
	case len(refs.Clusters) > 0:
		c.LbPolicy = clusterv3.Cluster_CLUSTER_PROVIDED
		c.ClusterDiscoveryType = &clusterv3.Cluster_ClusterType{ClusterType: &clusterv3.Cluster_CustomClusterType{
			Name: "envoy.clusters.aggregate", TypedConfig: m.any(&aggregatev3.ClusterConfig{Clusters: refs.Clusters}),
		}}
	default:
		c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}
		if m.r.NotGRPC {
			c.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}
		}
		c.LoadAssignment = &endpointv3.ClusterLoadAssignment{ClusterName: "backend", Endpoints: group("backend.example", 80, "")}
	}
	if m.r.Invalid {
		c.ConnectTimeout = durationpb.New(0) // must be greater than zero
	}
	return c
}

// group is one locality with one endpoint.
func group(host string, port uint32, hostname string) []*endpointv3.LocalityLbEndpoints {
	return []*endpointv3.LocalityLbEndpoints{{
		Locality:            &corev3.Locality{Region: "region", Zone: "zone"},
		LoadBalancingWeight: wrapperspb.UInt32(1),
		LbEndpoints:         []*endpointv3.LbEndpoint{lbEndpoint(host, port, hostname)},
	}}
}

func lbEndpoint(host string, port uint32, hostname string) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{
		Endpoint: &endpointv3.Endpoint{Address: address(host, port), Hostname: hostname},
	}}
}

func (m *maker) port() uint32 {
	if m.r.Invalid {
		return noPort
	}
	return 8080
}

func (m *maker) endpoints() proto.Message {
	c := &endpointv3.ClusterLoadAssignment{ClusterName: m.name, Endpoints: group("192.0.2.1", m.port(), m.label)}
	c.Endpoints[0].LbEndpoints[0].Metadata = m.metadata()
	for i, name := range m.r.Refs.Groups {
		c.Endpoints = append(c.Endpoints, &endpointv3.LocalityLbEndpoints{
			Locality:            &corev3.Locality{Region: "region", Zone: "zone", SubZone: numbered("group", i)},
			LoadBalancingWeight: wrapperspb.UInt32(1),
			LbConfig: &endpointv3.LocalityLbEndpoints_LedsClusterLocalityConfig{
				LedsClusterLocalityConfig: &endpointv3.LedsClusterLocalityConfig{LedsConfig: m.source(), LedsCollectionName: name},
			},
		})
	}
	return c
}

// endpoint has no name, so that the name becomes part of the content.
func (m *maker) endpoint() proto.Message {
	e := lbEndpoint("192.0.2.1", m.port(), label(m.name)+"/"+m.label)
	e.Metadata = m.metadata()
	return e
}
