package check_test

import (
	"fmt"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	endpointsURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// soakWorld makes the entries of a session with many clients and gives them to
// a Checker, one at a time. It keeps none of them.
type soakWorld struct {
	tb     testing.TB
	k      *check.Checker
	seq    session.Seq
	now    time.Time
	conns  session.ConnID
	stream session.StreamID
	nonces uint64
	graver []check.Finding // than hints: a world without mistakes has none
}

func newSoakWorld(tb testing.TB, k *check.Checker) *soakWorld {
	return &soakWorld{tb: tb, k: k, now: time.Unix(1_750_000_000, 0)}
}

// step gives the Checker the next entry, a moment after the one before.
func (w *soakWorld) step(e session.Entry) {
	w.seq++
	w.now = w.now.Add(100 * time.Microsecond)
	e.Seq, e.Time = w.seq, w.now
	for _, f := range w.k.Step(&e).Findings {
		if f.Severity > check.Info && len(w.graver) < 10 {
			w.graver = append(w.graver, f)
		}
	}
}

// rest lets time pass.
func (w *soakWorld) rest(d time.Duration) {
	w.now = w.now.Add(d)
	w.step(session.Entry{Kind: session.KindTime, Side: session.Proxy})
}

// nonce looks like a UUID, and never comes again.
func (w *soakWorld) nonce() string {
	w.nonces++
	return fmt.Sprintf("%08x-8d4f-4c1e-9a52-%012x", uint32(w.nonces)*2654435761, w.nonces)
}

// soakNode and soakName have about 80 characters, of which those in the middle
// differ, as in a mesh.
func soakNode(i int) string {
	return fmt.Sprintf("sidecar~10.%d.%d.%d~checkout-%05d-6d5f9c7b4-x2xkq.namespace-03~namespace-03.svc.cluster.local", i>>16&255, i>>8&255, i&255, i)
}

func soakName(i int) string {
	return fmt.Sprintf("outbound|8080|primary|service-%05d-of-the-checkout-team.namespace-03.svc.cluster.local", i)
}

func soakNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = soakName(i)
	}
	return names
}

// soakCluster gets its endpoints by EDS.
func soakCluster(name string) proto.Message {
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
			ResourceApiVersion:    corev3.ApiVersion_V3,
		}},
	}
}

// soakEndpoints are two endpoints, others for each variant.
func soakEndpoints(name string, variant int) proto.Message {
	one := func(last int) *endpointv3.LbEndpoint {
		return &endpointv3.LbEndpoint{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: &corev3.Address{
				Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address:       fmt.Sprintf("10.%d.%d.%d", variant>>8&255, variant&255, last),
					PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: uint32(1024 + variant>>16)},
				}},
			}}},
			LoadBalancingWeight: wrapperspb.UInt32(1),
		}
	}
	return &endpointv3.ClusterLoadAssignment{ClusterName: name, Endpoints: []*endpointv3.LocalityLbEndpoints{{
		Locality:            &corev3.Locality{Region: "eu-central-1", Zone: "eu-central-1a"},
		LbEndpoints:         []*endpointv3.LbEndpoint{one(1), one(2)},
		LoadBalancingWeight: wrapperspb.UInt32(2),
	}}}
}

func (w *soakWorld) any(m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		w.tb.Fatal(err)
	}
	return a
}

// sotw and delta are a resource as the field of a response. All responses with
// the resource share its bytes, as those do that are read from a recording.
func (w *soakWorld) sotw(m proto.Message) []byte {
	return marshal(w.tb, &discovery.DiscoveryResponse{Resources: []*anypb.Any{w.any(m)}})
}

func (w *soakWorld) delta(name, version string, m proto.Message) []byte {
	return marshal(w.tb, &discovery.DeltaDiscoveryResponse{Resources: []*discovery.Resource{{Name: name, Version: version, Resource: w.any(m)}}})
}

// soakMesh is what a control plane has: a cluster for each name, with its
// endpoints, in the form of one of the two protocols.
type soakMesh struct {
	w        *soakWorld
	delta    bool
	names    []string
	cds, eds session.Chunks
	versions []string // delta: of each of eds
	push     int
	prefix   string // of versions
}

func newSoakMesh(w *soakWorld, names int, delta bool) *soakMesh {
	m := &soakMesh{w: w, delta: delta, names: soakNames(names), prefix: "2026-01-01T00:00:00Z/"}
	m.cds, m.eds, m.versions = make(session.Chunks, names), make(session.Chunks, names), make([]string, names)
	for i, name := range m.names {
		if m.cds[i] = w.sotw(soakCluster(name)); delta {
			m.cds[i] = w.delta(name, "1", soakCluster(name))
		}
	}
	m.change(0, names)
	return m
}

// change makes a new version, with other endpoints for n clusters from the
// given one on.
func (m *soakMesh) change(from, n int) {
	m.push++
	for i := range n {
		i = (from + i) % len(m.names)
		endpoints := soakEndpoints(m.names[i], m.push)
		if m.delta {
			m.versions[i] = m.version()
			m.eds[i] = m.w.delta(m.names[i], m.version(), endpoints)
		} else {
			m.eds[i] = m.w.sotw(endpoints)
		}
	}
}

func (m *soakMesh) version() string { return fmt.Sprint(m.prefix, m.push) }

// last are n of the endpoints, from the given one on.
func (m *soakMesh) last(from, n int) session.Chunks {
	out := make(session.Chunks, n)
	for i := range out {
		out[i] = m.eds[(from+i)%len(m.eds)]
	}
	return out
}
