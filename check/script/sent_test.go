package script

import (
	"bytes"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// A script has no words for headers that were rewritten on their way, and says
// so.
func TestRewrittenHeadersAreLost(t *testing.T) {
	const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	var out bytes.Buffer
	lost, err := Write(&out, func(yield func(session.Entry) bool) {
		for i := range 2 {
			e := session.Entry{
				Seq: session.Seq(i + 1), Kind: session.KindOpen, Conn: 1, Stream: session.StreamID(i + 1), Side: session.Client,
				Method: path, Headers: grpcHeaders(path, defaultUserAgent), Sent: []session.Field{{Name: "x", Value: "y"}},
			}
			if !yield(e) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(lost, "\n"); !strings.Contains(text, "the headers of 2 streams were rewritten on their way, which is left out") {
		t.Errorf("said to be lost: %q", text)
	}
}
