package chunk

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/internal/xds"
	"github.com/xdsproxy/xdsproxy/session"
)

// FuzzGlance holds Glance to Peek: they read the same, however the message is
// cut into chunks.
func FuzzGlance(f *testing.F) {
	const ads = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
	f.Add([]byte("\x22\x05a.b/c\x2a\x01n\x12\x03\x0a\x01i"), false, true, 3)
	f.Add([]byte("\x12\x05a.b/c\x32\x01n\x0a\x03\x0a\x01i"), true, true, 9)
	f.Add([]byte("\x12\x04\x0a\x02tu\x22\x02tu\x2a\x01n"), false, false, 6)
	f.Fuzz(func(t *testing.T, data []byte, delta, client bool, cut int) {
		m := xds.LookupMethod(ads + "StreamAggregatedResources")
		if delta {
			m = xds.LookupMethod(ads + "DeltaAggregatedResources")
		}
		side := session.Server
		if client {
			side = session.Client
		}
		want := decode.Peek(m, side, "", data)
		if len(want.Problems) > 0 {
			Glance(m, side, session.Chunks{data})
			return
		}
		cut = min(max(cut, 0), len(data))
		for _, c := range []session.Chunks{{data}, {data[:cut], data[cut:]}} {
			got := Glance(m, side, c)
			if got.Kind != want.Kind || got.TypeURL != want.TypeURL || got.Nonce != want.Nonce || got.Rejected != (want.Error != nil) {
				t.Fatalf("cut at %d: %+v, but Peek says %+v", cut, got, want)
			}
		}
	})
}
