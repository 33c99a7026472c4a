package document

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
)

// What is nested as deep as it may be is shown, and what is deeper is not, and that
// is said.
func TestDepthIsBounded(t *testing.T) {
	md := (&discoveryv3.DiscoveryResponse{}).ProtoReflect().Descriptor()
	message := []byte("\x0a\x02\x08\x01") // field 1, with a message in it
	for beyond, shown := range map[int]bool{0: true, 1: false} {
		depth := maxDepth + beyond
		w := newWalker(nil)
		if w.message(md, nil, nil, depth); (len(w.problems) == 0) != shown {
			t.Errorf("a message at depth %d: %q", depth, w.problems)
		}
		if _, ok := w.guess(message, nil, depth); ok != shown {
			t.Errorf("a message of no type at depth %d is shown: %v", depth, ok)
		}
		if _, err := parseJSON([]byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))); (err == nil) != shown {
			t.Errorf("JSON at depth %d: %v", depth, err)
		}
		l := wireLister{most: 10}
		if l.list(nil, message, 0, depth-1); l.fields[0].Inner != shown || (len(l.fields) == 2) != shown {
			t.Errorf("the bytes at depth %d: %+v", depth, l.fields)
		}
	}
}

// A document tells so many problems, and so many types that are not known.
func TestProblemsAreBounded(t *testing.T) {
	w := newWalker(nil)
	for i := range maxDocumentProblems + 1 {
		w.problem(nil, "problem %d", i+1)
	}
	if n := len(w.problems); n != maxDocumentProblems || w.problems[n-1] != fmt.Sprint("problem ", maxDocumentProblems) {
		t.Errorf("%d problems, the last is %q", n, w.problems[n-1])
	}
	w = newWalker(nil)
	for i := range maxDocumentProblems + 1 {
		w.find("no.Type"+strconv.Itoa(i), nil)
	}
	if len(w.lacks) != maxDocumentProblems {
		t.Errorf("%d types", len(w.lacks))
	}
}

// A message that has just so many values is shown whole, and nothing is said; of one
// that has more it is said.
func TestValuesAreBounded(t *testing.T) {
	const left = 3
	md := (&discoveryv3.DiscoveryResponse{}).ProtoReflect().Descriptor()
	for more, whole := range map[int]bool{0: true, 1: false} {
		var fields []byte
		for i := range left + more {
			fields = protowire.AppendVarint(protowire.AppendTag(fields, protowire.Number(100+i), protowire.VarintType), 1)
		}
		w := newWalker(nil)
		w.nodes = maxTreeNodes - left
		if known, unknown, _ := w.split(md, fields, nil); len(known)+len(unknown) != left || w.full == whole {
			t.Errorf("of %d fields %d are read, and there are more: %v", left+more, len(unknown), w.full)
		}
		w = newWalker(nil)
		w.nodes = maxTreeNodes - left
		if tree, ok := w.guess(fields, nil, 0); ok != whole || whole && len(tree.Members) != left || w.full == whole {
			t.Errorf("of %d fields without a type %d are shown: %v, there are more: %v", left+more, len(tree.Members), ok, w.full)
		}
	}
	w := newWalker(nil)
	w.nodes = maxTreeNodes - 1
	if !w.room(nil) || len(w.problems) > 0 || w.room(nil) || w.room(nil) || len(w.problems) != 1 {
		t.Errorf("it says %q", w.problems)
	}
}

// A long text is cut among the bytes, and a long key has a form of its own.
func TestLongTextsAreCut(t *testing.T) {
	text := strings.Repeat("a", maxWireText)
	for more, want := range map[string]string{"": strconv.Quote(text), "b": strconv.Quote(text+"…") + " and 1 bytes more"} {
		e := entry{}
		e.Type, e.Body = protowire.BytesType, []byte(text+more)
		if got := wireValue(nil, &e); got != want {
			t.Errorf("%s", got)
		}
	}
	key := strings.Repeat("a", maxSimpleKey)
	for key, want := range map[string]string{key: key + ": 1\n", key + "b": "? \"" + key + "b\"\n: 1\n"} {
		d := Document{Root: Tree{Kind: Object}}
		d.Root.add(key, numberTree("1"))
		if got := string(d.YAML()); got != want {
			t.Errorf("%s", got)
		}
	}
}
