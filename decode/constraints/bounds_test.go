package constraints

import (
	"strings"
	"testing"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// The words for what is out of a range, at both ends of it, whichever of them count
// themselves.
func TestBounds(t *testing.T) {
	at := func(n int, text string) *bound[int] { return &bound[int]{n, text} }
	three, seven := at(3, "three"), at(7, "seven")
	for _, c := range []struct {
		b      bounds[int]
		bad    []int
		well   []int
		reason string
	}{
		{bounds[int]{lt: seven}, []int{7, 8}, []int{6, -9}, "less than seven"},
		{bounds[int]{lte: seven}, []int{8}, []int{7}, "less than or equal to seven"},
		{bounds[int]{gt: three}, []int{3, 2}, []int{4}, "greater than three"},
		{bounds[int]{gte: three}, []int{2}, []int{3}, "greater than or equal to three"},
		{bounds[int]{gt: three, lt: seven}, []int{3, 7}, []int{4, 6}, "inside range (three, seven)"},
		{bounds[int]{gte: three, lt: seven}, []int{2, 7}, []int{3, 6}, "inside range [three, seven)"},
		{bounds[int]{gt: three, lte: seven}, []int{3, 8}, []int{4, 7}, "inside range (three, seven]"},
		{bounds[int]{gte: three, lte: seven}, []int{2, 8}, []int{3, 7}, "inside range [three, seven]"},
		{bounds[int]{gt: seven, lt: three}, []int{3, 7, 5}, []int{2, 8}, "outside range [three, seven]"},
		{bounds[int]{gte: seven, lt: three}, []int{3, 6}, []int{2, 7}, "outside range [three, seven)"},
		{bounds[int]{gt: seven, lte: three}, []int{4, 7}, []int{3, 8}, "outside range (three, seven]"},
		{bounds[int]{gte: seven, lte: three}, []int{4, 6}, []int{3, 7}, "outside range (three, seven)"},
		{bounds[int]{gte: seven, lte: seven}, nil, []int{7, 6, 8}, ""},
		{bounds[int]{lt: three, lte: seven}, []int{3, 7}, []int{2}, "less than three"},
		{bounds[int]{gt: seven, gte: three}, []int{7, 3}, []int{8}, "greater than seven"},
		{bounds[int]{}, nil, []int{0}, ""},
	} {
		test := c.b.test()
		for _, n := range c.bad {
			if got := test(n); got != "value must be "+c.reason {
				t.Errorf("%d: %q, not %s", n, got, c.reason)
			}
		}
		for _, n := range c.well {
			if got := test(n); got != "" {
				t.Errorf("%d: %q where it must be %s", n, got, c.reason)
			}
		}
	}
}

// The words for what is too long or too short.
func TestLengths(t *testing.T) {
	two, five := proto.Uint64(2), proto.Uint64(5)
	for _, c := range []struct {
		exact, least, most *uint64
		bad, well          []uint64
		want               string
	}{
		{two, nil, nil, []uint64{1, 3}, []uint64{2}, "value length must be 2 runes"},
		{nil, two, two, []uint64{1, 3}, []uint64{2}, "value length must be 2 runes"},
		{nil, two, five, []uint64{1, 6}, []uint64{2, 5}, "value length must be between 2 and 5 runes, inclusive"},
		{nil, two, nil, []uint64{0, 1}, []uint64{2, 9}, "value length must be at least 2 runes"},
		{nil, nil, five, []uint64{6}, []uint64{0, 5}, "value length must be at most 5 runes"},
		{two, five, nil, []uint64{1, 5}, []uint64{2}, "value length must be 2 runes"},
		{nil, nil, nil, nil, []uint64{0, 9}, ""},
	} {
		of := lengths(c.exact, c.least, c.most, "runes")
		for _, n := range c.bad {
			if got := of(n); got != c.want {
				t.Errorf("%d: %q, not %q", n, got, c.want)
			}
		}
		for _, n := range c.well {
			if got := of(n); got != "" {
				t.Errorf("%d: %q", n, got)
			}
		}
	}
}

// Constraints that hardly any type of Envoy's has, on texts and bytes.
func TestTextsAndBytes(t *testing.T) {
	text := func(s string) protoreflect.Value { return protoreflect.ValueOfString(s) }
	known := func(k validate.KnownRegex, strict bool) *validate.StringRules {
		return &validate.StringRules{WellKnown: &validate.StringRules_WellKnownRegex{WellKnownRegex: k}, Strict: proto.Bool(strict)}
	}
	s := proto.String
	for _, c := range []struct {
		rules     *validate.StringRules
		well, bad string
		want      string
	}{
		{&validate.StringRules{Const: s("a")}, "a", "b", "value must equal a"},
		{&validate.StringRules{Contains: s("b")}, "abc", "ac", `value does not contain substring "b"`},
		{&validate.StringRules{NotContains: s("b")}, "ac", "abc", `value contains substring "b"`},
		{&validate.StringRules{Prefix: s("a")}, "ab", "ba", `value does not have prefix "a"`},
		{&validate.StringRules{Suffix: s("a")}, "ba", "ab", `value does not have suffix "a"`},
		{&validate.StringRules{LenBytes: proto.Uint64(2)}, "é", "ab ", "value length must be 2 bytes"},
		{&validate.StringRules{MinBytes: proto.Uint64(2)}, "é", "a", "value length must be at least 2 bytes"},
		{&validate.StringRules{MaxBytes: proto.Uint64(2)}, "é", "abc", "value length must be at most 2 bytes"},
		{&validate.StringRules{Len: proto.Uint64(2)}, "éé", "é", "value length must be 2 runes"},
		{&validate.StringRules{MinLen: proto.Uint64(2)}, "éé", "é", "value length must be at least 2 runes"},
		{&validate.StringRules{MaxLen: proto.Uint64(1)}, "é", "ab", "value length must be at most 1 runes"},
		{&validate.StringRules{Pattern: s("^a+$")}, "aa", "ab", `value does not match regex pattern "^a+$"`},
		{known(validate.KnownRegex_HTTP_HEADER_NAME, true), ":x-a", "a b", `value does not match regex pattern ` + `"` + headerName + `"`},
		{known(validate.KnownRegex_HTTP_HEADER_NAME, false), "a b", "a\n", `value does not match regex pattern "^[^\x00\n\r]*$"`},
		{known(validate.KnownRegex_HTTP_HEADER_VALUE, true), "a b\t", "a\x7f", `value does not match regex pattern "^[^\x00-\b\n-\x1f\x7f]*$"`},
	} {
		tests := textTests(c.rules)
		if len(tests) != 1 {
			t.Fatalf("%v: %d tests", c.rules, len(tests))
		}
		if p := tests[0](text(c.well)); p != (problem{}) {
			t.Errorf("%v: %q: %+v", c.rules, c.well, p)
		}
		if p := tests[0](text(c.bad)); p.reason != c.want {
			t.Errorf("%v: %q: %q, not %q", c.rules, c.bad, p.reason, c.want)
		}
	}
	if got := textTests(&validate.StringRules{}); len(got) != 0 {
		t.Errorf("%d tests of nothing", len(got))
	}
	for _, c := range []struct {
		rules     *validate.BytesRules
		well, bad string
		want      string
	}{
		{&validate.BytesRules{Len: proto.Uint64(2)}, "é", "a", "value length must be 2 bytes"},
		{&validate.BytesRules{MinLen: proto.Uint64(2)}, "ab", "a", "value length must be at least 2 bytes"},
		{&validate.BytesRules{MaxLen: proto.Uint64(2)}, "ab", "abc", "value length must be at most 2 bytes"},
		{&validate.BytesRules{Const: []byte("a")}, "a", "b", "value must equal [97]"},
	} {
		tests := bytesTests(c.rules)
		if len(tests) != 1 {
			t.Fatalf("%v: %d tests", c.rules, len(tests))
		}
		if p := tests[0](protoreflect.ValueOfBytes([]byte(c.well))); p != (problem{}) {
			t.Errorf("%v: %q: %+v", c.rules, c.well, p)
		}
		if p := tests[0](protoreflect.ValueOfBytes([]byte(c.bad))); p.reason != c.want {
			t.Errorf("%v: %q: %q, not %q", c.rules, c.bad, p.reason, c.want)
		}
	}
	for _, c := range []struct {
		v    protoreflect.Value
		zero bool
	}{
		{text(""), true},
		{text("a"), false},
		{protoreflect.ValueOfBytes(nil), true},
		{protoreflect.ValueOfBytes([]byte{0}), false},
		{protoreflect.ValueOfInt32(0), true},
		{protoreflect.ValueOfInt32(-1), false},
		{protoreflect.ValueOfBool(false), true},
		{protoreflect.ValueOfFloat64(0.5), false},
	} {
		if isZero(c.v) != c.zero {
			t.Errorf("%v is zero: %v", c.v, !c.zero)
		}
	}
	key := func(v protoreflect.Value) protoreflect.MapKey { return v.MapKey() }
	for _, c := range [][2]protoreflect.Value{
		{text("a"), text("b")},
		{protoreflect.ValueOfInt32(-1), protoreflect.ValueOfInt32(1)},
		{protoreflect.ValueOfInt64(-1), protoreflect.ValueOfInt64(0)},
		{protoreflect.ValueOfUint32(1), protoreflect.ValueOfUint32(2)},
		{protoreflect.ValueOfUint64(1), protoreflect.ValueOfUint64(1 << 63)},
	} {
		a, b := key(c[0]), key(c[1])
		if compareKeys(a, b) != -1 || compareKeys(b, a) != 1 || compareKeys(a, a) != 0 {
			t.Errorf("%v and %v: %d, %d", a, b, compareKeys(a, b), compareKeys(b, a))
		}
	}
}

// The words for a list or a map that has too many or too few.
func TestSizes(t *testing.T) {
	fields := (&validate.EnumRules{}).ProtoReflect().Descriptor().Fields()
	f := fieldRules{fd: fields.ByName("in")}
	two, five := proto.Uint64(2), proto.Uint64(5)
	for _, c := range []struct {
		fewest uint64
		most   *uint64
		bad    []uint64
		well   []uint64
		want   string
	}{
		{2, two, []uint64{1, 3}, []uint64{2}, "value must contain exactly 2 item(s)"},
		{2, five, []uint64{1, 6}, []uint64{2, 5}, "value must contain between 2 and 5 items, inclusive"},
		{2, nil, []uint64{0, 1}, []uint64{2, 9}, "value must contain at least 2 item(s)"},
		{0, five, []uint64{6}, []uint64{0, 5}, "value must contain no more than 5 item(s)"},
		{0, proto.Uint64(0), []uint64{1}, []uint64{0}, "value must contain no more than 0 item(s)"},
		{0, nil, nil, []uint64{0, 9}, ""},
	} {
		f.fewest, f.most = c.fewest, c.most
		for _, n := range c.bad {
			if got := f.size(n); got != c.want {
				t.Errorf("%d: %q, not %q", n, got, c.want)
			}
		}
		for _, n := range c.well {
			if got := f.size(n); got != "" {
				t.Errorf("%d: %q", n, got)
			}
		}
	}
	// A number of a list, and of none.
	for _, c := range []struct {
		rules     *validate.Int64Rules
		well, bad int64
		want      string
	}{
		{&validate.Int64Rules{In: []int64{-1, 5}}, 5, 4, "value must be in list [-1 5]"},
		{&validate.Int64Rules{NotIn: []int64{-1, 5}}, 4, 5, "value must not be in list [-1 5]"},
		{&validate.Int64Rules{Const: proto.Int64(7)}, 7, 8, "value must equal 7"},
	} {
		ignore, tests := numberTests(c.rules.ProtoReflect())
		if ignore || len(tests) != 1 {
			t.Fatalf("%v: %d tests", c.rules, len(tests))
		}
		if p := tests[0](protoreflect.ValueOfInt64(c.well)); p != (problem{}) {
			t.Errorf("%v: %d: %+v", c.rules, c.well, p)
		}
		if p := tests[0](protoreflect.ValueOfInt64(c.bad)); p.reason != c.want {
			t.Errorf("%v: %d: %q", c.rules, c.bad, p.reason)
		}
	}
}

// declared is a type with one field of each shape that a rule can be on.
func declared(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	rules := func(r *validate.FieldRules) *descriptorpb.FieldOptions {
		o := &descriptorpb.FieldOptions{}
		proto.SetExtension(o, validate.E_Rules, r)
		return o
	}
	field := func(name string, num int32, of descriptorpb.FieldDescriptorProto_Type, typ string, list bool, r *validate.FieldRules) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(num), Type: of.Enum(), Options: rules(r), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if typ != "" {
			f.TypeName = proto.String(typ)
		}
		if list {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		return f
	}
	const text, number, message, enum = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_INT32, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, descriptorpb.FieldDescriptorProto_TYPE_ENUM
	two, yes := proto.Uint64(2), proto.Bool(true)
	plain := &validate.FieldRules{}
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("r.proto"), Package: proto.String("r"), Syntax: proto.String("proto3"),
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("E"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: proto.String("NONE"), Number: proto.Int32(0)}, {Name: proto.String("ONE"), Number: proto.Int32(1)},
		}}},
		MessageType: []*descriptorpb.DescriptorProto{{
			Name: proto.String("M"),
			NestedType: []*descriptorpb.DescriptorProto{{
				Name: proto.String("PairsEntry"), Options: &descriptorpb.MessageOptions{MapEntry: yes},
				Field: []*descriptorpb.FieldDescriptorProto{field("key", 1, text, "", false, plain), field("value", 2, number, "", false, plain)},
			}},
			Field: []*descriptorpb.FieldDescriptorProto{
				field("list", 1, number, "", true, &validate.FieldRules{Type: &validate.FieldRules_Repeated{Repeated: &validate.RepeatedRules{MinItems: two, IgnoreEmpty: yes}}}),
				field("pairs", 2, message, ".r.M.PairsEntry", true, &validate.FieldRules{Type: &validate.FieldRules_Map{Map: &validate.MapRules{MinPairs: two, IgnoreEmpty: yes}}}),
				field("word", 3, enum, ".r.E", false, &validate.FieldRules{Type: &validate.FieldRules_Enum{Enum: &validate.EnumRules{Const: proto.Int32(1)}}}),
				field("inside", 4, message, ".r.M", false, plain),
			},
		}},
	}
	fd, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fd.Messages().ByName("M")
}

// Lists and maps that may be empty need not have what others must, and an enum may
// have one value only. A message in which all is well is not told of.
func TestRulesOfShapes(t *testing.T) {
	md := declared(t)
	const few, fewer = "list: value must contain at least 2 item(s)", "pairs: value must contain at least 2 pair(s)"
	for text, want := range map[string]string{
		`word:ONE`:                             "",
		``:                                     "word: value must equal ONE",
		`word:7`:                               "word: value must equal ONE",
		`word:ONE list:1`:                      few,
		`word:ONE list:[1,1]`:                  "",
		`word:ONE pairs:{key:"a"}`:             fewer,
		`word:ONE pairs:[{key:"a"},{key:"b"}]`: "",
		`word:ONE list:1 pairs:{key:"a"}`:      few + "; " + fewer,
		`word:ONE inside:{word:ONE}`:           "",
		`word:ONE inside:{list:1 word:ONE}`:    "inside." + few,
		`word:ONE inside:{inside:{word:ONE}}`:  "inside.word: value must equal ONE",
	} {
		m := dynamicpb.NewMessage(md)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		var got []string
		var tell func(list []Violation, at string)
		tell = func(list []Violation, at string) {
			for _, v := range list {
				if tell(v.Inside, at+v.Field+"."); v.Reason != "" {
					got = append(got, at+v.Field+": "+v.Reason)
				} else if len(v.Inside) == 0 {
					t.Errorf("%s: nothing is said of %s", text, v.Field)
				}
			}
		}
		if tell(New().Violations(m, 10), ""); strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}
