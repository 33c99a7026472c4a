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
	made := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	var tree Tree
	if n := made(func() {
		tree = w.message((&discoveryv3.DiscoveryResponse{}).ProtoReflect().Descriptor(), fields, nil, 0)
	}); n > 8<<20 {
		t.Errorf("%d bytes were made of %d fields of which %d have room", n, len(fields)/2, left)
	}
	u := newWalker(nil)
	u.nodes = maxTreeNodes - left
	if n := made(func() { u.unknownMessage(fields, nil, 0) }); n > 16<<20 || len(u.problems) != 1 {
		t.Errorf("without a type, %d bytes were made, and it says %q", n, u.problems)
	}
	if len(w.problems) != 1 || !strings.Contains(w.problems[0], "the rest is not shown") {
		t.Errorf("it says %q", w.problems)
	}
	if resources, is := tree.Get("resources"); !is || len(resources.Items) == 0 || len(resources.Items) > left {
		t.Errorf("%v, %d items", is, len(resources.Items))
	}
}
