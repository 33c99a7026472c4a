package xdstest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	loadstats "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/session"
)

// What is served is the same every time, byte for byte.
func TestResources(t *testing.T) {
	var b strings.Builder
	for _, m := range []any{
		Cluster("c1", PerType("xds")), Cluster("c1", PerTypeDelta("xds")), BrokenCluster("c2", Self()), TLSCluster("c3", "s1", ADS()),
		Endpoints("c1", "127.0.0.1:80", "[::1]:8080"), Endpoints("c2"), DirectRoute("r1", "hello"), ClusterRoute("r2", "c1", "c2", "c3"),
		Listener("l1", "0.0.0.0:80", "r1", ADS()), APIListener("l2", "r2"), FakeSecret("s1", 2),
	} {
		// The text of a message has spaces that vary on purpose.
		fmt.Fprintln(&b, strings.Join(strings.Fields(fmt.Sprint(m)), " "))
	}
	golden.Is(t, "testdata/resources.golden", b.String())
	for _, bad := range []string{"nowhere", "127.0.0.1", "127.0.0.1:65536"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is an address", bad)
				}
			}()
			Endpoints("c", bad)
		}()
	}
}

// What a client makes of resources: Envoy's words, and what it asks for next.
func TestAccept(t *testing.T) {
	pack := func(cs ...*clusterv3.Cluster) (out []*anypb.Any) {
		for _, c := range cs {
			out = append(out, packed(c))
		}
		return out
	}
	nameless := Cluster("", ADS())
	for _, c := range []struct {
		typeURL string
		list    []*anypb.Any
		good    int
		want    string
	}{
		{resource.ClusterType, pack(Cluster("a", ADS()), Cluster("b", ADS())), 2, "<nil>"},
		{
			resource.ClusterType, pack(BrokenCluster("z", ADS()), Cluster("a", ADS()), BrokenCluster("b", ADS())), 1,
			"Error adding/updating cluster(s) b: Proto constraint validation failed (invalid Cluster.ConnectTimeout: value must be greater than 0s), " +
				"z: Proto constraint validation failed (invalid Cluster.ConnectTimeout: value must be greater than 0s)",
		},
		{resource.ListenerType, pack(nameless), 0, "Error applying resource(s) : Proto constraint validation failed (invalid Cluster.Name: value length must be at least 1 runes)"},
	} {
		good, err := accept(c.typeURL, c.list)
		if len(good) != c.good || fmt.Sprint(err) != c.want {
			t.Errorf("%d good, %v\nwant %s", len(good), err, c.want)
		}
	}
	if _, err := accept(resource.ClusterType, []*anypb.Any{{TypeUrl: "type.googleapis.com/no.such.Type"}}); err == nil {
		t.Error("an unknown type is accepted")
	}
	for want, got := range map[string]map[string][]string{
		"map[" + resource.EndpointType + ":[c]]":                                 references(Cluster("c", ADS())),
		"map[" + resource.EndpointType + ":[c] " + resource.SecretType + ":[s]]": references(TLSCluster("c", "s", ADS())),
		"map[" + resource.RouteType + ":[r]]":                                    references(Listener("l", "127.0.0.1:1", "r", ADS())),
		"map[]":                                                                  references(&clusterv3.Cluster{Name: "c"}),
	} {
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

// What terminals could take for a command is found, with what is around it.
func TestNasty(t *testing.T) {
	for _, c := range []struct{ text, at string }{
		{"plain\nté�xt \u00e4", ""},
		{"a\tb", `"a\tb"`},
		{Nasty, strconv.Quote(Nasty[:20])},
		{"x\xff", `"x\xff"`},
		{strings.Repeat("p", 70) + "\x1b" + strings.Repeat("q", 30), `"` + strings.Repeat("p", 60) + `\x1b` + strings.Repeat("q", 19) + `"`},
	} {
		at, found := Unprintable(c.text)
		if at != c.at || found != (c.at != "") {
			t.Errorf("%q: %s %v", c.text, at, found)
		}
	}
	if got := string(NastyScript([]byte(`x="NASTY"`))); !strings.Contains(got, `\x1b]0;x\a`) || strings.Contains(got, "NASTY") {
		t.Error(got)
	}
	peer := &session.Peer{Client: "c", Upstream: "u"}
	for _, e := range []session.Entry{
		{Kind: session.KindConnect, Peer: peer},
		{Kind: session.KindOpen, Headers: []session.Field{{Name: "a", Value: "b"}}},
		{Kind: session.KindMessage},
		{Kind: session.KindTrailer},
	} {
		MakeNasty(&e)
		got := fmt.Sprintf("%d headers, %d sent, %q", len(e.Headers), len(e.Sent), e.Problems)
		if e.Peer != nil {
			got = fmt.Sprintf("%q %v %v", e.Peer.Client, e.Peer.ClientTLS.Version == Nastier, e.Peer.ServerTLS == e.Peer.ClientTLS)
		}
		want := map[session.Kind]string{
			session.KindConnect: fmt.Sprintf("%q true true", "c"+Nastier), session.KindOpen: "2 headers, 3 sent, []",
			session.KindMessage: fmt.Sprintf("0 headers, 0 sent, %q", []string{"cannot read " + Nastier}), session.KindTrailer: "0 headers, 0 sent, []",
		}[e.Kind]
		if got != want {
			t.Errorf("%v: %s, want %s", e.Kind, got, want)
		}
	}
	if peer.Client != "c" || peer.ClientTLS != nil {
		t.Error("another entry's peer is changed")
	}
}

// A crowd holds its connections, and comes back when it is sent away.
func TestCrowd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	greeted := make(chan string)
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				close(greeted)
				return
			}
			line, _ := bufio.NewReader(c).ReadString('\n')
			_ = c.Close()
			greeted <- line
		}
	}()
	leave := make(chan func())
	go func() { leave <- Crowd(l.Addr().String(), "hi\n", 2) }()
	ctx := limited(t)
	for range 4 {
		select {
		case line := <-greeted:
			if line != "hi\n" {
				t.Errorf("%q", line)
			}
		case <-ctx.Done():
			t.Fatal("nobody comes")
		}
	}
	out := <-leave
	left := make(chan struct{})
	go func() { defer close(left); out() }()
	for {
		select {
		case <-greeted:
		case <-left:
			return
		case <-ctx.Done():
			t.Fatal("it does not leave")
		}
	}
}

// A control plane tells of those who unsubscribe, and of nobody else.
func TestUnsubscribed(t *testing.T) {
	told := make(chan struct{}, 10)
	c, err := StartControlPlane(Options{Listen: "127.0.0.1:0", Unsubscribed: func() { told <- struct{}{} }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	ctx := limited(t)
	conn, err := ClientOptions{Dial: c.Addr()}.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := discovery.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*discovery.DeltaDiscoveryRequest{
		{ResourceNamesUnsubscribe: []string{"a"}}, {ResourceNamesSubscribe: []string{"a", "b"}}, {ResourceNamesSubscribe: []string{"c"}}, {ResourceNamesSubscribe: []string{"d"}}, {ResourceNamesUnsubscribe: []string{"b"}},
	} {
		r.TypeUrl = resource.ClusterType
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		select {
		case <-told:
		case <-ctx.Done():
			t.Fatal("who unsubscribes is not told of")
		}
	}
	if err := stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	for err == nil { // when it ends all has been heard
		_, err = stream.Recv()
	}
	if n := len(told); n != 0 {
		t.Errorf("%d are told of who did not unsubscribe", n)
	}
}

// A control plane refuses whom it does not admit, asks for loads, and lets its streams end.
func TestControlPlane(t *testing.T) {
	account := NewAccount()
	admit := true
	c, err := StartControlPlane(Options{Listen: "127.0.0.1:0", Account: account, Admit: func(md metadata.MD) error {
		if len(md.Get("user-agent")) == 0 || !admit {
			return status.Error(codes.PermissionDenied, "not you")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	if err := c.Start(); err != nil { // it runs
		t.Error(err)
	}
	ctx := limited(t)
	conn, err := ClientOptions{Dial: c.Addr()}.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	s, err := loadstats.NewLoadReportingServiceClient(conn).StreamLoadStats(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&loadstats.LoadStatsRequest{}); err != nil {
		t.Fatal(err)
	}
	if resp, err := s.Recv(); err != nil || !resp.GetSendAllClusters() || resp.GetLoadReportingInterval().AsDuration() != time.Second {
		t.Errorf("%v %v", resp, err)
	}
	if err := s.Send(&loadstats.LoadStatsRequest{}); err != nil {
		t.Error(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := s.Recv(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	admit = false
	ads := discovery.NewAggregatedDiscoveryServiceClient(conn)
	a, err := ads.StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("who is not admitted hears %v", err)
	}
	if err := account.Wait(ctx, func(all []Record) bool {
		return slices.ContainsFunc(all, func(r Record) bool { return r.Code == codes.PermissionDenied && r.Text == "not you" })
	}); err != nil {
		t.Error(err)
	}
	admit = true
	b, err := ads.StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Send(&discovery.DiscoveryRequest{TypeUrl: resource.ClusterType}); err != nil {
		t.Fatal(err)
	}
	if err := account.Wait(ctx, func(all []Record) bool { return all[len(all)-1].TypeURL == resource.ClusterType }); err != nil {
		t.Fatal(err)
	}
	c.Drain(ctx)
	c.Drain(ctx) // it is over
	c.Stop()
	if _, err := b.Recv(); err == nil {
		t.Error("a stream outlives its server")
	}
	if ctx.Err() != nil {
		t.Error("it had to be broken off")
	}
	if NewAccount().Records() != nil || (*Account)(nil).Records() != nil {
		t.Error("records of nothing")
	}
}

// Where one listens, and how that is dialed.
func TestAddresses(t *testing.T) {
	for addr, want := range map[string]string{"127.0.0.1:1": "passthrough:///127.0.0.1:1", "unix:@a": "unix-abstract:a", "unix:/a": "unix:/a"} {
		if got := target(addr); got != want {
			t.Errorf("%s: %s", addr, got)
		}
	}
	sock := "unix:" + filepath.Join(t.TempDir(), "s")
	l, err := Listen(sock)
	if err != nil || addressOf(l) != sock {
		t.Fatal(err)
	}
	freed := time.AfterFunc(100*time.Millisecond, func() { _ = l.Close() })
	defer freed.Stop()
	again, err := Listen(sock) // which is in use for a moment
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
	if _, err := Listen("nowhere:x"); err == nil || !strings.HasPrefix(err.Error(), "cannot listen on nowhere:x: ") {
		t.Error(err)
	}
}

// Moves as they are told of.
func TestMoves(t *testing.T) {
	for want, m := range map[string]Move{
		`say Cluster "1"`:  Say(&discovery.DiscoveryResponse{TypeUrl: resource.ClusterType, Nonce: "1"}),
		`hear Cluster "2"`: Hear(resource.ClusterType, "2"), "pause 1s": Pause(time.Second), "do": Do(func() {}), "end": End(0, ""), "alone": Alone(),
	} {
		if m.String() != want {
			t.Errorf("%v, want %s", m, want)
		}
	}
	s, err := StartScript("127.0.0.1:0", Part{Alone()})
	if err != nil {
		t.Fatal(err)
	}
	ask := Say(&discovery.DiscoveryRequest{TypeUrl: resource.ClusterType})
	err = PlayClient(limited(t), s.Addr(), SotWStream, Part{ask, End(0, "")}, Part{ask, Hear(resource.ClusterType, "1")})
	// The end may be there before the client has asked.
	if !errors.Is(err, errGone) || !strings.HasPrefix(err.Error(), "the client's part 2: move ") {
		t.Errorf("who comes after the last part: %v", err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}
