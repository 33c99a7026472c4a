package pseudonym

import (
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// Whatever bytes a message has, it is walked over three times without a panic, and
// nothing that was learnt is missing when it is mapped.
func FuzzEntry(f *testing.F) {
	f.Add("/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources", []byte("\x0a\x011\x12\x37\x0a\x2ctype.googleapis.com/envoy.config.cluster.v3.Cluster\x12\x05\x0a\x03web"), true)
	f.Add("/v3/discovery:clusters", []byte(`{"resources":[{"@type":"x","name":"web"}]}`), true)
	f.Add("", []byte("\x0a\x03web"), false)
	f.Fuzz(func(t *testing.T, path string, data []byte, server bool) {
		side := session.Client
		if server {
			side = session.Server
		}
		entries := []session.Entry{
			{Seq: 1, Conn: 1, Stream: 1, Kind: session.KindOpen, Side: session.Client, Method: path, Headers: []session.Field{{Name: "grpc-status-details-bin", Value: string(data)}}},
			{Seq: 2, Conn: 1, Stream: 1, Kind: session.KindMessage, Side: side, Message: &session.Message{Data: session.Chunks{data}, Size: int64(len(data))}},
		}
		n := NewNames(testKey())
		learning := n.Walk()
		for i := range entries {
			learning.Entry(&entries[i])
		}
		if err := n.Settle(); err != nil {
			t.Fatal(err)
		}
		mapping, search := n.Walk(), n.Search()
		for i := range entries {
			own := mapping.Entry(&entries[i])
			if err := mapping.Err(); err != nil {
				t.Fatal(err)
			}
			_ = search.Entry(&own) // bytes may hold by chance what is searched for
		}
	})
}
