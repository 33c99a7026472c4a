package replay

import (
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestExplain(t *testing.T) {
	const typ = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	encode := func(seconds int64, alt string) []byte {
		b, err := proto.Marshal(&clusterv3.Cluster{Name: "c", AltStatName: alt, ConnectTimeout: &durationpb.Duration{Seconds: seconds}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if text, same := Changes(nil, typ, encode(1, ""), typ, encode(1, ""), nil); !same {
		t.Errorf("equal ones differ: %q", text)
	}
	text, same := Changes(nil, typ, encode(1, ""), typ, encode(7, "x"), nil)
	if want := "connect_timeout: \"7s\" instead of \"1s\"\nalt_stat_name: \"x\" instead of nothing"; same || text != want {
		t.Errorf("got %q\nwant %q", text, want)
	}
}
