package playback

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/replay"
)

// Envoy waits longer the more streams of one kind in a row got no response: one
// that got something ends the row, and those of others do not count.
func TestStreamsInVain(t *testing.T) {
	ads := xds.LookupMethod("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources")
	cds := xds.LookupMethod("/envoy.service.cluster.v3.ClusterDiscoveryService/StreamClusters")
	streams := map[byte]*replay.Stream{
		'a': {Client: "n1", Method: ads, Topics: []*replay.Topic{{Key: "CDS", Requests: 1}}},
		'A': {Client: "n1", Method: ads, Topics: []*replay.Topic{{Key: "CDS"}, {Key: "LDS", Responses: []int32{2}}}},
		'c': {Client: "n1", Method: cds},
		'o': {Client: "n2", Method: ads},
	}
	for order, want := range map[string]int{"": 0, "A": 0, "aaa": 3, "aaAa": 2, "aAaaa": 3, "acacc": 3, "acA": 1, "oooooa": 1, "aoa": 2} {
		plan := &replay.Plan{}
		for i := range len(order) {
			plan.Streams = append(plan.Streams, streams[order[i]])
		}
		if got := inVain(plan, "n1"); got != want {
			t.Errorf("%q: %d in a row, not %d", order, got, want)
		}
	}
}
