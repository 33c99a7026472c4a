package folder

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/document"
	_ "github.com/xdsproxy/xdsproxy/decode/types" // what resources consist of
	"github.com/xdsproxy/xdsproxy/session"
)

func anyBytes(url string, value []byte) []byte {
	b, _ := proto.Marshal(&anypb.Any{TypeUrl: url, Value: value}) // cannot fail
	return b
}

func field(num protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), body)
}

const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

// What cannot be decoded survives an edit beside it, byte for byte.
func TestWhatCannotBeDecoded(t *testing.T) {
	meta, err := structpb.NewStruct(map[string]any{"n": 1.5, "big": 1e300, "word": "yes", "digits": "15", "null": nil, "list": []any{true, 3}})
	if err != nil {
		t.Fatal(err)
	}
	number, _ := anypb.New(wrapperspb.Double(0.1))
	masked := field(1, []byte("[masked:AbCdEfGh.......]"))
	for name, value := range map[string][]byte{
		"a field of a newer API":   append(field(1, []byte("web")), protowire.AppendVarint(protowire.AppendTag(nil, 3999, protowire.VarintType), 1<<60)...),
		"a group":                  append(field(1, []byte("web")), 0xf3, 0x7c, 0x08, 0x01, 0xf4, 0x7c),
		"another wire type":        append(field(1, []byte("web")), protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5)...),
		"an end without sense":     append(field(1, []byte("web")), 0x0a, 0xff, 0x01, 'x'),
		"text that is not UTF-8":   field(1, []byte("w\xffb")),
		"a type that nobody knows": field(25, field(3, append(field(1, []byte("x")), field(2, anyBytes("type.googleapis.com/my.Own", []byte{8, 1, 0xff}))...))),
		"a type without a slash":   field(24, field(4, anyBytes("my.Own", []byte("hello")))),
		"no Any":                   field(24, field(4, []byte{0x0a, 0x05, 'x'})),
		"more than an Any":         field(24, field(4, append(anyBytes(clusterType, nil), field(7, []byte("x"))...))),
		"numbers":                  field(25, field(1, append(field(1, []byte("x")), field(2, marshal(t, meta))...))),
		"an Any of a number":       field(24, field(4, marshal(t, number))),
		"a mask":                   masked,
		"controls":                 field(1, []byte("a\x1b[31m\u202eb\u2028\n\tc")),
	} {
		t.Run(name, func(t *testing.T) {
			raw := anyBytes(clusterType, value)
			root := document.Kept(anyName, raw).Root
			text := yamlOf(&root)
			if bytes.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("it does something to a screen: %q", text)
			}
			again, wrong := anyOf(append(text, "alt_stat_name: other\n"...))
			if len(wrong) > 0 {
				t.Fatalf("%v in\n%s", wrong, text)
			}
			var of anypb.Any
			if err := proto.Unmarshal(again, &of); err != nil {
				t.Fatal(err)
			}
			// But for what was added, which is before what is unknown.
			got := bytes.Replace(of.GetValue(), field(28, []byte("other")), nil, 1)
			if !bytes.Equal(got, value) {
				t.Errorf("%s became %s, by\n%s", hex.EncodeToString(value), hex.EncodeToString(got), text)
			}
		})
	}
}

func marshal(t *testing.T, m proto.Message) []byte {
	t.Helper()
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A content of which the text does not say all is known as such.
func TestLossy(t *testing.T) {
	whole := marshal(t, &cluster.Cluster{Name: "web"})
	if lossy(anyBytes(clusterType, whole)) {
		t.Error("a cluster with a name is written in full")
	}
	// A field in a wrapper that a wrapper does not have.
	odd := field(5, append(protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 5), field(9, []byte("x"))...))
	if !lossy(anyBytes(clusterType, append(whole, odd...))) {
		t.Error("what a wrapper does not know is lost, and nobody says so")
	}
	if text := yamlText(anyBytes(clusterType, whole)); !strings.Contains(text, "name: web\n") {
		t.Error(text)
	}
}

func yamlText(raw []byte) string {
	root := document.Kept(anyName, raw).Root
	return string(yamlOf(&root))
}

// Whatever stands in session.yaml, it is an entry or has faults.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{
		"", "seq: 1\nkind: note\nnote:\n  code: remark\n", "kind: message\nmessage:\n  \"@type\": type.googleapis.com/envoy.service.discovery.v3.DiscoveryRequest\n  version_info: \"1\"\n",
		"kind: message\nmessage:\n  \"@type\": type.googleapis.com/envoy.service.discovery.v3.DiscoveryResponse\n  resources:\n  - \"@file\": resources/a.yaml\n  - \"@file\": resources/a.yaml\n",
		"kind: message\nmessage:\n  \"@type\": type.googleapis.com/envoy.service.discovery.v3.DeltaDiscoveryResponse\n  resources:\n  - name: a\n    resource:\n      \"@file\": x\n",
		"kind: message\nbytes: aGk=\nhash: aGk=\ntruncated: true\nsize: -5\n", "kind: gap\ngap:\n  streams: [1, 2, -3]\n  cause: cut\n", "&a [*a]", "a: &a [1]\nb: *a\n",
		"kind: message\nmessage: {\"@any\": aGk=}", "kind: message\nmessage: {\"@type\": x, \"@value\": aGk=, more: 1}", "kind: connect\npeer: {client_tls: {identities: [a]}}\nheaders: [{name: a}]\n",
		"kind: held\nheld:\n  source: csds\n  whole: true\nbytes: aGk=\n", "kind: held\nheld: {failed: gone}\n",
		"time: 9999-01-01T00:00:00Z\nstatus: {code: 99999999999999999999}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		faults := 0
		p := parser{
			wrong: func(int, int, string, ...any) { faults++ },
			file:  func(string, int, int) []byte { return field(1, []byte("type.googleapis.com/x")) },
			twice: func(session.Seq, decode.Kind) map[string]bool { return nil },
		}
		e := p.entry(text)
		if faults > 0 {
			return
		}
		if e.Kind == 0 || e.Kind != session.KindHeld && (e.Message == nil) != (e.Kind != session.KindMessage) {
			t.Errorf("%q is %+v", text, e)
		}
		var tree document.Tree
		w := writing(&tree)
		w.entry(&e)
		if e.Message != nil {
			w.message(e.Message, nil, e.Side, nil)
		}
		again := p.entry(yamlOf(&tree))
		if faults > 0 || again.Seq != e.Seq || again.Kind != e.Kind || !again.Time.Equal(e.Time) {
			t.Errorf("%q is %+v, and then %+v", text, e, again)
		}
	})
}

// Whatever stands in a file of a resource, it is one or has faults.
func FuzzContent(f *testing.F) {
	for _, seed := range []string{
		"", "\"@type\": " + clusterType + "\nname: a\nconnect_timeout: 1.5s\n", "\"@type\": x/y\n\"@value\": aGk=\n", "\"@any\": aGk=\n", "\"@file\": a\n",
		"\"@type\": " + clusterType + "\n\"@unknown\": aGk=\n\"@undecoded\": _w==\n", "{\"@type\": type.googleapis.com/google.protobuf.Struct, value: {a: 1e9, b: [~, -0]}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		raw, wrong := anyOf(text)
		if len(wrong) > 0 {
			return
		}
		// Its text is read again, unless it is no message at all.
		root := document.Kept(anyName, raw).Root
		if _, wrong := anyOf(yamlOf(&root)); len(wrong) > 0 {
			t.Skipf("%v", wrong)
		}
	})
}

// Documents are parted, and hashed, as they are when they are read in one piece.
func FuzzDocuments(f *testing.F) {
	for _, seed := range []string{intro + "--- # 0123\na: 1\n---\r\nb: 2\r\n\r\n", "---", "---\n---\n", "--- \nx\n----\n", "\r\r\n\n\r", "---\n\"@file\": a\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		in, doc := newDocuments(bytes.NewReader(text)), new(yamlDocument)
		size := 0
		for in.next(doc) == nil {
			size += len(doc.text)
			h := newHasher()
			for _, b := range doc.text {
				_, _ = h.Write([]byte{b}) // cannot fail
			}
			if h.sum() != sum(doc.text) {
				t.Errorf("the hash of %q is %s and %s", doc.text, sum(doc.text), h.sum())
			}
			if doc.same && doc.as != sum(doc.text) {
				t.Errorf("%q is not the same", doc.text)
			}
		}
		if size > len(text) || in.read != int64(len(text)) {
			t.Errorf("%d bytes in documents, %d read, of %d", size, in.read, len(text))
		}
	})
}
