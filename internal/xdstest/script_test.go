package xdstest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
)

// Two scripted ends play a stream that the server ends, and one that the
// client does, out of step with each other: what comes early waits.
func TestScript(t *testing.T) {
	ask := func(typeURL, nonce string) Move {
		return Say(&discovery.DiscoveryRequest{TypeUrl: typeURL, ResponseNonce: nonce})
	}
	answer := func(typeURL, nonce string) Move {
		return Say(&discovery.DiscoveryResponse{TypeUrl: typeURL, Nonce: nonce})
	}
	const cds, lds = resource.ClusterType, resource.ListenerType
	done := false
	s, err := StartScript("127.0.0.1:0",
		Part{Hear(lds, ""), answer(lds, "1"), Hear(cds, ""), answer(cds, "2"), Hear(cds, "2"), End(codes.Unavailable, "over")},
		Part{Hear(cds, ""), answer(cds, "1"), Do(func() { done = true })},
	)
	if err != nil {
		t.Fatal(err)
	}
	err = PlayClient(limited(t), s.Addr(), SotWStream,
		Part{ask(cds, ""), ask(lds, ""), Hear(cds, "2"), Hear(lds, "1"), ask(cds, "2"), Alone()},
		Part{ask(cds, ""), Hear(cds, "1"), Pause(1), End(codes.OK, "")},
	)
	if err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if !done {
		t.Error("the server did not come to its last move")
	}
}

// What does not happen is an error that says where the play stopped.
func TestScriptBreaksOff(t *testing.T) {
	const cds = resource.ClusterType
	answer := Say(&discovery.DeltaDiscoveryResponse{TypeUrl: cds, Nonce: "1"})
	s, err := StartScript("127.0.0.1:0", Part{Hear(cds, ""), answer, Hear(cds, "7")}, Part{})
	if err != nil {
		t.Fatal(err)
	}
	ask := Say(&discovery.DeltaDiscoveryRequest{TypeUrl: cds})
	if err := PlayClient(limited(t), s.Addr(), DeltaStream, Part{ask, Hear(cds, "1"), End(codes.OK, "")}); err != nil {
		t.Error(err)
	}
	err = s.Stop()
	if err == nil {
		t.Fatal("the server heard what was never said")
	}
	for _, text := range []string{`move 3 of 3 (hear Cluster "7")`, "1 parts of the server were not begun"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// A client of deltas refuses what Envoy would, and keeps of what comes what it does not
// refuse.
func TestDeltaRefusals(t *testing.T) {
	const cds = resource.ClusterType
	answer := func(nonce, version string, removed []string, clusters ...*clusterv3.Cluster) Move {
		m := &discovery.DeltaDiscoveryResponse{TypeUrl: cds, Nonce: nonce, RemovedResources: removed}
		for _, c := range clusters {
			m.Resources = append(m.Resources, &discovery.Resource{Name: c.GetName(), Version: version, Resource: packed(c)})
		}
		return Say(m)
	}
	played := make(chan struct{})
	s, err := StartScript("127.0.0.1:0", Part{
		Hear(cds, ""), answer("1", "v1", nil, Cluster("a", ADS()), Cluster("b", ADS())), Hear(cds, "1"),
		answer("2", "v2", nil, BrokenCluster("a", ADS())), Hear(cds, "2"),
		answer("3", "v3", []string{"b"}, Cluster("c", ADS())), Hear(cds, "3"),
		answer("4", "v4", []string{"c"}, BrokenCluster("d", ADS())), Hear(cds, "4"),
		Do(func() { close(played) }), Alone(),
	})
	if err != nil {
		t.Fatal(err)
	}
	client := NewDeltaClient(ClientOptions{Dial: s.Addr()})
	client.Subscribe(cds)
	ctx, cancel := context.WithCancel(limited(t))
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- client.Run(ctx) }()
	var got string
	if err := client.Wait(ctx, func(st DeltaState) bool {
		got = fmt.Sprint(st.Responses, st.Rejected[cds], st.Held[cds])
		return st.Responses == 4
	}); err != nil {
		t.Error(err)
	}
	if want := "4 2 map[a:v1 c:v3]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	select {
	case <-played:
	case <-ctx.Done():
	}
	cancel()
	<-over
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
