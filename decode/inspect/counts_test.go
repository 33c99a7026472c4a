package inspect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
)

// Which bytes are the same resource, and which are another one.
func TestWhatCounts(t *testing.T) {
	str, sub, num := handmade.Str, handmade.Sub, handmade.Num
	const typed = 36 // typed_extension_protocol_options
	entry := func(key string, url, value string) []byte {
		return sub(typed, str(1, key), sub(2, str(1, url), str(2, value)))
	}
	name := str(1, "c")
	for what, c := range map[string]struct {
		a, b []byte
		same bool
	}{
		"an empty text":                 {name, append(str(1, ""), name...), true},
		"a zero":                        {name, append(num(6, 0), name...), true},
		"another number":                {append(num(6, 1), name...), append(num(6, 2), name...), false},
		"an unknown Any, another value": {append(entry("k", "t/u", "x"), name...), append(entry("k", "t/u", "y"), name...), false},
		"an unknown Any, no value":      {append(entry("k", "t/u", "x"), name...), append(sub(typed, str(1, "k"), sub(2, str(1, "t/u"))), name...), false},
		"an unknown Any, an empty one":  {append(entry("k", "t/u", ""), name...), append(sub(typed, str(1, "k"), sub(2, str(1, "t/u"))), name...), true},
		"entries in another order":      {append(entry("k", "t/u", "x"), entry("l", "t/u", "y")...), append(entry("l", "t/u", "y"), entry("k", "t/u", "x")...), true},
		"an entry twice":                {append(entry("k", "t/u", "x"), entry("k", "t/u", "y")...), entry("k", "t/u", "y"), true},
		"an entry without a value":      {append(sub(typed, str(1, "k")), name...), append(sub(typed, str(1, "k"), sub(2)), name...), true},
		"an entry without its value":    {append(sub(typed, str(1, "k")), name...), append(entry("k", "t/u", "x"), name...), false},
		"three entries":                 {slices.Concat(entry("m", "", ""), entry("k", "t/u", "x"), entry("l", "", ""), entry("k", "t/u", "y")), slices.Concat(entry("k", "t/u", "y"), entry("l", "", ""), entry("m", "", "")), true},
		"the first of them":             {append(entry("k", "t/u", "x"), entry("k", "t/u", "y")...), entry("k", "t/u", "x"), false},
		"an unknown field":              {append(num(1000, 1), name...), append(num(1000, 2), name...), false},
		"the last of a oneof":           {append(num(2, 3), sub(38, str(1, "x"))...), sub(38, str(1, "x")), true},
		"the first of a oneof":          {append(num(2, 3), sub(38, str(1, "x"))...), num(2, 3), false},
	} {
		in := inspect.New(nil)
		a, b := *in.Inspect(handmade.ClusterURL, c.a, false), *in.Inspect(handmade.ClusterURL, c.b, false)
		if a.Undecodable != "" || b.Undecodable != "" || (a.Hash == b.Hash) != c.same {
			t.Errorf("%s: they are the same: %v; %s%s", what, a.Hash == b.Hash, a.Undecodable, b.Undecodable)
		}
	}
}

// What is said of fields that are not known, and of values that nobody should use any more, each once for a
// field of one name.
func TestWhatIsNoted(t *testing.T) {
	str, sub, num := handmade.Str, handmade.Sub, handmade.Num
	for what, c := range map[string]struct {
		b                   []byte
		unknown, deprecated []string
	}{
		"none":               {str(1, "c"), nil, nil},
		"in two places":      {slices.Concat(num(1000, 1), sub(3, num(1000, 1)), sub(4, num(1000, 1)), sub(3, num(1000, 2))), []string{"eds_cluster_config: unknown field 1000", "connect_timeout: unknown field 1000", "unknown field 1000"}, nil},
		"an unknown type":    {sub(24, str(1, "n"), handmade.AnyOf(3, "t/u.V")), []string{`transport_socket.typed_config: unknown type "u.V"`}, nil},
		"a deprecated value": {sub(3, sub(1, sub(3, []byte{}), num(6, 1))), nil, []string{"eds_cluster_config.eds_config.resource_api_version: V2"}},
		"one that is not":    {sub(3, sub(1, sub(3, []byte{}), num(6, 2))), nil, nil},
	} {
		f := inspect.New(nil).Inspect(handmade.ClusterURL, c.b, false)
		if fmt.Sprint(f.Unknown) != fmt.Sprint(c.unknown) || fmt.Sprint(f.Deprecated) != fmt.Sprint(c.deprecated) {
			t.Errorf("%s: %q, %q, %s", what, f.Unknown, f.Deprecated, f.Undecodable)
		}
	}
}

// A cluster that gets its endpoints by EDS says so by its type alone, whatever stands around that.
func TestWhoseEndpoints(t *testing.T) {
	str, sub, num := handmade.Str, handmade.Sub, handmade.Num
	eds := num(2, 3)
	for what, c := range map[string]struct {
		b    []byte
		want []string
	}{
		"by its name":        {append(str(1, "c"), eds...), []string{"EDS c"}},
		"and a policy":       {slices.Concat(str(1, "c"), eds, num(6, 1), num(5, 2)), []string{"EDS c"}},
		"by another name":    {slices.Concat(str(1, "c"), eds, sub(3, str(2, "s"))), []string{"EDS s"}},
		"of a custom type":   {slices.Concat(str(1, "c"), eds, sub(38, str(1, "x"))), nil},
		"and of EDS again":   {slices.Concat(str(1, "c"), sub(38, str(1, "x")), eds), []string{"EDS c"}},
		"of no type":         {str(1, "c"), nil},
		"another type first": {slices.Concat(str(1, "c"), num(2, 2), eds), []string{"EDS c"}},
	} {
		f := inspect.New(nil).Inspect(handmade.ClusterURL, c.b, false)
		var got []string
		for _, r := range f.Refs {
			if r.Type == "EDS" {
				got = append(got, "EDS "+r.Name)
			}
		}
		if !slices.Equal(got, c.want) || f.EDS != (len(c.want) > 0) {
			t.Errorf("%s: %q, %v", what, got, f.EDS)
		}
	}
}

// The greatest number that a field can have is that of a field. One more is no field, in a message and in an Any.
func TestGreatestFieldNumber(t *testing.T) {
	for more, want := range []string{"unknown field 536870911", ""} {
		odd := handmade.Num(protowire.MaxValidNumber+protowire.Number(more), 1)
		for _, b := range [][]byte{odd, handmade.Sub(24, handmade.Sub(3, handmade.Str(1, handmade.ClusterURL), odd))} {
			f := inspect.New(nil).Inspect(handmade.ClusterURL, b, false)
			if got := strings.Join(f.Unknown, "; "); !strings.HasSuffix(got, want) || (got == "") != (want == "") || (f.Undecodable == "") != (want != "") {
				t.Errorf("%d more, in %q: %q, %q", more, b, got, f.Undecodable)
			}
		}
	}
}

// However many an Any has beside it, it is looked into.
func TestManyAnys(t *testing.T) {
	var b []byte
	for range 40 {
		b = append(b, handmade.Sub(36, handmade.Str(1, "k"), handmade.AnyOf(2, handmade.ClusterURL))...)
	}
	last := handmade.Sub(36, handmade.Str(1, "z"), handmade.AnyOf(2, handmade.ClusterURL, handmade.Num(1000, 1)))
	f := inspect.New(nil).Inspect(handmade.ClusterURL, append(b, last...), false)
	if want := []string{`typed_extension_protocol_options["z"].value: unknown field 1000`}; !slices.Equal(f.Unknown, want) {
		t.Errorf("after 40 others: %q, %s", f.Unknown, f.Undecodable)
	}
}

// Of each oneof the last member counts, however many oneofs a type has.
func TestManyOneofs(t *testing.T) {
	const some = 12
	for n := 1; n <= some; n++ {
		types := descriptors.New()
		m := &descriptorpb.DescriptorProto{Name: proto.String("M")}
		for i := range 2 * n {
			m.Field = append(m.Field, &descriptorpb.FieldDescriptorProto{
				Name: proto.String(fmt.Sprint("f", i+1)), Number: proto.Int32(int32(i + 1)), OneofIndex: proto.Int32(int32(i / 2)),
				Type: descriptorpb.FieldDescriptorProto_TYPE_UINT32.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
			})
		}
		for i := range n {
			m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String(fmt.Sprint("o", i))})
		}
		set := handmade.Marshal(t, &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
			Name: proto.String("o.proto"), Package: proto.String("o"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{m},
		}}})
		if told, err := types.Add("x", set); err != nil || len(told) > 0 {
			t.Fatal(told, err)
		}
		var all, last []byte // of each oneof both members, and the second alone
		for i := range protowire.Number(n) {
			all = slices.Concat(all, handmade.Num(2*i+1, 5), handmade.Num(2*i+2, 7))
			last = append(last, handmade.Num(2*i+2, 7)...)
		}
		in := inspect.New(types)
		a, b := *in.Inspect("a/o.M", all, false), *in.Inspect("a/o.M", last, false)
		if !a.Known || a.Undecodable != "" || a.Hash != b.Hash {
			t.Errorf("%d oneofs: the members that others replace count: %+v", n, a)
		}
	}
}
