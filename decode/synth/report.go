package synth

import (
	"time"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	loadv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/decode"
)

// LoadRequest is a LoadStatsRequest: each cluster reports one locality with one
// finished request. Version 2 has the same bytes.
type LoadRequest struct {
	Node     *decode.Node
	Clusters []string
}

// LoadResponse is a LoadStatsResponse.
type LoadResponse struct {
	Clusters []string
	SendAll  bool
	Interval time.Duration
}

// StatusRequest is a ClientStatusRequest for one node.
type StatusRequest struct{ Node string }

// StatusResponse is a ClientStatusResponse about one node.
type StatusResponse struct {
	Node      *decode.Node
	Resources []ResourceStatus
}

// ResourceStatus is what a client says of one resource.
type ResourceStatus struct {
	TypeURL, Name, Version string
	Status                 string // one of Statuses
}

// Marshal returns the message in protobuf.
func (q *LoadRequest) Marshal() []byte {
	m := &loadv3.LoadStatsRequest{Node: node(q.Node)}
	for _, name := range q.Clusters {
		m.ClusterStats = append(m.ClusterStats, &endpointv3.ClusterStats{
			ClusterName: name, LoadReportInterval: durationpb.New(10 * time.Second),
			UpstreamLocalityStats: []*endpointv3.UpstreamLocalityStats{{
				Locality: &corev3.Locality{Region: "region", Zone: "zone"}, TotalSuccessfulRequests: 1, TotalIssuedRequests: 1,
			}},
		})
	}
	return marshal(m)
}

// Marshal returns the message in protobuf.
func (p *LoadResponse) Marshal() []byte {
	m := &loadv3.LoadStatsResponse{Clusters: p.Clusters, SendAllClusters: p.SendAll}
	if p.Interval != 0 {
		m.LoadReportingInterval = durationpb.New(p.Interval)
	}
	return marshal(m)
}

// Marshal returns the message in protobuf.
func (q *StatusRequest) Marshal() []byte {
	return marshal(&statusv3.ClientStatusRequest{NodeMatchers: []*matcherv3.NodeMatcher{{
		NodeId: &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: q.Node}},
	}}})
}

// Marshal returns the message in protobuf.
func (p *StatusResponse) Marshal() []byte {
	c := &statusv3.ClientConfig{Node: node(p.Node)}
	for _, r := range p.Resources {
		c.GenericXdsConfigs = append(c.GenericXdsConfigs, &statusv3.ClientConfig_GenericXdsConfig{
			TypeUrl: r.TypeURL, Name: r.Name, VersionInfo: r.Version,
			ClientStatus: adminv3.ClientResourceStatus(adminv3.ClientResourceStatus_value[r.Status]),
		})
	}
	return marshal(&statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{c}})
}

// HeldResponse is what a client says that it holds.
type HeldResponse struct {
	Node  *decode.Node
	Items []HeldItem
}

// HeldItem is one resource in one state, one of HeldStates.
type HeldItem struct {
	Resource
	State decode.HeldState
}

// HeldStates lists the states that can be made.
func HeldStates() []decode.HeldState {
	return []decode.HeldState{
		decode.HeldActive, decode.HeldStatic, decode.HeldWarming, decode.HeldAwaited, decode.HeldDraining, decode.HeldFailed, decode.HeldGone,
	}
}

// HasContent says whether a client that stands so with a resource shows its content.
func HasContent(s decode.HeldState) bool {
	return s == decode.HeldActive || s == decode.HeldStatic || s == decode.HeldWarming || s == decode.HeldDraining
}

// Marshal returns the message in protobuf.
func (p *HeldResponse) Marshal() []byte {
	c := &statusv3.ClientConfig{Node: node(p.Node)}
	for i := range p.Items {
		it := &p.Items[i]
		g := &statusv3.ClientConfig_GenericXdsConfig{
			TypeUrl: it.TypeURL, Name: it.Name, VersionInfo: it.Version, IsStaticResource: it.State == decode.HeldStatic,
		}
		switch it.State {
		case decode.HeldActive, decode.HeldStatic:
			g.ClientStatus = adminv3.ClientResourceStatus_ACKED
		case decode.HeldWarming, decode.HeldAwaited:
			g.ClientStatus = adminv3.ClientResourceStatus_REQUESTED
		case decode.HeldDraining, decode.HeldGone:
			g.ClientStatus = adminv3.ClientResourceStatus_DOES_NOT_EXIST
		case decode.HeldFailed:
			g.ClientStatus, g.ErrorState = adminv3.ClientResourceStatus_NACKED, &adminv3.UpdateFailureState{Details: it.Content}
		}
		if HasContent(it.State) {
			g.XdsConfig = &anypb.Any{TypeUrl: it.TypeURL, Value: it.Body()}
		}
		c.GenericXdsConfigs = append(c.GenericXdsConfigs, g)
	}
	return marshal(&statusv3.ClientStatusResponse{Config: []*statusv3.ClientConfig{c}})
}

// Statuses lists what a client may say of a resource.
func Statuses() []string {
	out := make([]string, len(adminv3.ClientResourceStatus_name))
	for i := range out {
		out[i] = adminv3.ClientResourceStatus_name[int32(i)]
	}
	return out
}
