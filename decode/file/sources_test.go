package file

import (
	"fmt"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func from(path string) *corev3.ConfigSource {
	return &corev3.ConfigSource{ConfigSourceSpecifier: &corev3.ConfigSource_PathConfigSource{PathConfigSource: &corev3.PathConfigSource{Path: path}}}
}

// Sources are found in members, in lists, in maps and in what is packed, as deep as
// messages are followed and no deeper.
func TestSourcesAtADepth(t *testing.T) {
	source := from("/e")
	for what, c := range map[string]struct {
		m      proto.Message
		levels int
	}{
		"a member": {source, 2},
		"an Any":   {packed(t, source), 3},
		"a list":   {&discovery.DiscoveryResponse{Resources: []*anypb.Any{packed(t, source)}}, 4},
		"a map":    {&clusterv3.Cluster{TypedExtensionProtocolOptions: map[string]*anypb.Any{"k": packed(t, source)}}, 4},
		"members":  {&clusterv3.Cluster{EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{EdsConfig: source}}, 4},
	} {
		for depth, want := range map[int]int{c.levels: 1, c.levels - 1: 0} {
			var out []Source
			if visit(c.m.ProtoReflect(), depth, &out); len(out) != want {
				t.Errorf("in %s of %d levels, at depth %d: %v", what, c.levels, depth, out)
			}
		}
	}
	var out []Source
	texts := &discovery.DeltaDiscoveryRequest{InitialResourceVersions: map[string]string{"/e": "1"}}
	if visit(texts.ProtoReflect(), maxDepth, &out); len(out) != 0 {
		t.Errorf("in a map of texts: %v", out)
	}
}

// Of one response so many sources are told.
func TestSourcesAreBounded(t *testing.T) {
	for n, want := range map[int]int{maxSources - 1: maxSources - 1, maxSources: maxSources, maxSources + 1: maxSources} {
		r := &discovery.DiscoveryResponse{}
		for i := range n {
			r.Resources = append(r.Resources, packed(t, from(fmt.Sprint("/", i))))
		}
		data, err := proto.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := Sources(data); len(got) != want || got[want-1].Path != fmt.Sprint("/", want-1) {
			t.Errorf("of %d there are %d", n, len(got))
		}
	}
}
