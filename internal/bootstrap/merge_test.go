package bootstrap_test

import (
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/internal/bootstrap"
)

// As in Envoy, lists are added to, and of what stands in both the second counts.
func TestMergeOfBootstraps(t *testing.T) {
	const base = "node: {id: a, cluster: b}\nstatic_resources: {clusters: {name: x, connect_timeout: {seconds: 1}}}\n"
	got, err := bootstrap.Merge("a.yaml", []byte(base), "{node: {id: c}, static_resources: {clusters: [{name: z}]}}")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"node":{"id":"c","cluster":"b"},"static_resources":{"clusters":[{"name":"x","connect_timeout":"1s"},{"name":"z"}]}}`
	if text := strings.ReplaceAll(string(got), " ", ""); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
	for _, over := range []string{"typo: 1", "node: x", "a: [", `{node: {metadata: {a: *b}}}`} {
		if _, err := bootstrap.Merge("a.yaml", []byte(base), over); err == nil {
			t.Errorf("%s was read", over)
		}
	}
}
