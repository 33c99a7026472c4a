package check_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/check"
	"github.com/xdsproxy/xdsproxy/session"
)

const (
	adsPath    = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	clusterURL = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
)

// writer makes the entries of a session.
type writer struct {
	tb   testing.TB
	k    *check.Checker
	seq  session.Seq
	now  time.Time
	last []check.Finding
}

func newWriter(tb testing.TB) *writer {
	return &writer{tb: tb, k: check.NewChecker(check.Options{}), now: time.Unix(1e9, 0)}
}

func (w *writer) step(e session.Entry) {
	w.seq++
	e.Seq, e.Time = w.seq, w.now
	if e.Stream == 0 {
		e.Stream = session.StreamID(e.Conn)
	}
	w.last = append(w.last, w.k.Step(&e).Findings...)
}

func (w *writer) open(id uint64) {
	w.step(session.Entry{Conn: session.ConnID(id), Kind: session.KindOpen, Side: session.Client, Method: adsPath})
}

func (w *writer) send(id uint64, side session.Side, data []byte) {
	w.step(session.Entry{
		Conn: session.ConnID(id), Kind: session.KindMessage, Side: side,
		Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))},
	})
}

func marshal(tb testing.TB, m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func cluster(tb testing.TB, i, variant int) *anypb.Any {
	any, err := anypb.New(&clusterv3.Cluster{
		Name: fmt.Sprintf("outbound|8080||service-%05d.namespace.svc.cluster.local", i), AltStatName: fmt.Sprint(variant),
		ConnectTimeout:       durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
		}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return any
}

func (w *writer) request(version, nonce, node string) []byte {
	r := &discovery.DiscoveryRequest{TypeUrl: clusterURL, VersionInfo: version, ResponseNonce: nonce}
	if node != "" {
		r.Node = &corev3.Node{Id: node, Cluster: "fleet", UserAgentName: "envoy"}
	}
	return marshal(w.tb, r)
}

// heapOf is how much memory is in use, in MiB.
func heapOf() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// A million entries: a hundred clients with twenty clusters each, of which one
// changes with every push.
func BenchmarkMillionEntries(b *testing.B) {
	for b.Loop() {
		w := newWriter(b)
		const clients, clusters = 100, 20
		for id := range uint64(clients) {
			w.open(id + 1)
			w.send(id+1, session.Client, w.request("", "", fmt.Sprintf("node-%d", id)))
		}
		resources := make([]*anypb.Any, clusters)
		for i := range resources {
			resources[i] = cluster(b, i, 0)
		}
		for push := 1; w.seq < 1_000_000; push++ {
			w.now = w.now.Add(100 * time.Millisecond)
			resources[push%clusters] = cluster(b, push%clusters, push)
			version := fmt.Sprint(push)
			response := marshal(b, &discovery.DiscoveryResponse{TypeUrl: clusterURL, VersionInfo: version, Nonce: version, Resources: resources})
			ack := w.request(version, version, "")
			for id := range uint64(clients) {
				w.send(id+1, session.Server, response)
				w.send(id+1, session.Client, ack)
			}
		}
		b.ReportMetric(heapOf(), "MiB")
		runtime.KeepAlive(w)
		for _, f := range w.last {
			if f.Severity > check.Warning {
				b.Fatalf("%s: %s", f.Rule.ID, f.Message)
			}
		}
	}
}

// Two hundred clients with the same twenty thousand clusters, of which one
// changes with each of ten pushes.
func BenchmarkSharedClusters(b *testing.B) {
	for b.Loop() {
		w := newWriter(b)
		const clients, clusters = 200, 20_000
		resources := make([]*anypb.Any, clusters)
		for i := range resources {
			resources[i] = cluster(b, i, 0)
		}
		before := heapOf()
		for push := range 10 {
			w.now = w.now.Add(time.Second)
			resources[push] = cluster(b, push, push)
			version := fmt.Sprint(push)
			response := marshal(b, &discovery.DiscoveryResponse{TypeUrl: clusterURL, VersionInfo: version, Nonce: version, Resources: resources})
			for id := range uint64(clients) {
				if push == 0 {
					w.open(id + 1)
					w.send(id+1, session.Client, w.request("", "", fmt.Sprintf("node-%d", id)))
				}
				w.send(id+1, session.Server, response)
				w.send(id+1, session.Client, w.request(version, version, ""))
			}
		}
		b.ReportMetric(heapOf()-before, "MiB")
		runtime.KeepAlive(w)
		runtime.KeepAlive(resources)
	}
}
