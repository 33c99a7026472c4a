package document

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"sigs.k8s.io/yaml"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
)

// Without the types of a message its bytes still say a lot.
func TestDecodeUnknown(t *testing.T) {
	data := handmade.Msg(handmade.Num(1, 7), handmade.Str(2, "hello"), handmade.Sub(4, handmade.Str(1, "x"), handmade.Num(2, 1<<60)), handmade.Str(5, "\xff\x00\x01"), handmade.Num(1, 8), handmade.Str(6, "a\nb"),
		[]byte{7<<3 | 5, 1, 2, 3, 4}, []byte{8<<3 | 1, 1, 2, 3, 4, 5, 6, 7, 8}, []byte{9<<3 | 3, 1 << 3, 5, 9<<3 | 4})
	doc := Any("a.b/my.Type", data)
	want := `{"@type":"a.b/my.Type","@unknown":{"1":[7,8],"2":"hello","4":{"1":"x","2":"1152921504606846976"},"5":{"@bytes":"/wAB"},` +
		`"6":"a\nb","7":"0x04030201","8":"0x0807060504030201","9":{"1":5}}}`
	if got := string(doc.Compact()); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
	if len(doc.Problems) != 1 || !strings.Contains(doc.Problems[0], `"my.Type" is not known`) {
		t.Errorf("%q", doc.Problems)
	}
	if got := string(Any("a.b/my.Type", []byte("just text, no message")).Compact()); got != `{"@type":"a.b/my.Type","@value":"just text, no message"}` {
		t.Error(got)
	}
}

func TestDecodeJSONAsSent(t *testing.T) {
	doc := JSON("", []byte(`{"b":1.50,"a":[null,true,"x"],"c":{}}`))
	if got := string(doc.Compact()); got != `{"b":1.50,"a":[null,true,"x"],"c":{}}` || len(doc.Problems) != 0 {
		t.Errorf("%s %q", got, doc.Problems)
	}
	doc = JSON("", []byte(`upstream connect error`))
	if got := string(doc.Compact()); got != `"upstream connect error"` || len(doc.Problems) != 1 {
		t.Errorf("%s %q", got, doc.Problems)
	}
}

// Both writers agree with readers that others wrote.
func checkWriters(t *testing.T, doc Document) {
	t.Helper()
	var want, got any
	if err := json.Unmarshal(doc.JSON(), &want); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, doc.JSON())
	}
	if err := json.Unmarshal(doc.Compact(), &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("compact and indented JSON differ: %v", err)
	}
	if err := yaml.Unmarshal(doc.YAML(), &got); err != nil {
		t.Fatalf("not YAML: %v\n%s", err, doc.YAML())
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("YAML and JSON differ\n got %#v\nwant %#v\n%s", got, want, doc.YAML())
	}
}

func TestYAML(t *testing.T) {
	doc := Document{Root: Tree{}}
	for name, s := range map[string]string{
		"a": "plain", "b": "yes", "c": "1.0", "d": "0x1f", "e": "outbound|80||x.y", "f": "a: b", "g": "a #b", "h": "# x", "i": "", "j": " x",
		"k": "two\nlines\n", "l": "no\nend", "m": "-----BEGIN X-----\nabc\n\ndef\n-----END X-----\n", "n": "trail \nx\n", "o": "\nfirst", "p": "x\n\n",
		"q": "2001-01-01", "r": "~", "s": "é", "t": "a\tb", "u": "\x00", "v": "\u2028", "w": "- x", "x": "12:30:45", "y": "1_000", "z": "a:", "aa": "=",
		"on": "key word", "1": "number key", "@type": "x/y", "null": "x", "ab": "one line\n", "ac": "/* x */", "ad": "\u0085", "ae": "a\r\nb\r\n", "af": "  i\n x\n",
	} {
		doc.Root.add(name, textTree(s))
	}
	long := strings.Repeat("key ", 400)
	doc.Root.add(long, Tree{Members: []Member{{long, textTree("a\nb\nc")}, {"x", Tree{Kind: Array, Items: []Tree{textTree("y")}}}}})
	doc.Root.add("list", Tree{Kind: Array, Items: []Tree{textTree("a\nb\nc"), doc.Root, {Kind: Array, Items: []Tree{numberTree("1"), {Kind: Array}}}, {}}})
	checkWriters(t, doc)
	checkWriters(t, Document{Root: textTree("a\nb\nc")})
	checkWriters(t, Document{})
	small := Document{}
	small.Root.add("name", textTree("c1"))
	small.Root.add("hosts", Tree{Kind: Array, Items: []Tree{{Members: []Member{{"address", textTree("127.0.0.1")}, {"port", numberTree("80")}}}, textTree("::1")}})
	small.Root.add("key", textTree("a\nb\n"))
	small.Root.add("nothing", Tree{Kind: Array})
	small.Root.add("none", Tree{Kind: Object})
	want := "name: c1\nhosts:\n- address: \"127.0.0.1\"\n  port: 80\n- \"::1\"\nkey: |\n  a\n  b\nnothing: []\nnone: {}\n"
	if got := string(small.YAML()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Which texts stand in YAML as they are, and which as a block of lines.
func TestFormsOfTexts(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "a": true, "z": true, "A": true, "Z": true, "_a": true, "/a": true, "@a": false, "[a": false, "`a": false, "{a": false, "-a": false,
		"a0": true, "a9": true, "a/9": true, "a:b": true, "a:": false, "a: b": false, "a b": true, "a ": false, "a  b": false, "a #b": false, "a#b": false,
		"0s": true, "9s": true, "0.250s": true, "10.9s": true, "s": true, ".5s": false, "5": false, "5sec": false, "5m": false,
		strings.Repeat("a", 512): true, strings.Repeat("a", 513): false, "a;b": false, "é": false,
	} {
		if isPlainScalar(text) != want {
			t.Errorf("%.20q is plain: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{
		"a\nb": true, "a\nb\n": true, "a\n": false, "a": false, "a\n\nb": true, "a\nb\n\n": false, "a\n\n": false, " a\nb": false, "\na\nb": false, "a \nb": false, "a\n\ufeffb": false, "a\x00\nb": false,
	} {
		if isBlock(text) != want {
			t.Errorf("%q is a block: %v", text, !want)
		}
	}
}

func FuzzWriters(f *testing.F) {
	f.Add("a: b", "x\ny\n")
	f.Add("- 1", "\u2028\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		list := Tree{Kind: Array, Items: []Tree{textTree(a), {Members: []Member{{b, textTree(a)}}}, {Kind: Array, Items: []Tree{textTree(b), textTree(a)}}}}
		checkWriters(t, Document{Root: Tree{Members: []Member{{a, list}, {"x" + a + b, textTree(b)}}}})
	})
}

// Nothing makes a decoder without types panic or run away.
func FuzzDocument(f *testing.F) {
	for _, s := range handmade.Samples {
		f.Add("", s.Data)
	}
	// Types that protobuf itself brings stand for all: a test links those of
	// xDS elsewhere.
	for _, m := range []proto.Message{
		protodesc.ToFileDescriptorProto(structpb.File_google_protobuf_struct_proto),
		structpb.NewStringValue("x"), durationpb.New(time.Second), timestamppb.Now(), wrapperspb.Int64(7),
		&fieldmaskpb.FieldMask{Paths: []string{"a_b.c"}}, &anypb.Any{TypeUrl: "a/google.protobuf.Duration", Value: []byte{8, 1}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(m.ProtoReflect().Descriptor().FullName()), data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		checkWriters(t, Message(name, data))
		checkWriters(t, JSON(name, data))
		checkWriters(t, Any(name, data))
		checkWriters(t, Kept(name, data))
	})
}
