package decode

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsproxy/xdsproxy/internal/session"
)

// bytesField writes a field of bytes.
func bytesField(num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), b)
}

// The same bytes in the same memory are one resource in the state of the world
// and another in delta.
func TestShelfTellsKindsApart(t *testing.T) {
	inner := bytesField(1, []byte("type.googleapis.com/inner.Type"))
	one := bytesField(2, append(bytesField(1, []byte("type.googleapis.com/outer.Type"+strings.Repeat("x", minChunk))), bytesField(2, inner)...))
	data := session.Chunks{bytesField(4, []byte("type.googleapis.com/outer.Type")), one}
	const service = "/envoy.service.discovery.v3.AggregatedDiscoveryService/"
	var s Shelf
	for range 2 {
		for _, path := range []string{service + "StreamAggregatedResources", service + "DeltaAggregatedResources"} {
			m := LookupMethod(path)
			got, batch := s.Peek(m, session.Server, "application/grpc", data)
			want := Peek(m, session.Server, "application/grpc", data.Bytes())
			if batch == nil || len(got.Resources) != 1 || len(want.Resources) != 1 {
				t.Fatalf("%d resources in %v, want %d", len(got.Resources), batch, len(want.Resources))
			}
			if g, w := got.Resources[0], want.Resources[0]; g.TypeURL != w.TypeURL || g.Version != w.Version {
				t.Errorf("%s: type %q and version %q, want %q and %q", path, g.TypeURL, g.Version, w.TypeURL, w.Version)
			}
		}
	}
}
