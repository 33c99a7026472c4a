package xdstest

import (
	"context"
	"slices"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/xdsproxy/xdsproxy/session"
)

// What one end sent is what the other received, byte for byte and in order,
// in the accounts of both.
func TestAccountsOfBothEndsAgree(t *testing.T) {
	ctx, cancel := context.WithCancel(limited(t))
	server, client := NewAccount(), NewAccount()
	control, err := StartControlPlane(Options{Listen: "127.0.0.1:0", Account: server, ResendPause: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	c := NewSotWClient(ClientOptions{Dial: control.Addr(), Node: &corev3.Node{Id: "n1"}, Account: client})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); err != nil {
			t.Errorf("client: %v", err)
		}
	}()
	defer func() { cancel(); <-done; control.Stop() }()

	set := func(w World) {
		t.Helper()
		if err := control.Set(ctx, "n1", w); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(cond func(SotWState) bool) {
		t.Helper()
		if err := c.Wait(ctx, cond); err != nil {
			t.Fatal(err)
		}
	}
	set(World{Clusters: []*clusterv3.Cluster{BrokenCluster("c1", ADS())}})
	wait(func(st SotWState) bool { return st.Rejected[resource.ClusterType] > 2 })
	endpoints := Endpoints("c1", "127.0.0.1:80")
	set(World{
		Clusters:  []*clusterv3.Cluster{Cluster("c1", ADS())},
		Endpoints: []*endpointv3.ClusterLoadAssignment{endpoints},
	})
	// The client is at rest when the last type it asks for is acknowledged; the
	// server's account is then behind by what is under way.
	settle := func() {
		t.Helper()
		sent := len(bySide(client, session.Client))
		if err := server.Wait(ctx, func([]Record) bool { return len(bySide(server, session.Client)) == sent }); err != nil {
			t.Fatalf("the server received %d of %d messages: %v", len(bySide(server, session.Client)), sent, err)
		}
	}
	wait(func(st SotWState) bool { return st.Accepted[resource.ListenerType] != "" })
	settle()
	control.Stop()
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	wait(func(st SotWState) bool {
		return st.Streams > 1 && st.Fresh[resource.ClusterType] && st.Fresh[resource.EndpointType]
	})
	settle()

	for _, side := range []session.Side{session.Client, session.Server} {
		s, c := bySide(server, side), bySide(client, side)
		if !slices.EqualFunc(s, c, func(a, b Record) bool {
			return a.Stream == b.Stream && a.Method == b.Method && a.Len == b.Len && a.Sum == b.Sum &&
				a.Nonce == b.Nonce && a.Version == b.Version && a.TypeURL == b.TypeURL && a.Error == b.Error
		}) {
			t.Errorf("messages of the %v: the server's account has %d, the client's %d, and they differ:\n%+v\n%+v", side, len(s), len(c), s, c)
		}
	}
}

func bySide(a *Account, side session.Side) []Record {
	return slices.DeleteFunc(a.Messages(), func(r Record) bool { return r.Side != side })
}
