package e2e

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

// crowdPlane is a control plane as people have them at two in the morning: it
// serves a crowd of sidecars, and sends one Envoy a cluster that this rejects,
// again at once for each rejection, until it has been rejected so many times.
type crowdPlane struct {
	discovery.UnimplementedAggregatedDiscoveryServiceServer
	looped string // the node of that Envoy
	rounds int64

	rejected atomic.Int64
	at       string
}

func startCrowdPlane(t *testing.T, looped string, rounds int64) *crowdPlane {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &crowdPlane{looped: looped, rounds: rounds, at: l.Addr().String()}
	s := grpc.NewServer(grpc.MaxConcurrentStreams(1000))
	discovery.RegisterAggregatedDiscoveryServiceServer(s, p)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return p
}

// shopCluster is a name as Istio gives it.
func shopCluster(n int) string {
	return fmt.Sprintf("outbound|8080||shop-%02d.bookinfo.svc.cluster.local", n)
}

const shops = 20

func (p *crowdPlane) StreamAggregatedResources(s discovery.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	node, nonce := "", 0
	answered := map[string]bool{}
	send := func(typeURL, version string, resources ...proto.Message) error {
		nonce++
		r := &discovery.DiscoveryResponse{TypeUrl: typeURL, VersionInfo: version, Nonce: fmt.Sprint(nonce)}
		for _, m := range resources {
			packed, err := anypb.New(m)
			if err != nil {
				return err
			}
			r.Resources = append(r.Resources, packed)
		}
		return s.Send(r)
	}
	for {
		q, err := s.Recv()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if id := q.GetNode().GetId(); id != "" {
			node = id
		}
		bad := node == p.looped && q.GetTypeUrl() == resource.ClusterType
		switch {
		case bad && (q.GetErrorDetail() != nil || answered[q.GetTypeUrl()] && q.GetVersionInfo() == "1"):
			if q.GetErrorDetail() != nil && p.rejected.Add(1) == p.rounds {
				continue
			}
			err = send(resource.ClusterType, "2", append(p.clusters(), xdstest.BrokenCluster(shopCluster(shops), xdstest.ADS()))...)
		case answered[q.GetTypeUrl()] || q.GetTypeUrl() == resource.RouteType:
			// An ACK; nor is there an answer to who asks for routes.
		case q.GetTypeUrl() == resource.ClusterType:
			err = send(resource.ClusterType, "1", p.clusters()...)
		case q.GetTypeUrl() == resource.EndpointType:
			all := slices.Clone(q.GetResourceNames())
			loads := make([]proto.Message, len(all))
			for i, name := range all {
				loads[i] = xdstest.Endpoints(name, "127.0.0.1:9")
			}
			err = send(resource.EndpointType, "1", loads...)
		default:
			err = send(q.GetTypeUrl(), "1")
		}
		answered[q.GetTypeUrl()] = true
		if err != nil {
			return err
		}
	}
}

func (p *crowdPlane) clusters() []proto.Message {
	all := make([]proto.Message, shops)
	for n := range all {
		all[n] = xdstest.Cluster(shopCluster(n), xdstest.ADS())
	}
	return all
}

// sidecar is the node id of an Istio sidecar.
func sidecar(n int) string {
	return fmt.Sprintf("sidecar~10.0.%d.%d~reviews-v%d-7f9c6d8b5-%04x.bookinfo~bookinfo.svc.cluster.local", n/100, n%100, n%3, n*2654435761%65536)
}

// Which of the sidecars do not do what all others do.
const (
	rejects = 7  // the endpoints
	waits   = 13 // for routes, in vain
	silent  = 21 // and does not answer the endpoints
	leaves  = 29 // after the ACK of the clusters
)

// sidecars come one after the other, each on a connection of its own, and stay.
func sidecars(t *testing.T, addr string, n int) {
	t.Helper()
	for i := range n {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		ctx, cancel := context.WithCancel(t.Context())
		s, err := discovery.NewAggregatedDiscoveryServiceClient(conn).StreamAggregatedResources(ctx)
		if err != nil {
			t.Fatal(err)
		}
		say := func(q *discovery.DiscoveryRequest) {
			if err := s.Send(q); err != nil {
				t.Fatal(err)
			}
		}
		hear := func() *discovery.DiscoveryResponse {
			r, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		ack := func(r *discovery.DiscoveryResponse, names ...string) *discovery.DiscoveryRequest {
			return &discovery.DiscoveryRequest{TypeUrl: r.GetTypeUrl(), VersionInfo: r.GetVersionInfo(), ResponseNonce: r.GetNonce(), ResourceNames: names}
		}
		say(&discovery.DiscoveryRequest{TypeUrl: resource.ClusterType, Node: &corev3.Node{Id: sidecar(i), UserAgentName: "envoy"}})
		say(ack(hear()))
		of := i % 50
		names := []string{shopCluster(i % shops)}
		if of == leaves {
			cancel()
			continue
		}
		say(&discovery.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: names})
		r := hear()
		switch of {
		case rejects:
			q := ack(r, names...)
			q.VersionInfo, q.ErrorDetail = "", &status.Status{Code: int32(codes.Internal), Message: "malformed locality of " + names[0]}
			say(q)
		case waits:
			say(ack(r, names...))
			say(&discovery.DiscoveryRequest{TypeUrl: resource.RouteType, ResourceNames: []string{"8080"}})
		case silent:
		default:
			say(ack(r, names...))
		}
		_ = cancel // with the test
	}
}
