package lenient_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsproxy/xdsproxy/internal/lenient"
)

const values = 1 << 12

// FuzzJSON wants no panic, and that whatever protobuf's own strict parser for Go
// takes is read, and as the same.
func FuzzJSON(f *testing.F) {
	seeds(f, ".json")
	for _, s := range []string{
		`{"@type":"x/google.protobuf.Duration","value":"-1.5s"}`, `{"@type":"x/google.protobuf.Timestamp","value":"2020-01-01T00:00:00.1Z"}`,
		`{"@type":"x/google.protobuf.FieldMask","value":"aB,c"}`, `{"@type":"x/google.protobuf.Struct","value":{"a":[null,1e2,"\ud83d\ude00",{}]}}`,
		`{"@type":"x/google.protobuf.BytesValue","value":"_-8"}`, `{"@type":"x/google.protobuf.UInt64Value","value":"1e3"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ours, theirs anypb.Any
		_, err := lenient.JSON(data).Into(&ours, protoregistry.GlobalTypes)
		if protojson.Unmarshal(data, &theirs) == nil && json.Valid(data) {
			if err != nil && err.Message != "nested too deep" && theirs.TypeUrl != "" && !strings.Contains(err.Message, "@type") {
				t.Fatalf("%s: %v", data, err)
			}
			if err == nil && !proto.Equal(&ours, &theirs) {
				t.Fatalf("%s: we have %v, not %v", data, &ours, &theirs)
			}
		}
		if tree, err := lenient.JSONTree(data, values); err == nil {
			_ = lenient.Unique(tree)
		}
	})
}

// FuzzYAML wants no panic, and that what is made of YAML is JSON.
func FuzzYAML(f *testing.F) {
	seeds(f, ".yaml")
	f.Add([]byte("&a [*a]"))
	f.Add([]byte("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := lenient.YAML(data, values)
		if err != nil {
			return
		}
		var v structpb.Value
		if _, err := text.Into(&v, protoregistry.GlobalTypes); err != nil && !strings.Contains(err.Message, "nested too deep") {
			t.Fatalf("%q: %v", data, err)
		}
	})
}

// seeds are the files that a real Envoy was asked about.
func seeds(f *testing.F, ending string) {
	f.Helper()
	n := 0
	for _, archive := range []string{"taken", "leftout", "rejected"} {
		a, err := txtar.ParseFile("../../decode/file/testdata/" + archive + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, x := range a.Files {
			if strings.HasSuffix(x.Name, ending) {
				f.Add(x.Data)
				n++
			}
		}
	}
	if n == 0 {
		f.Fatalf("no file ends in %s", ending)
	}
}

// What stands for much is refused before it is made.
func TestBounds(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 10; i++ {
		name, last := string(rune('0'+i)), string(rune('0'+i-1))
		bomb += "a" + name + ": &a" + name + " [" + strings.TrimSuffix(strings.Repeat("*a"+last+" , ", 10), " , ") + "]\n"
	}
	long := "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.TrimSuffix(strings.Repeat("*a , ", 200), " , ") + "]\n"
	for name, text := range map[string]string{
		"aliases": bomb, "aliases of a long text": long, "an alias of itself": "a: &a [*a]", "deep": strings.Repeat("[", 150) + strings.Repeat("]", 150),
		"many": strings.Repeat("- a\n", values+1), "large": strings.Repeat("#", lenient.MaxYAML+1),
	} {
		var v structpb.Value
		text, err := lenient.YAML([]byte(text), values)
		if err == nil {
			_, err = text.Into(&v, protoregistry.GlobalTypes)
		}
		if err == nil {
			t.Errorf("%s: read", name)
		}
	}
	for name, text := range map[string]string{
		"deep": strings.Repeat("[", 1<<20), "many": "[" + strings.Repeat("1,", values) + "1]",
	} {
		if _, err := lenient.JSONTree([]byte(text), values); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
