package document

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// A message of many small fields does not take fifty times its memory: what counts
// against the bound is the fields, and not what is made of them.
func TestManyFieldsAreBounded(t *testing.T) {
	const left = 1000
	fields := bytes.Repeat([]byte{0x12, 0}, 1<<20) // a million resources without anything
	w := newWalker(nil)
	w.nodes = maxTreeNodes - left
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tree := w.message((&discoveryv3.DiscoveryResponse{}).ProtoReflect().Descriptor(), fields, nil, 0)
	runtime.ReadMemStats(&after)
	if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
		t.Errorf("%d bytes were made of %d fields of which %d have room", made, len(fields)/2, left)
	}
	if len(w.problems) != 1 || !strings.Contains(w.problems[0], "the rest is not shown") {
		t.Errorf("it says %q", w.problems)
	}
	if resources, is := tree.Get("resources"); !is || len(resources.Items) == 0 || len(resources.Items) > left {
		t.Errorf("%v, %d items", is, len(resources.Items))
	}
}
