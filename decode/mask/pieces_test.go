package mask_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	loadv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsproxy/xdsproxy/decode/mask"
	"github.com/xdsproxy/xdsproxy/session"
)

// A large message comes in pieces that end anywhere. Where it has no secret, none is
// found in a piece: the name of an extension of Envoy's looks like one, if what
// stands around it is not told from it.
func TestLargeMessagesComeInPieces(t *testing.T) {
	node := &corev3.Node{Id: "gw-0", UserAgentName: "envoy"}
	for i := range 400 {
		node.Extensions = append(node.Extensions, &corev3.Extension{
			Name: fmt.Sprintf("envoy.http.injected_credentials.generic.%d", i), Category: "envoy.http.injected_credentials",
			TypeUrls: []string{"envoy.extensions.http.injected_credentials.generic.v3.Generic"},
		})
	}
	marshal := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	stats := []*endpointv3.ClusterStats{{ClusterName: "web"}}
	for name, s := range map[string]struct {
		method string
		data   []byte
	}{
		"load":      {"/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats", marshal(&loadv3.LoadStatsRequest{Node: node, ClusterStats: stats})},
		"discovery": {"/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", marshal(&discoveryv3.DiscoveryRequest{Node: node, TypeUrl: "t/a"})},
		"other":     {"/a.Service/Method", marshal(&loadv3.LoadStatsRequest{Node: node, ClusterStats: stats})},
	} {
		t.Run(name, func(t *testing.T) {
			k := mask.New()
			k.Transform(&session.Entry{Kind: session.KindOpen, Conn: 1, Stream: 1, Side: session.Client, Method: s.method})
			e := &session.Entry{Kind: session.KindMessage, Conn: 1, Stream: 1, Side: session.Client, Message: &session.Message{}}
			for piece := range slices.Chunk(bytes.Clone(s.data), 32<<10) {
				e.Message.Data = append(e.Message.Data, piece)
			}
			k.Transform(e)
			var out []byte
			for _, c := range e.Message.Data {
				out = append(out, k.Content(c)...)
			}
			if e.Message.Masked || len(e.Problems) > 0 || !bytes.Equal(out, s.data) {
				t.Errorf("masked %v, %q, equal %v", e.Message.Masked, e.Problems, bytes.Equal(out, s.data))
			}
		})
	}
}
