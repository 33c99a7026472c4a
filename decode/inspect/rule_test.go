package inspect

import (
	"math"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsproxy/xdsproxy/decode/handmade"
)

func clusterField(t *testing.T, name protoreflect.Name) protoreflect.FieldDescriptor {
	t.Helper()
	fd := (&clusterv3.Cluster{}).ProtoReflect().Descriptor().Fields().ByName(name)
	if fd == nil {
		t.Fatalf("a cluster has no field %s", name)
	}
	return fd
}

// texts are constraints on a text: what is well by each, and what is not. A
// constraint that is not tried finds fault with everything.
func TestRulesOfTexts(t *testing.T) {
	str := func(r *validate.StringRules) *validate.FieldRules {
		return &validate.FieldRules{Type: &validate.FieldRules_String_{String_: r}}
	}
	raw := func(r *validate.BytesRules) *validate.FieldRules {
		return &validate.FieldRules{Type: &validate.FieldRules_Bytes{Bytes: r}}
	}
	dur := func(r *validate.DurationRules) *validate.FieldRules {
		return &validate.FieldRules{Type: &validate.FieldRules_Duration{Duration: r}}
	}
	d := func(sec, nano int64) string {
		return string(handmade.Msg(handmade.Num(1, uint64(sec)), handmade.Num(2, uint64(nano))))
	}
	name := validate.KnownRegex_HTTP_HEADER_NAME
	regex := func(k validate.KnownRegex, strict bool) *validate.FieldRules {
		return str(&validate.StringRules{WellKnown: &validate.StringRules_WellKnownRegex{WellKnownRegex: k}, Strict: proto.Bool(strict)})
	}
	const most = math.MaxInt64/1_000_000_000 - 1
	n := proto.Uint64
	for what, c := range map[string]struct {
		rules     *validate.FieldRules
		well, bad []string
	}{
		"at least 1":    {str(&validate.StringRules{MinLen: n(1)}), []string{"a", "\x00"}, []string{""}},
		"at least 2":    {str(&validate.StringRules{MinLen: n(2)}), []string{"ab", "éé"}, []string{"", "é"}},
		"at most 2":     {str(&validate.StringRules{MaxLen: n(2)}), []string{"", "éé", "漢漢"}, []string{"abc", "ééé"}},
		"2 bytes":       {str(&validate.StringRules{MinBytes: n(2), MaxBytes: n(2)}), []string{"ab", "é"}, []string{"a", "abc", "éa"}},
		"raw":           {raw(&validate.BytesRules{MinLen: n(2), MaxLen: n(3)}), []string{"é", "abc"}, []string{"a", "éé"}},
		"a prefix":      {str(&validate.StringRules{Prefix: proto.String("a/")}), []string{"a/", "a/b"}, []string{"", "b/a/"}},
		"a suffix":      {str(&validate.StringRules{Suffix: proto.String("/a")}), []string{"/a", "b/a"}, []string{"", "/ab"}},
		"a raw prefix":  {raw(&validate.BytesRules{Prefix: []byte("a")}), []string{"ab"}, []string{"ba"}},
		"some":          {str(&validate.StringRules{In: []string{"a", "b"}}), []string{"a", "b"}, []string{"", "c"}},
		"not some":      {str(&validate.StringRules{NotIn: []string{"a"}}), []string{"", "b"}, []string{"a"}},
		"both":          {str(&validate.StringRules{MinLen: n(1), Prefix: proto.String("a")}), []string{"a"}, []string{"", "b"}},
		"or empty":      {str(&validate.StringRules{MinLen: n(2), IgnoreEmpty: proto.Bool(true)}), []string{"", "ab"}, []string{"a"}},
		"not or empty":  {str(&validate.StringRules{MinLen: n(2), IgnoreEmpty: proto.Bool(false)}), []string{"ab"}, []string{"a", ""}},
		"a header":      {regex(name, true), []string{"x-a_0", "X9z", "AZaz09"}, []string{"", "a b", "a:", "a/", "a@", "[", "a`", "{"}},
		"lax":           {regex(name, false), []string{"", "a b:"}, []string{"a\x00", "a\n", "\r"}},
		"strict value":  {regex(validate.KnownRegex_HTTP_HEADER_VALUE, true), nil, []string{"", "a"}},
		"lax value":     {regex(validate.KnownRegex_HTTP_HEADER_VALUE, false), []string{"a"}, []string{"\n"}},
		"a pattern":     {str(&validate.StringRules{Pattern: proto.String(".")}), nil, []string{"", "a"}},
		"odd, or empty": {str(&validate.StringRules{Pattern: proto.String("."), IgnoreEmpty: proto.Bool(true)}), nil, []string{"", "a"}},

		"longer than 1 s":     {dur(&validate.DurationRules{Gt: durationpb.New(1e9)}), []string{d(1, 1), d(2, 0)}, []string{"", d(1, 0), d(0, 999_999_999), d(-2, 0)}},
		"at least 1 s":        {dur(&validate.DurationRules{Gte: durationpb.New(1e9)}), []string{d(1, 0)}, []string{"", d(0, 999_999_999)}},
		"shorter than 1.5 s":  {dur(&validate.DurationRules{Lt: durationpb.New(1.5e9)}), []string{"", d(1, 499_999_999), d(-5, 0)}, []string{d(1, 500_000_000)}},
		"at most 1.5 s":       {dur(&validate.DurationRules{Lte: durationpb.New(1.5e9)}), []string{d(1, 500_000_000)}, []string{d(1, 500_000_001)}},
		"from 1 to 2 s":       {dur(&validate.DurationRules{Gt: durationpb.New(1e9), Lt: durationpb.New(2e9)}), []string{d(1, 1), d(1, 999_999_999)}, []string{d(1, 0), d(2, 0)}},
		"a duration at all":   {dur(&validate.DurationRules{Required: proto.Bool(true)}), []string{"", d(most, 0), d(-most, 0), d(0, 999_999_999), d(0, -999_999_999), d(-1, -1), d(1, 1)}, []string{d(most+1, 0), d(-most-1, 0), d(0, 1e9), d(0, -1e9), d(1, -1), d(-1, 1), "\x0a\x01x", "\x08"}},
		"one of some of them": {dur(&validate.DurationRules{In: []*durationpb.Duration{durationpb.New(1)}}), nil, []string{"", d(0, 1)}},
	} {
		r := compileRule(clusterField(t, "name"), c.rules.ProtoReflect())
		for _, text := range c.well {
			if !r.body([]byte(text)) {
				t.Errorf("%s: fault is found with %q", what, text)
			}
		}
		for _, text := range c.bad {
			if r.body([]byte(text)) {
				t.Errorf("%s: all is well with %q", what, text)
			}
		}
		// The same of what stands in a wrapper, which a duration does not.
		in := compileRule(clusterField(t, "per_connection_buffer_limit_bytes"), c.rules.ProtoReflect())
		for _, text := range append(c.well, c.bad...) {
			if body := handmade.Msg(handmade.Str(2, "x"), handmade.Str(1, text)); c.rules.GetDuration() == nil && in.body(body) != r.body([]byte(text)) {
				t.Errorf("%s: %q within a wrapper", what, text)
			}
		}
		if r.unsure != (c.well == nil) || r.required != strings.HasPrefix(what, "a duration at all") {
			t.Errorf("%s: unsure %v, required %v", what, r.unsure, r.required)
		}
	}
}

// Numbers of each type are compared as what they are.
func TestRulesOfNumbers(t *testing.T) {
	zigzag := protowire.EncodeZigZag
	neg := func(n int64) uint64 { return uint64(n) }
	for what, c := range map[string]struct {
		rules     *validate.FieldRules
		well, bad []uint64
	}{
		"uint32 below": {&validate.FieldRules{Type: &validate.FieldRules_Uint32{Uint32: &validate.UInt32Rules{Lt: proto.Uint32(7)}}}, []uint64{0, 6, 1<<32 + 6}, []uint64{7, 8}},
		"uint32 from":  {&validate.FieldRules{Type: &validate.FieldRules_Uint32{Uint32: &validate.UInt32Rules{Gte: proto.Uint32(7), Lte: proto.Uint32(9)}}}, []uint64{7, 9}, []uint64{6, 10, 0}},
		"or zero":      {&validate.FieldRules{Type: &validate.FieldRules_Uint32{Uint32: &validate.UInt32Rules{Gt: proto.Uint32(7), IgnoreEmpty: proto.Bool(true)}}}, []uint64{0, 8}, []uint64{7}},
		"fixed32":      {&validate.FieldRules{Type: &validate.FieldRules_Fixed32{Fixed32: &validate.Fixed32Rules{Const: proto.Uint32(7)}}}, []uint64{7}, []uint64{6, 8}},
		"uint64":       {&validate.FieldRules{Type: &validate.FieldRules_Uint64{Uint64: &validate.UInt64Rules{Gt: proto.Uint64(1 << 40)}}}, []uint64{1<<40 + 1}, []uint64{1 << 40}},
		"fixed64":      {&validate.FieldRules{Type: &validate.FieldRules_Fixed64{Fixed64: &validate.Fixed64Rules{Lte: proto.Uint64(1 << 40)}}}, []uint64{1 << 40}, []uint64{1<<40 + 1}},
		"int32":        {&validate.FieldRules{Type: &validate.FieldRules_Int32{Int32: &validate.Int32Rules{Gte: proto.Int32(-1)}}}, []uint64{neg(-1), 1<<32 - 1, 0}, []uint64{neg(-2), 1 << 31}},
		"sfixed32":     {&validate.FieldRules{Type: &validate.FieldRules_Sfixed32{Sfixed32: &validate.SFixed32Rules{Lt: proto.Int32(0)}}}, []uint64{1<<32 - 1}, []uint64{0}},
		"int64":        {&validate.FieldRules{Type: &validate.FieldRules_Int64{Int64: &validate.Int64Rules{In: []int64{-1, 5}}}}, []uint64{neg(-1), 5}, []uint64{0, 1<<32 - 1}},
		"sfixed64":     {&validate.FieldRules{Type: &validate.FieldRules_Sfixed64{Sfixed64: &validate.SFixed64Rules{NotIn: []int64{-1}}}}, []uint64{0}, []uint64{neg(-1)}},
		"sint32":       {&validate.FieldRules{Type: &validate.FieldRules_Sint32{Sint32: &validate.SInt32Rules{Lt: proto.Int32(-3)}}}, []uint64{zigzag(-4), 1<<32 + zigzag(-4)}, []uint64{zigzag(-3), zigzag(4)}},
		"sint64":       {&validate.FieldRules{Type: &validate.FieldRules_Sint64{Sint64: &validate.SInt64Rules{Lte: proto.Int64(-3)}}}, []uint64{zigzag(-3)}, []uint64{zigzag(-2), zigzag(3)}},
		"float":        {&validate.FieldRules{Type: &validate.FieldRules_Float{Float: &validate.FloatRules{Gt: proto.Float32(0.5)}}}, []uint64{uint64(math.Float32bits(0.6))}, []uint64{uint64(math.Float32bits(0.5)), uint64(math.Float32bits(-1))}},
		"double":       {&validate.FieldRules{Type: &validate.FieldRules_Double{Double: &validate.DoubleRules{Gte: proto.Float64(0), Lte: proto.Float64(100)}}}, []uint64{0, math.Float64bits(100)}, []uint64{math.Float64bits(-1), math.Float64bits(100.5), math.Float64bits(math.NaN())}},
		"true":         {&validate.FieldRules{Type: &validate.FieldRules_Bool{Bool: &validate.BoolRules{Const: proto.Bool(true)}}}, []uint64{1, 2}, []uint64{0}},
		"false":        {&validate.FieldRules{Type: &validate.FieldRules_Bool{Bool: &validate.BoolRules{Const: proto.Bool(false)}}}, []uint64{0}, []uint64{1, 2}},
		"a word":       {&validate.FieldRules{Type: &validate.FieldRules_Enum{Enum: &validate.EnumRules{DefinedOnly: proto.Bool(true)}}}, []uint64{0, 1, 3, 5, 7}, []uint64{4, 8, 99, neg(-1)}},
		"any word":     {&validate.FieldRules{Type: &validate.FieldRules_Enum{Enum: &validate.EnumRules{DefinedOnly: proto.Bool(false)}}}, []uint64{0, 99, neg(-1)}, nil},
		"one word":     {&validate.FieldRules{Type: &validate.FieldRules_Enum{Enum: &validate.EnumRules{Const: proto.Int32(5)}}}, []uint64{5}, []uint64{0, 4}},
		"some words":   {&validate.FieldRules{Type: &validate.FieldRules_Enum{Enum: &validate.EnumRules{In: []int32{1, 5}}}}, []uint64{1, 5}, []uint64{0}},
		"other words":  {&validate.FieldRules{Type: &validate.FieldRules_Enum{Enum: &validate.EnumRules{NotIn: []int32{1}}}}, []uint64{0}, []uint64{1}},
	} {
		r := compileRule(clusterField(t, "lb_policy"), c.rules.ProtoReflect())
		if r.unsure {
			t.Errorf("%s is not tried", what)
		}
		for _, v := range c.well {
			if !r.num(v) {
				t.Errorf("%s: fault is found with %d", what, v)
			}
		}
		for _, v := range c.bad {
			if r.num(v) {
				t.Errorf("%s: all is well with %d", what, v)
			}
		}
		// The same of what stands in a wrapper.
		in := compileRule(clusterField(t, "per_connection_buffer_limit_bytes"), c.rules.ProtoReflect())
		if strings.HasSuffix(what, "word") || strings.HasSuffix(what, "words") {
			continue
		}
		for _, v := range append(c.well, c.bad...) {
			if body := handmade.Msg(handmade.Num(2, 1), handmade.Num(1, v)); in.body(body) != r.num(v) || in.number != nil {
				t.Errorf("%s: %d within a wrapper", what, v)
			}
		}
		if in.body(nil) != r.num(0) {
			t.Errorf("%s: an empty wrapper", what)
		}
	}
}

// Whether a field must be there, and how many items a list may have.
func TestRulesOfPresence(t *testing.T) {
	list := func(r *validate.RepeatedRules) *validate.FieldRules {
		return &validate.FieldRules{Type: &validate.FieldRules_Repeated{Repeated: r}}
	}
	pairs := func(r *validate.MapRules) *validate.FieldRules {
		return &validate.FieldRules{Type: &validate.FieldRules_Map{Map: r}}
	}
	text := &validate.FieldRules{Type: &validate.FieldRules_String_{String_: &validate.StringRules{MinLen: proto.Uint64(1)}}}
	message := func(m *validate.MessageRules) *validate.FieldRules { return &validate.FieldRules{Message: m} }
	one, two := proto.Uint64(1), proto.Uint64(2)
	for what, c := range map[string]struct {
		field               protoreflect.Name
		rules               *validate.FieldRules
		fails, unsure       bool
		fewest, most        uint64
		items, keys, values bool
	}{
		"nothing":            {"filters", &validate.FieldRules{}, false, false, 0, math.MaxUint64, false, false, false},
		"one at least":       {"filters", list(&validate.RepeatedRules{MinItems: one}), true, false, 1, math.MaxUint64, false, false, false},
		"none at least":      {"filters", list(&validate.RepeatedRules{MinItems: proto.Uint64(0)}), false, false, 0, math.MaxUint64, false, false, false},
		"two at most":        {"filters", list(&validate.RepeatedRules{MaxItems: two, Items: text}), false, false, 0, 2, true, false, false},
		"unique":             {"filters", list(&validate.RepeatedRules{Unique: proto.Bool(true)}), true, true, 0, math.MaxUint64, false, false, false},
		"pairs":              {"typed_extension_protocol_options", pairs(&validate.MapRules{MinPairs: one, MaxPairs: two, Keys: text, Values: text}), true, false, 1, 2, false, true, true},
		"items of no list":   {"name", list(&validate.RepeatedRules{Items: text}), false, false, 0, math.MaxUint64, false, false, false},
		"pairs of no map":    {"name", pairs(&validate.MapRules{Keys: text, Values: text}), false, false, 0, math.MaxUint64, false, false, false},
		"required":           {"metadata", message(&validate.MessageRules{Required: proto.Bool(true)}), true, false, 0, math.MaxUint64, false, false, false},
		"not required":       {"metadata", message(&validate.MessageRules{Required: proto.Bool(false)}), false, false, 0, math.MaxUint64, false, false, false},
		"skipped":            {"metadata", message(&validate.MessageRules{Skip: proto.Bool(true)}), false, false, 0, math.MaxUint64, false, false, false},
		"required in oneof":  {"cluster_type", message(&validate.MessageRules{Required: proto.Bool(true)}), false, false, 0, math.MaxUint64, false, false, false},
		"a text":             {"name", text, true, false, 0, math.MaxUint64, false, false, false},
		"a text in wrapper":  {"upstream_bind_config", text, false, false, 0, math.MaxUint64, false, false, false},
		"an enum that has 0": {"lb_policy", &validate.FieldRules{Type: &validate.FieldRules_Enum{Enum: &validate.EnumRules{NotIn: []int32{0}}}}, true, false, 0, math.MaxUint64, false, false, false},
	} {
		fd := clusterField(t, c.field)
		r := compileRule(fd, c.rules.ProtoReflect())
		if got := r.failsAbsent(fd); got != c.fails || r.unsure != c.unsure || r.fewest != c.fewest || r.most != c.most ||
			(r.items != nil) != c.items || (r.keys != nil) != c.keys || (r.values != nil) != c.values {
			t.Errorf("%s: it must be there %v, %+v", what, got, r)
		}
	}
}
