package filed

import (
	"slices"
	"testing"

	"github.com/xdsproxy/xdsproxy/decode"
)

// What a file says of its type counts, or else its first resource; a collection of
// one name with other constraints is no second one.
func TestContents(t *testing.T) {
	const cluster, listener = "type.googleapis.com/envoy.config.cluster.v3.Cluster", "type.googleapis.com/envoy.config.listener.v3.Listener"
	resources := []decode.Resource{
		{TypeURL: "ignored", Empty: true},
		{Name: "a", TypeURL: cluster},
		{Name: "b", TypeURL: listener},
		{Name: "a", TypeURL: cluster, Constraints: "x"},
		{Name: "a", TypeURL: cluster},
		{TypeURL: cluster},
		{TypeURL: cluster},
	}
	typ, twice, mixed := Contents(&decode.Message{Resources: resources})
	if typ != cluster || !slices.Equal(twice, []string{"a"}) || !slices.Equal(mixed, []string{listener}) {
		t.Errorf("type %q, twice %q, mixed %q", typ, twice, mixed)
	}
	if typ, _, mixed = Contents(&decode.Message{TypeURL: listener, Resources: resources[1:2]}); typ != listener || len(mixed) != 1 {
		t.Errorf("type %q, mixed %q", typ, mixed)
	}
	if got := About("f.yaml", "f.yaml: no such file") + About("f.yaml", "too long"); got != "f.yaml: no such filef.yaml: too long" {
		t.Error(got)
	}
}
