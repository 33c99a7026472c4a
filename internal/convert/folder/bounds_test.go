package folder

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/xdsproxy/xdsproxy/session"
)

// So many faults are told; those beyond are counted.
func TestFaultsHaveABound(t *testing.T) {
	var f faults
	for n := 1; n <= maxFaults+1; n++ {
		f.add("a", n, 0, "wrong")
		if len(f.list) != min(n, maxFaults) || f.more != n-len(f.list) {
			t.Fatalf("of %d faults %d are told, and %d more", n, len(f.list), f.more)
		}
	}
	if text := f.err().Error(); strings.Count(text, "wrong") != maxFaults || !strings.HasSuffix(text, "\nand 1 more") {
		t.Error(text)
	}
}

// A name of so many bytes stands in the name of its file in full.
func TestNamesHaveABound(t *testing.T) {
	for n, want := range map[int]bool{maxName: true, maxName + 1: false} {
		if safe, same := safeName(strings.Repeat("x", n)); same != want || len(safe) != maxName {
			t.Errorf("of %d bytes there are %d; all of the name: %t", n, len(safe), same)
		}
	}
}

// Contents are kept up to a bound; with one that goes over it the others are let go.
func TestKeptContentsHaveABound(t *testing.T) {
	dir := t.TempDir()
	text := "\"@type\": " + clusterType + "\nname: a\n"
	if err := os.WriteFile(dir+"/a", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	want, _ := anyOf([]byte(text))
	for more, kept := range map[int]bool{0: true, 1: false} {
		other := &content{raw: []byte("x")}
		c := contents{root: root, files: map[string]*content{"a": {}, "b": other}, faults: new(faults), kept: maxKept - len(want) + more}
		raw, err := c.raw(context.Background(), "a", nil)
		if err != nil || !bytes.Equal(raw, want) || other.raw != nil != kept || !kept && c.kept != len(want) {
			t.Errorf("%d bytes over the bound: the other is kept: %t; %d bytes are; %v", more, other.raw != nil, c.kept, err)
		}
	}
}

// Entries have numbers up to a bound.
func TestNumbersHaveABound(t *testing.T) {
	for seq, want := range map[uint64]string{maxSeq: "", maxSeq + 1: "seq is too large"} {
		got := ""
		p := parser{wrong: func(_, _ int, format string, args ...any) { got += fmt.Sprintf(format, args...) }}
		if e := p.entry(fmt.Appendf(nil, "seq: %d\nkind: note\nnote:\n  code: remark\n", seq)); got != want || e.Seq != session.Seq(seq) {
			t.Errorf("%d: %q, %d", seq, got, e.Seq)
		}
	}
}

// zeros are bytes without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// A document has a text up to a bound; of a longer one it says that there is more.
func TestDocumentsHaveABound(t *testing.T) {
	doc := &yamlDocument{text: make([]byte, 0, maxText)}
	for more, want := range map[int64]bool{0: false, 1: true} {
		in := newDocuments(io.MultiReader(strings.NewReader("---\n"), io.LimitReader(zeros{}, maxText+more)))
		if err := in.next(doc); err != nil || doc.more != want || len(doc.text) > maxText || doc.size != maxText+more {
			t.Errorf("of %d bytes there are %d; there is more: %t; %v", doc.size, len(doc.text), doc.more, err)
		}
	}
}

// A file of a resource is read up to a bound; a larger one is refused.
func TestTextsHaveABound(t *testing.T) {
	large := fmt.Sprintf("larger than %d MiB, which is too much to be edited", maxText>>20)
	text := make([]byte, maxText+1)
	for n, want := range map[int]bool{maxText: false, maxText + 1: true} {
		if raw, wrong := anyOf(text[:n]); raw != nil || len(wrong) != 1 || (wrong[0].Message == large) != want {
			t.Errorf("%d bytes: %v", n, wrong[0])
		}
	}
}

// A message is put together of files up to a bound, and refused if they are more.
func TestMessagesOfFilesHaveABound(t *testing.T) {
	large := fmt.Sprintf("a message of more than %d MiB, which is too much to be edited", maxMessage>>20)
	whole := make([]byte, maxMessage+1) // of which nobody touches a byte
	for _, c := range []struct {
		sizes []int // of its files
		want  bool
	}{
		{[]int{maxMessage}, false}, {[]int{maxMessage + 1}, true}, {[]int{maxMessage - 1, 1}, false}, {[]int{maxMessage, 1}, true}, {[]int{1, maxMessage}, true},
	} {
		im := importer{ctx: context.Background(), faults: new(faults), contents: &contents{files: map[string]*content{}}}
		text := "kind: message\nside: server\nstream: 1\nmessage:\n  \"@type\": type.googleapis.com/envoy.service.discovery.v3.DiscoveryResponse\n  resources:\n"
		for i, n := range c.sizes {
			name := fmt.Sprint("f", i)
			im.contents.files[name] = &content{raw: whole[:n]}
			text += fmt.Sprintf("  - \"@file\": %s\n", name)
		}
		if len(c.sizes) == 1 {
			text = "kind: message\nside: server\nstream: 1\nmessage:\n  \"@file\": f0\n"
		}
		_, err := im.parse(&yamlDocument{line: 1, text: []byte(text)})
		got := slices.ContainsFunc(im.faults.list, func(f Fault) bool { return f.Message == large })
		if err != nil || got != c.want || len(c.sizes) == 1 && len(im.faults.list) == 0 {
			t.Errorf("%v bytes: %v, %v", c.sizes, im.faults.list, err)
		}
	}
}
