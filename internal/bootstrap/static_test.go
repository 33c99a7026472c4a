package bootstrap

import (
	"errors"
	"slices"
	"testing"
)

func TestStaticClusters(t *testing.T) {
	for text, want := range map[string][]string{
		"static_resources: {clusters: [{name: a}, {name: b}]}":           {"a", "b"},
		"dynamicResources: {}\nstaticResources: {clusters: [{name: a}]}": {"a"},
		"dynamic_resources: {}": nil,
		`{"configs": [{"bootstrap": {"static_resources": {"clusters": [{"name": "a"}]}}}, {"static_clusters": [{"cluster": {"name": "b"}}], "dynamic_active_clusters": [{"cluster": {"name": "c"}}]}]}`: {"a", "b"},
	} {
		got, err := StaticClusters("f", []byte(text))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"[]", "xds_servers: []", "a: b"} {
		if _, err := StaticClusters("f", []byte(text)); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
