package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsproxy/xdsproxy/internal/xdstest"
)

const (
	cds = resource.ClusterType
	eds = resource.EndpointType
	lds = resource.ListenerType
	rds = resource.RouteType
)

// Moves of scripted ends.
var (
	hear  = xdstest.Hear
	pause = xdstest.Pause
	leave = xdstest.End(codes.OK, "")
)

func scriptedNode() *corev3.Node {
	return &corev3.Node{Id: "scripted", Cluster: "e2e", UserAgentName: "scripted"}
}

// ask is a request of a client that repeats its node each time.
func ask(typeURL, version, nonce string, names ...string) xdstest.Move {
	return xdstest.Say(&discovery.DiscoveryRequest{
		TypeUrl: typeURL, VersionInfo: version, ResponseNonce: nonce, ResourceNames: names, Node: scriptedNode(),
	})
}

// anonymous is the first request of a client that does not say who it is.
func anonymous(typeURL string) xdstest.Move {
	return xdstest.Say(&discovery.DiscoveryRequest{TypeUrl: typeURL})
}

func refuse(typeURL, version, nonce, why string, names ...string) xdstest.Move {
	return xdstest.Say(&discovery.DiscoveryRequest{
		TypeUrl: typeURL, VersionInfo: version, ResponseNonce: nonce, ResourceNames: names, Node: scriptedNode(),
		ErrorDetail: &rpcstatus.Status{Code: int32(codes.InvalidArgument), Message: why},
	})
}

// answer is a response of a server.
func answer(typeURL, version, nonce string, resources ...proto.Message) xdstest.Move {
	m := &discovery.DiscoveryResponse{TypeUrl: typeURL, VersionInfo: version, Nonce: nonce}
	for _, r := range resources {
		m.Resources = append(m.Resources, packed(r))
	}
	return xdstest.Say(m)
}

// change is a response of a delta server, whose resources all have this version.
func change(typeURL, version, nonce string, removed []string, resources ...proto.Message) xdstest.Move {
	m := &discovery.DeltaDiscoveryResponse{TypeUrl: typeURL, Nonce: nonce, RemovedResources: removed}
	for _, r := range resources {
		m.Resources = append(m.Resources, &discovery.Resource{
			Name: cache.GetResourceName(r), Version: version, Resource: packed(r),
		})
	}
	return xdstest.Say(m)
}

func packed(r proto.Message) *anypb.Any {
	a := &anypb.Any{}
	if err := anypb.MarshalFrom(a, r, proto.MarshalOptions{Deterministic: true}); err != nil {
		panic(err) // of a message that this test has written
	}
	return a
}

// endpoints are those of clusters, one each.
func endpoints(t *testing.T, clusters ...string) []proto.Message {
	t.Helper()
	m := emptyMesh(nil)
	var out []proto.Message
	for _, name := range clusters {
		m.endpointsOf(t, name, 1)
		out = append(out, m.endpoints[name])
	}
	return out
}

// between records what is said between an upstream and whoever play lets dial
// the proxy, and returns the recording.
func between(t *testing.T, upstream string, play func(ctx context.Context, addr string)) string {
	t.Helper()
	p := startProxy(t, upstream)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	play(ctx, p.addr)
	time.Sleep(quiet)
	p.stop(t)
	return p.file
}

// bothScripted plays a server's part against a client's.
func bothScripted(t *testing.T, method string, server, client xdstest.Part) string {
	t.Helper()
	s := startScript(t, server)
	file := between(t, s.Addr(), func(ctx context.Context, addr string) {
		if err := xdstest.PlayClient(ctx, addr, method, client); err != nil {
			t.Error(err)
		}
	})
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	return file
}

func startScript(t *testing.T, parts ...xdstest.Part) *xdstest.ScriptedServer {
	t.Helper()
	s, err := xdstest.StartScript("127.0.0.1:0", parts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// atSotWClient plays a server's part against a client with Envoy's manners.
func atSotWClient(t *testing.T, server xdstest.Part) string {
	t.Helper()
	played := make(chan struct{})
	s := startScript(t, append(slices.Clone(server), xdstest.Do(func() { close(played) })))
	file := between(t, s.Addr(), func(ctx context.Context, addr string) {
		client := xdstest.NewSotWClient(xdstest.ClientOptions{Dial: addr, Node: scriptedNode()})
		runUntil(t, ctx, played, client.Run)
	})
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	return file
}

// atDeltaClient plays a server's parts, stream by stream, against a client that
// is subscribed to all clusters.
func atDeltaClient(t *testing.T, server ...xdstest.Part) string {
	t.Helper()
	played := make(chan struct{})
	last := len(server) - 1
	server[last] = append(server[last], xdstest.Do(func() { close(played) }))
	s := startScript(t, server...)
	file := between(t, s.Addr(), func(ctx context.Context, addr string) {
		client := xdstest.NewDeltaClient(xdstest.ClientOptions{Dial: addr, Node: scriptedNode()})
		client.Subscribe(cds)
		runUntil(t, ctx, played, client.Run)
	})
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	return file
}

// atEnvoy plays a server's part against an Envoy that must find clusters and
// listeners at first.
func atEnvoy(t *testing.T, v variant, server xdstest.Part) string {
	t.Helper()
	tool(t, "envoy", "envoy", "_bin", "envoy")
	played := make(chan struct{})
	s := startScript(t, append(slices.Clone(server), xdstest.Do(func() { close(played) })))
	file := between(t, s.Addr(), func(ctx context.Context, addr string) {
		e := startEnvoy(t, v, envoyNode, addr)
		select {
		case <-played:
		case <-ctx.Done():
			t.Error("the play does not come to its end")
		}
		e.stop(t)
	})
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	return file
}

// runUntil runs a client until the play is over.
func runUntil(t *testing.T, ctx context.Context, over <-chan struct{}, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	select {
	case <-over:
	case <-ctx.Done():
		t.Error("the play does not come to its end")
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// atControlPlane plays a client's parts at go-control-plane, which knows the
// mesh of an Envoy.
func atControlPlane(t *testing.T, client ...xdstest.Part) string {
	t.Helper()
	c := startControlPlaneAs(t, scriptedNode().GetId(), xdstest.Options{OwnVersions: true})
	c.set(t, newMesh(t, xdstest.ADS()).world())
	return between(t, c.Addr(), func(ctx context.Context, addr string) {
		if err := xdstest.PlayClient(ctx, addr, xdstest.SotWStream, client...); err != nil {
			t.Error(err)
		}
	})
}
