package chunk_test

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/chunk"
	"github.com/xdsproxy/xdsproxy/decode/synth"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// A node has the number of a resource. In a piece of its own it is not passed over as
// one: who asks is what a glance is for.
func TestGlanceAtANodeInItsOwnPiece(t *testing.T) {
	ads := xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources")
	id := strings.Repeat("n", 5000)
	node := (&synth.Request{Node: &decode.Node{ID: id}}).Marshal()
	rest := (&synth.Request{TypeURL: xds.TypeURL("CDS")}).Marshal()
	b := chunk.Glance(ads, session.Client, session.Chunks{node, rest})
	if b.NodeID != id || b.TypeURL != xds.TypeURL("CDS") || b.Kind != decode.SotwRequest {
		t.Errorf("%s of type %q by %.10q", b.Kind, b.TypeURL, b.NodeID)
	}
}
