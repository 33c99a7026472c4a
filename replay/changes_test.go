package replay

import (
	"fmt"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/decode/diff"
)

func TestChanges(t *testing.T) {
	const typ = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	encode := func(c *clusterv3.Cluster) []byte {
		b, err := proto.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	options := func(n int) map[string]*anypb.Any {
		all := map[string]*anypb.Any{"kept": {TypeUrl: "type.googleapis.com/google.protobuf.UInt32Value"}}
		for i := range n {
			a, err := anypb.New(wrapperspb.UInt32(uint32(i)))
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("o%02d", i)] = a
		}
		return all
	}
	twenty := func(n int) string {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf(`typed_extension_protocol_options.o%02d: a google.protobuf.UInt32Value instead of nothing`, i))
		}
		return strings.Join(lines, "\n")
	}
	for _, c := range []struct {
		name     string
		old, new *clusterv3.Cluster
		pass     func(diff.Path) bool
		want     string
		same     bool
	}{
		{"the same", &clusterv3.Cluster{Name: "c"}, &clusterv3.Cluster{Name: "c"}, nil, "", true},
		{
			"values", &clusterv3.Cluster{Name: "c", ConnectTimeout: durationpb.New(1e9)}, &clusterv3.Cluster{Name: "c", AltStatName: "x", ConnectTimeout: durationpb.New(7e9)}, nil,
			"connect_timeout: \"7s\" instead of \"1s\"\nalt_stat_name: \"x\" instead of nothing", false,
		},
		{
			"values that are passed over", &clusterv3.Cluster{ConnectTimeout: durationpb.New(1e9)}, &clusterv3.Cluster{AltStatName: "x", ConnectTimeout: durationpb.New(7e9)},
			func(p diff.Path) bool { return p.String() == "alt_stat_name" }, "connect_timeout: \"7s\" instead of \"1s\"", false,
		},
		{"nothing but what is passed over", &clusterv3.Cluster{}, &clusterv3.Cluster{AltStatName: "x"}, func(diff.Path) bool { return true }, "", true},
		{
			"objects, lists and numbers",
			&clusterv3.Cluster{LbSubsetConfig: &clusterv3.Cluster_LbSubsetConfig{ListAsAny: true}},
			&clusterv3.Cluster{
				EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{ServiceName: strings.Repeat("s", 201)},
				LbSubsetConfig: &clusterv3.Cluster_LbSubsetConfig{
					ListAsAny: true, SubsetSelectors: []*clusterv3.Cluster_LbSubsetConfig_LbSubsetSelector{{Keys: []string{"a"}}, {Keys: []string{"b"}}},
				},
				PerConnectionBufferLimitBytes: wrapperspb.UInt32(7), AltStatName: strings.Repeat("s", 201),
			},
			nil,
			"eds_cluster_config: an object of 1 instead of nothing\nper_connection_buffer_limit_bytes: 7 instead of nothing\n" +
				"lb_subset_config.subset_selectors: a list of 2 instead of nothing\nalt_stat_name: \"" + strings.Repeat("s", 200) + "…\" instead of nothing",
			false,
		},
		{"as many as are told", &clusterv3.Cluster{TypedExtensionProtocolOptions: options(0)}, &clusterv3.Cluster{TypedExtensionProtocolOptions: options(20)}, nil, twenty(20), false},
		{"one more", &clusterv3.Cluster{TypedExtensionProtocolOptions: options(0)}, &clusterv3.Cluster{TypedExtensionProtocolOptions: options(21)}, nil, twenty(20) + "\nand 1 more changes", false},
	} {
		text, same := Changes(nil, typ, encode(c.old), typ, encode(c.new), c.pass)
		if text != c.want || same != c.same {
			t.Errorf("%s: same %v, %s\nwant %s", c.name, same, text, c.want)
		}
	}
}
