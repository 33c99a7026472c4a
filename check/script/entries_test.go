package script

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// outline is a session in few words a line.
func outline(s *Script) string {
	var b strings.Builder
	methods := map[session.StreamID]xds.Method{}
	content := map[session.StreamID]string{}
	for e := range s.Entries() {
		fmt.Fprintf(&b, "%d %v c%d s%d", e.Seq, e.Time.Sub(start).Round(time.Millisecond), e.Conn, e.Stream)
		if e.H2 != 0 {
			fmt.Fprintf(&b, "/%d", e.H2)
		}
		fmt.Fprintf(&b, " %v %v", e.Side, e.Kind)
		switch {
		case e.Peer != nil:
			fmt.Fprintf(&b, " %s", e.Peer.Client)
		case e.Kind == session.KindOpen:
			methods[e.Stream] = xds.LookupMethod(e.Method)
			fmt.Fprintf(&b, " %s", e.Method)
		case e.Status != nil:
			fmt.Fprintf(&b, " %+v", *e.Status)
		case e.GoAway != nil:
			fmt.Fprintf(&b, " %+v", *e.GoAway)
		case e.Message != nil:
			m := decode.Peek(methods[e.Stream], e.Side, content[e.Stream], e.Message.Data.Bytes())
			fmt.Fprintf(&b, " %s v=%q", m.Kind, m.Version)
		}
		for _, h := range e.Headers {
			switch h.Name {
			case ":status", "grpc-status", "grpc-message", ":event", ":from":
				fmt.Fprintf(&b, " %s=%s", h.Name, h.Value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func parseText(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Parse("test.xds", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A script gives the entries that a proxy would have recorded.
func TestEntries(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a stream and its reconnect", `
C> type=CDS V= N= R=[] node=n1
t=+2s S< type=CDS V=1 N=a res=[c1]
-- server-end code=14 msg="100% full"
t=+0.5s -- stream 2
C> type=CDS V=1 N= R=[] node=n1
-- client-half-close
-- server-end
`, `
1 0s c1 s0 client connect 198.18.0.1:40001
2 0s c1 s1/1 client open /envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources
3 0s c1 s1/1 client message DiscoveryRequest v=""
4 2s c1 s1/1 server header :status=200
5 2s c1 s1/1 server message DiscoveryResponse v="1"
6 2s c1 s1/1 server trailer {Code:14 Message:100% full Reset:0 WasReset:false HTTP:200} grpc-status=14 grpc-message=100%25 full
7 2.5s c2 s0 client connect 198.18.0.1:40002
8 2.5s c2 s2/1 client open /envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources
9 2.5s c2 s2/1 client message DiscoveryRequest v="1"
10 2.5s c2 s2/1 client half-close
11 2.5s c2 s2/1 server trailer {Code:0 Message: Reset:0 WasReset:false HTTP:200} :status=200 grpc-status=0
`},
		{"two streams on a connection, another node", `
-- stream 1 method=v2.StreamEndpoints
-- stream 2 conn=1 method=DeltaSecrets
-- stream 3 node=n2
@1 C> type= V= N= R=[e] node=n1
@3 D> type=CDS N= node=n2
@2 -- client-end code=8
-- goaway last=1 msg=bye
@1 -- cut by=client msg="the client closed the connection"
`, `
1 0s c1 s0 client connect 198.18.0.1:40001
2 0s c1 s1/1 client open /envoy.api.v2.EndpointDiscoveryService/StreamEndpoints
3 0s c1 s2/3 client open /envoy.service.secret.v3.SecretDiscoveryService/DeltaSecrets
4 0s c2 s0 client connect 198.18.0.2:40002
5 0s c2 s3/1 client open /envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources
6 0s c1 s1/1 client message DiscoveryRequest v=""
7 0s c2 s3/1 client message DeltaDiscoveryRequest v=""
8 0s c1 s2/3 client cancel {Code:8 Message: Reset:8 WasReset:true HTTP:0}
9 0s c2 s0 server goaway {LastStream:1 Code:0 Debug:bye}
10 0s c1 s1/1 client cancel {Code:-1 Message:the client closed the connection Reset:0 WasReset:false HTTP:0}
`},
		{"polls", `
P> type=CDS V= node=n1
p< 200 type=CDS V=1 res=[c1]
t=+1s p< 304
p< 500 body=no
t=+1s p< 200 type=CDS V=2 res=[c1]
P> type=CDS V=2
-- cut msg=timeout
`, `
1 0s c1 s0 client connect 198.18.0.1:40001
2 0s c1 s1 client open /v3/discovery:clusters
3 0s c1 s1 client message DiscoveryRequest v=""
4 0s c1 s1 client half-close
5 0s c1 s1 server header :status=200
6 0s c1 s1 server message DiscoveryResponse v="1"
7 0s c1 s1 server trailer {Code:-1 Message: Reset:0 WasReset:false HTTP:200}
8 1s c1 s2 client open /v3/discovery:clusters
9 1s c1 s2 client message DiscoveryRequest v="1"
10 1s c1 s2 client half-close
11 1s c1 s2 server header :status=304
12 1s c1 s2 server trailer {Code:-1 Message: Reset:0 WasReset:false HTTP:304}
13 1s c1 s3 client open /v3/discovery:clusters
14 1s c1 s3 client message DiscoveryRequest v="1"
15 1s c1 s3 client half-close
16 1s c1 s3 server header :status=500
17 1s c1 s3 server message DiscoveryResponse v=""
18 1s c1 s3 server trailer {Code:-1 Message: Reset:0 WasReset:false HTTP:500}
19 2s c1 s4 client open /v3/discovery:clusters
20 2s c1 s4 client message DiscoveryRequest v="1"
21 2s c1 s4 client half-close
22 2s c1 s4 server header :status=200
23 2s c1 s4 server message DiscoveryResponse v="2"
24 2s c1 s4 server trailer {Code:-1 Message: Reset:0 WasReset:false HTTP:200}
25 2s c1 s5 client open /v3/discovery:clusters
26 2s c1 s5 client message DiscoveryRequest v="2"
27 2s c1 s5 client half-close
28 2s c1 s5 server cancel {Code:-1 Message:timeout Reset:0 WasReset:false HTTP:0}
`},
		{"files, reports, status, time", `
F: rename a.tmp a.yaml type=CDS V=1 res=[c1]
F: delete a.yaml
F: write b.yaml type=CDS V=2 res=[c1]
L> node=n1
l< send_all=true interval=5s
t=+5s L> stats=[c1] x2
-- csds node=n1 CDS/c1=ACKED@1
-- tick
`, `
1 0s c0 s1 proxy open file:a.yaml
2 0s c0 s1 server header :event=rename :from=a.tmp
3 0s c0 s1 server message DiscoveryResponse v="1"
4 0s c0 s1 server header :event=delete
5 0s c0 s2 proxy open file:b.yaml
6 0s c0 s2 server header :event=write
7 0s c0 s2 server message DiscoveryResponse v="2"
8 0s c1 s0 client connect 198.18.0.1:40001
9 0s c1 s3/1 client open /envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats
10 0s c1 s3/1 client message other v=""
11 0s c1 s3/1 server header :status=200
12 0s c1 s3/1 server message other v=""
13 5s c1 s3/1 client message other v=""
14 10s c1 s3/1 client message other v=""
15 10s c2 s0 client connect 198.18.0.1:40002
16 10s c2 s4/1 client open /envoy.service.status.v3.ClientStatusDiscoveryService/StreamClientStatus
17 10s c2 s4/1 client message other v=""
18 10s c2 s4/1 server header :status=200
19 10s c2 s4/1 server message other v=""
20 10s c0 s0 proxy time
`},
		{"a storm", `
-- stream-open x3 gap=50ms code=14 type=CDS node=n1
`, `
1 0s c1 s0 client connect 198.18.0.1:40001
2 0s c1 s1/1 client open /envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources
3 0s c1 s1/1 client message DiscoveryRequest v=""
4 0s c1 s1/1 server trailer {Code:14 Message: Reset:0 WasReset:false HTTP:200} :status=200 grpc-status=14
5 50ms c2 s0 client connect 198.18.0.1:40002
6 50ms c2 s2/1 client open /envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources
7 50ms c2 s2/1 client message DiscoveryRequest v=""
8 50ms c2 s2/1 server trailer {Code:14 Message: Reset:0 WasReset:false HTTP:200} :status=200 grpc-status=14
9 100ms c3 s0 client connect 198.18.0.1:40003
10 100ms c3 s3/1 client open /envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources
11 100ms c3 s3/1 client message DiscoveryRequest v=""
12 100ms c3 s3/1 server trailer {Code:14 Message: Reset:0 WasReset:false HTTP:200} :status=200 grpc-status=14
`},
	} {
		if d := cmp.Diff(strings.TrimLeft(c.want, "\n"), outline(parseText(t, c.text))); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// What a node said of itself holds on its stream until it says something else.
func TestNodeRepeats(t *testing.T) {
	s := parseText(t, `
C> type=CDS node=n1/c ua=envoy/1.2 locality=r/z features=[a]
C> type=CDS node=n1/c
C> type=CDS node=n1 ua=other
C> type=CDS node=n2
-- stream 2
C> type=CDS node=n1
`)
	want := []decode.Node{
		{ID: "n1", Cluster: "c", UserAgent: "envoy", UserAgentVersion: "1.2", Region: "r", Zone: "z", ClientFeatures: []string{"a"}},
		{ID: "n1", Cluster: "c", UserAgent: "envoy", UserAgentVersion: "1.2", Region: "r", Zone: "z", ClientFeatures: []string{"a"}},
		{ID: "n1", UserAgent: "other", Region: "r", Zone: "z", ClientFeatures: []string{"a"}},
		{ID: "n2", ClientFeatures: allFeatures},
		{ID: "n1", ClientFeatures: allFeatures},
	}
	var got []decode.Node
	for e := range s.Entries() {
		if e.Message != nil {
			got = append(got, *decode.Peek(xds.Method{Variant: xds.VariantSotw}, e.Side, "", e.Message.Data.Bytes()).Node)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
