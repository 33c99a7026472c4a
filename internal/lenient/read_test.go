package lenient_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"

	_ "github.com/xdsproxy/xdsproxy/decode/types" // what an Any holds
	"github.com/xdsproxy/xdsproxy/internal/golden"
	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

// TestRead: what is read of texts, and what is said of them. A line of
// testdata/texts is how a text is to be read, and the text with the escapes of Go:
//
//	json, yaml   as Envoy reads an Any
//	exact        an Any that was written by xdsproxy, in YAML
//	KIND         json of an Any of that kind of google.protobuf, its value alone
//	jsontree     as a tree of values
//	yamltree
//	number       a scalar of YAML as a field of type uint32
//	name         a name of a field as JSON has it
func TestRead(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "texts"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(string(b)), "\n") {
		how, quoted, _ := strings.Cut(line, " ")
		text := quoted
		if how[0] >= 'a' {
			if text, err = strconv.Unquote(quoted); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		fmt.Fprintf(&out, "%s\n%s", line, read(t, how, text))
	}
	golden.Is(t, filepath.Join("testdata", "read.txt"), out.String())
}

func read(t *testing.T, how, text string) string {
	var a anypb.Any
	switch how {
	case "json":
		notes, fault := lenient.JSON([]byte(text)).Into(&a, protoregistry.GlobalTypes)
		whole := lenient.JSON([]byte(text)).Whole(new(anypb.Any), protoregistry.GlobalTypes)
		return content(t, &a, fault) + said(fault, notes...) + left(whole)
	case "yaml":
		y, fault := lenient.YAML([]byte(text), values)
		if fault != nil {
			return said(fault)
		}
		notes, fault := y.Into(&a, protoregistry.GlobalTypes)
		return content(t, &a, fault) + said(fault, notes...)
	case "exact":
		root, _, fault := lenient.YAMLTree([]byte(text), values)
		if fault != nil {
			return said(fault)
		}
		file := func(name string, line, col int) []byte {
			return fmt.Appendf(nil, "\x0a\x0b%d/%d/%-7.7s", line, col, name)
		}
		notes := lenient.Exact{Types: protoregistry.GlobalTypes, File: file}.Into(&a, root)
		return content(t, &a, nil) + said(nil, notes...)
	case "jsontree":
		root, fault := lenient.JSONTree([]byte(text), 12)
		if fault != nil {
			return said(fault)
		}
		return tree(root, "      ") + fmt.Sprintf("      keys %q\n", lenient.Keys([]byte(text), true, 12)) + twice(root)
	case "yamltree":
		root, more, fault := lenient.YAMLTree([]byte(text), 12)
		if fault != nil {
			return said(fault)
		}
		out := tree(root, "      ") + fmt.Sprintf("      keys %q\n", lenient.Keys([]byte(text), false, 12)) + twice(root)
		if more != nil {
			out += said(nil, more)
		}
		return out
	case "name":
		return fmt.Sprintf("      %s\n", lenient.JSONName(text))
	case "number":
		var doc yaml.Node
		if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		n, is := lenient.Number(doc.Content[0])
		return fmt.Sprintf("      %d %v\n", n, is)
	}
	text = `{"@type":"x/google.protobuf.` + how + `","value":` + text + `}`
	_, fault := lenient.JSON([]byte(text)).Into(&a, protoregistry.GlobalTypes)
	return content(t, &a, fault) + said(fault)
}

// content is what an Any holds.
func content(t *testing.T, a *anypb.Any, fault *lenient.Fault) string {
	if fault != nil {
		return ""
	}
	var of proto.Message = a
	if inner, err := a.UnmarshalNew(); err == nil {
		of = inner
	}
	b, err := protojson.Marshal(of)
	if err != nil { // such as a time that there is not
		b, err = proto.MarshalOptions{Deterministic: true}.Marshal(of)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("      %s %q\n", of.ProtoReflect().Descriptor().Name(), b)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, b); err != nil {
		t.Fatal(err)
	}
	unknown := ""
	if u := of.ProtoReflect().GetUnknown(); len(u) > 0 {
		unknown = fmt.Sprintf(" and %q", []byte(u))
	}
	return fmt.Sprintf("      %s %s%s\n", of.ProtoReflect().Descriptor().Name(), &line, unknown)
}

func said(fault *lenient.Fault, notes ...*lenient.Fault) (out string) {
	for _, n := range notes {
		out += fmt.Sprintf("   note %d:%d %d %s\n", n.Line, n.Col, n.Kind, n.Message)
	}
	if fault != nil {
		out += fmt.Sprintf("   fault %d:%d %d %v\n", fault.Line, fault.Col, fault.Kind, fault)
	}
	return out
}

func left(fault *lenient.Fault) string {
	if fault == nil || !fault.LeftOut() {
		return ""
	}
	return fmt.Sprintf("   left out %s\n", fault.Message)
}

func twice(root *yaml.Node) string {
	err := lenient.Unique(root)
	var f *lenient.Fault
	if !errors.As(err, &f) {
		return ""
	}
	return said(f)
}

func tree(n *yaml.Node, indent string) string {
	out := fmt.Sprintf("%s%d %s %q\n", indent, n.Kind, n.Tag, n.Value)
	for _, c := range n.Content {
		out += tree(c, indent+"  ")
	}
	return out
}
