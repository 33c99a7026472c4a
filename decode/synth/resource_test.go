package synth

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/decode"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
	_ "github.com/xdsproxy/xdsproxy/decode/types"
	"github.com/xdsproxy/xdsproxy/internal/protoscan"
	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// described are resources of every type with every reference that it can have.
func described() []Resource {
	all := []Resource{
		{TypeURL: "CDS"},
		{TypeURL: "CDS", Refs: Refs{EDS: true}},
		{TypeURL: "CDS", Refs: Refs{EDS: true, EDSName: "other", Secrets: []string{"s1", "s2"}}},
		{TypeURL: "CDS", Refs: Refs{Clusters: []string{"c2", "c3"}, Secrets: []string{"s1"}}},
		{TypeURL: "LDS"},
		{TypeURL: "LDS", Refs: Refs{Routes: []string{"r1"}}},
		{TypeURL: "LDS", Refs: Refs{Routes: []string{"r1", "r2"}, Clusters: []string{"c1"}, Secrets: []string{"s1"}}},
		{TypeURL: "LDS", Refs: Refs{Clusters: []string{"c1", "c2"}}},
		{TypeURL: "LDS", Refs: Refs{SRDS: true, Clusters: []string{"c1", "c2"}}},
		{TypeURL: "LDS", Refs: Refs{Filters: []string{"f1", "f2"}}},
		{TypeURL: "LDS", Refs: Refs{Filters: []string{"f1"}, Default: true}},
		{TypeURL: "RDS"},
		{TypeURL: "RDS", Refs: Refs{Clusters: []string{"c1", "c2"}, VHDS: true}},
		{TypeURL: "VHDS"},
		{TypeURL: "VHDS", Refs: Refs{Clusters: []string{"c1"}}},
		{TypeURL: "EDS"},
		{TypeURL: "EDS", Refs: Refs{Groups: []string{"xdstp://a/envoy.config.endpoint.v3.LbEndpoint/g/*"}}},
		{TypeURL: "LEDS"},
		{TypeURL: "SDS"},
		{TypeURL: "RTDS"},
		{TypeURL: "ECDS"},
		{TypeURL: "SRDS"},
		{TypeURL: "SRDS", ScopeKey: "keyA"},
		{TypeURL: "SRDS", Refs: Refs{Routes: []string{"r1"}}},
	}
	for _, src := range Sources() {
		all = append(all, Resource{TypeURL: "CDS", Refs: Refs{EDS: true, Source: src}},
			Resource{TypeURL: "LDS", Refs: Refs{Routes: []string{"r1"}, Source: src}})
	}
	var out []Resource
	for _, r := range all {
		for _, prefix := range []string{"", "v2."} {
			next := r
			if next.TypeURL = xds.TypeURL(prefix + r.TypeURL); next.TypeURL == "" {
				continue
			}
			next.Name = "name-1"
			if next.Check() == nil {
				out = append(out, next)
			} else if prefix == "" {
				panic(fmt.Sprint(next, next.Check()))
			}
		}
	}
	return out
}

func (r Resource) title() string {
	return fmt.Sprintf("%s%+v", xds.TypeWord(r.TypeURL), r.Refs)
}

func parsed(t *testing.T, url string, body []byte) (proto.Message, error) {
	t.Helper()
	typ, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err != nil {
		t.Fatal(err)
	}
	m := typ.New().Interface()
	return m, proto.Unmarshal(body, m)
}

// faults walks a message and every Any in it.
func faults(t *testing.T, m proto.Message, found func(format string, args ...any)) {
	t.Helper()
	if v, ok := m.(interface{ ValidateAll() error }); ok {
		if err := v.ValidateAll(); err != nil {
			found("not valid: %v", err)
		}
	}
	walk(t, m.ProtoReflect(), found)
}

func walk(t *testing.T, m protoreflect.Message, found func(format string, args ...any)) {
	t.Helper()
	if len(m.GetUnknown()) > 0 {
		found("unknown field in %s", m.Descriptor().FullName())
	}
	if m.Descriptor().FullName() == "google.protobuf.Any" {
		url := m.Get(m.Descriptor().Fields().ByNumber(1)).String()
		inner, err := parsed(t, url, m.Get(m.Descriptor().Fields().ByNumber(2)).Bytes())
		if err != nil {
			found("%s: %v", url, err)
			return
		}
		faults(t, inner, found)
		return
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if o, ok := fd.Options().(*descriptorpb.FieldOptions); ok && o.GetDeprecated() && m.Descriptor().ParentFile().Path()[:9] != "envoy/api" {
			found("%s is deprecated", fd.FullName())
		}
		switch {
		case fd.Message() == nil || fd.IsMap() && fd.MapValue().Message() == nil:
		case fd.IsMap():
			v.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { walk(t, v.Message(), found); return true })
		case fd.IsList():
			for i := range v.List().Len() {
				walk(t, v.List().Get(i).Message(), found)
			}
		default:
			walk(t, v.Message(), found)
		}
		return true
	})
}

// What is made is what its type allows, of either version.
func TestResourcesAreSound(t *testing.T) {
	for _, r := range described() {
		for _, content := range []string{"", "h1", "a b\x00" + "ä", "sha256=0"} {
			if r.Content = content; r.Check() != nil {
				continue
			}
			t.Run(r.title()+content, func(t *testing.T) {
				m, err := parsed(t, r.TypeURL, r.Body())
				if err != nil {
					t.Fatal(err)
				}
				faults(t, m, t.Errorf)
				if !bytes.Equal(r.Body(), r.Body()) {
					t.Error("the same description gives different bytes")
				}
			})
		}
	}
}

// Two payloads are equal exactly if their descriptions are.
func TestContentFollowsTheDescription(t *testing.T) {
	seen := map[string]string{}
	for _, r := range described() {
		for _, name := range []string{"a", "b"} {
			for _, content := range []string{"", "1", "2", "x y", "sha256=00", "/"} {
				r.Name, r.Content = name, content
				if r.Check() != nil {
					continue
				}
				title := fmt.Sprintf("%s key=%q name=%q content=%q", r.title(), r.ScopeKey, name, content)
				if r.Refs.Source == "ads" { // which is the default
					continue
				}
				key := r.TypeURL + string(r.Body())
				if other := seen[key]; other != "" {
					t.Errorf("%s has the bytes of %s", title, other)
				}
				seen[key] = title
			}
		}
	}
	plain := Resource{TypeURL: xds.TypeURL("CDS"), Name: "c", Version: "1", Wrapped: true, Aliases: []string{"x"}, HasTTL: true}
	other := Resource{TypeURL: xds.TypeURL("CDS"), Name: "y", Payload: "c", OwnName: true, Version: "2"}
	if !bytes.Equal(plain.Body(), other.Body()) {
		t.Error("what the wrapper says is in the payload")
	}
}

func TestFaultsAreReal(t *testing.T) {
	for _, r := range described() {
		title := r.title()
		bad := r
		bad.Corrupt = true
		if _, err := parsed(t, r.TypeURL, bad.Body()); err == nil {
			t.Errorf("%s: a corrupt payload parses", title)
		}
		unknown := r
		unknown.Unknown = true
		n := 0
		if m, err := parsed(t, r.TypeURL, unknown.Body()); err != nil {
			t.Error(err)
		} else {
			faults(t, m, func(string, ...any) { n++ })
		}
		if n != 1 {
			t.Errorf("%s: %d faults in a payload with one unknown field", title, n)
		}
		dated := r
		dated.Dated = true
		if f := inspect.New(nil).Inspect(r.TypeURL, dated.Body(), false); dated.Check() == nil && (len(f.Deprecated) != 1 || len(f.Unknown)+len(f.Invalid) > 0) {
			t.Errorf("%s: with one deprecated field %+v", title, f)
		}
		invalid := r
		invalid.Invalid = true
		if invalid.Check() != nil {
			continue
		}
		m, err := parsed(t, r.TypeURL, invalid.Body())
		if err != nil {
			t.Fatal(err)
		}
		v, generated := m.(interface{ ValidateAll() error })
		if !generated && !strings.HasPrefix(r.TypeURL, "type.googleapis.com/envoy.api.v2.") {
			t.Errorf("%s: the type has no generated code", title)
		}
		if generated && v.ValidateAll() == nil {
			t.Errorf("%s: the payload is valid", title)
		}
		for _, r := range []Resource{bad, unknown, invalid} {
			peek := decode.Peek(xds.Method{Variant: xds.VariantSotw}, 2, "", (&Response{TypeURL: r.TypeURL, Resources: []Resource{r}}).Marshal())
			if Named(r.TypeURL) && peek.Resources[0].Name != r.Name {
				t.Errorf("%s: a fault hides the name", title)
			}
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, r := range []Resource{
		{TypeURL: "SDS", Refs: Refs{Clusters: []string{"c"}}},
		{TypeURL: "EDS", Refs: Refs{EDS: true}},
		{TypeURL: "CDS", Refs: Refs{Routes: []string{"r"}}},
		{TypeURL: "RDS", Refs: Refs{Secrets: []string{"s"}}},
		{TypeURL: "CDS", Refs: Refs{Filters: []string{"f"}}},
		{TypeURL: "LDS", Refs: Refs{VHDS: true}},
		{TypeURL: "RDS", Refs: Refs{SRDS: true}},
		{TypeURL: "LDS", Refs: Refs{Groups: []string{"g"}}},
		{TypeURL: "CDS", Refs: Refs{Source: "self"}},
		{TypeURL: "LDS", Refs: Refs{Default: true}},
		{TypeURL: "CDS", Refs: Refs{EDS: true, Clusters: []string{"c"}}},
		{TypeURL: "SRDS", Refs: Refs{Routes: []string{"r", "q"}}},
		{TypeURL: "SRDS", Content: "h", Refs: Refs{Routes: []string{"r"}}},
		{TypeURL: "CDS", ScopeKey: "key"},
		{TypeURL: "RTDS", Invalid: true},
		{TypeURL: "NDS", Invalid: true},
		{TypeURL: "EDS", Dated: true},
		{TypeURL: "v2.CDS", Dated: true},
		{TypeURL: "NDS", Refs: Refs{Clusters: []string{"c"}}},
		{TypeURL: "v2.LDS", Refs: Refs{Filters: []string{"f"}}},
		{TypeURL: "v2.CDS", Refs: Refs{Secrets: []string{"s", "t"}}},
		{TypeURL: "v2.EDS", Refs: Refs{Groups: []string{"g"}}},
		{TypeURL: "LEDS", OwnName: true, Payload: "x"},
		{TypeURL: "CDS", Empty: true, Corrupt: true},
		{TypeURL: "CDS", Empty: true, Refs: Refs{EDS: true}},
		{TypeURL: "CDS", Empty: true, Content: "1"},
		{TypeURL: "CDS", Empty: true, Refs: Refs{Clusters: []string{"c"}}},
		{TypeURL: "LDS", Refs: Refs{Routes: []string{""}}},
		{TypeURL: "RDS", Refs: Refs{Clusters: []string{"c", ""}}},
		{TypeURL: "RDS", NotGRPC: true},
		{TypeURL: "CDS", NotGRPC: true, Refs: Refs{EDS: true}},
		{TypeURL: "CDS", NotGRPC: true, Refs: Refs{Clusters: []string{"c"}}},
	} {
		r.TypeURL = xds.TypeURL(r.TypeURL)
		if r.Check() == nil {
			t.Errorf("%s %+v is not refused", r.TypeURL, r)
		}
	}
	for _, r := range []Resource{
		{TypeURL: "CDS", NotGRPC: true},
		{TypeURL: "LDS", NotGRPC: true, Refs: Refs{Routes: []string{"r"}, Clusters: []string{"c"}}},
		{TypeURL: "CDS", Empty: true},
		{TypeURL: "v2.CDS"},
		{TypeURL: "v2.LDS", Refs: Refs{Routes: []string{"r"}}},
		{TypeURL: "v2.CDS", Refs: Refs{Secrets: []string{"s"}}},
		{TypeURL: "LDS", Refs: Refs{Filters: []string{"f"}, Source: "self"}},
		{TypeURL: "LDS", Refs: Refs{Secrets: []string{"s"}, Source: "self"}},
		{TypeURL: "LDS", Refs: Refs{Routes: []string{"r"}, Source: "self"}},
		{TypeURL: "LDS", Refs: Refs{Routes: []string{"r"}, Secrets: []string{"s"}, Filters: []string{"f"}, Source: "self"}},
		{TypeURL: "LDS", Refs: Refs{Routes: []string{"r"}, Secrets: []string{"s"}, Source: "self"}},
		{TypeURL: "LDS", Refs: Refs{Secrets: []string{"s"}, Filters: []string{"f"}, Source: "self"}},
		{TypeURL: "EDS", Refs: Refs{Groups: []string{"g"}, Source: "self"}},
	} {
		r.TypeURL = xds.TypeURL(r.TypeURL)
		if err := r.Check(); err != nil {
			t.Errorf("%s %+v: %v", r.TypeURL, r, err)
		}
	}
}

// A type that is not known here has its name in field 1, its content in field 2 and
// the padding in field 3, each where there is one.
func TestGenericPayloads(t *testing.T) {
	const url = "a.b/x.Y"
	for want, r := range map[string]Resource{
		"":                                 {},
		"\x0a\x01n":                        {Name: "n"},
		"\x12\x01c":                        {Content: "c"},
		"\x1a\x02xx":                       {Pad: 2},
		"\x0a\x01n\x12\x01c\x1a\x01x":      {Name: "n", Content: "c", Pad: 1},
		"\x0a\x01p\x82\xb5\x18\x07unknown": {Name: "n", Payload: "p", OwnName: true, Unknown: true},
	} {
		r.TypeURL = url
		if got := string(r.Body()); got != want {
			t.Errorf("%+v is %q, not %q", r, got, want)
		}
	}
}

// A payload that does not parse lacks the last byte of its last field, and no more.
func TestCorruptPayloads(t *testing.T) {
	for _, r := range []Resource{{TypeURL: "CDS"}, {TypeURL: "CDS", Name: "n"}, {TypeURL: "EDS", Name: "n", Content: "abc"}, {TypeURL: "LEDS", Content: "abc", Pad: 200}} {
		r.TypeURL, r.Corrupt = xds.TypeURL(r.TypeURL), true
		body := r.Body()
		if protoscan.Whole(body) || !protoscan.Whole(append(body, 'x')) {
			t.Errorf("%+v: %q", r, body)
		}
		if name := protoscan.Last(append(body, 'x'), 1); string(name) != r.Name {
			t.Errorf("%+v is called %q", r, name)
		}
	}
}

// A content that is a plain word stays one, and others are told apart.
func TestLabelsOfContents(t *testing.T) {
	long := strings.Repeat("x", 64)
	for in, plain := range map[string]bool{
		"": true, "azAZ09.-_": true, long: true, long + "x": false, "a b": false, "@": false, "[": false, "`": false, "{": false, "/": false, ":": false, "é": false,
	} {
		if got := label(in); (got == in) != plain || !plain && (!strings.HasPrefix(got, "sha256=") || len(got) != 39) {
			t.Errorf("%q is %q", in, got)
		}
	}
	if label("a b") == label("a  b") {
		t.Error("two contents have one label")
	}
	for n, want := range map[int]string{-1: "", 0: "", 3: "xxx"} {
		if got := padding(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
	for _, n := range []*decode.Node{{Zone: "z"}, {Region: "r"}, {ID: "n"}} {
		if got := node(n); (got.Locality != nil) != (n.Zone+n.Region != "") || got.Locality.GetZone() != n.Zone || got.Locality.GetRegion() != n.Region {
			t.Errorf("%+v is %v", n, got)
		}
	}
}
