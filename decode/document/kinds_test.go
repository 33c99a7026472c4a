package document_test

import (
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/document"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
)

// everyKind is a Decoder that knows a message with a field of each kind, of the
// number of the kind, a list of each, 100 more, and a few others.
func everyKind(t testing.TB) document.Decoder {
	t.Helper()
	all := &descriptorpb.DescriptorProto{Name: proto.String("All")}
	add := func(name string, num int32, typ descriptorpb.FieldDescriptorProto_Type, label descriptorpb.FieldDescriptorProto_Label, of string) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: proto.String(name), Number: proto.Int32(num), Type: typ.Enum(), Label: label.Enum()}
		if of != "" {
			f.TypeName = proto.String(of)
		}
		all.Field = append(all.Field, f)
		return f
	}
	for num, name := range descriptorpb.FieldDescriptorProto_Type_name {
		typ := descriptorpb.FieldDescriptorProto_Type(num)
		name = strings.ToLower(strings.TrimPrefix(name, "TYPE_"))
		of := ""
		switch typ {
		case descriptorpb.FieldDescriptorProto_TYPE_GROUP:
			continue
		case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
			of = ".t.All"
		case descriptorpb.FieldDescriptorProto_TYPE_ENUM:
			of = ".t.Color"
		}
		add("a_"+name, num, typ, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, of)
		add("many_"+name, 100+num, typ, descriptorpb.FieldDescriptorProto_LABEL_REPEATED, of)
	}
	one := proto.Int32(0)
	add("left", 201, descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, "").OneofIndex = one
	add("right", 202, descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL, "").OneofIndex = one
	all.OneofDecl = []*descriptorpb.OneofDescriptorProto{{Name: proto.String("side")}}
	for i, value := range []struct {
		name string
		typ  descriptorpb.FieldDescriptorProto_Type
		of   string
	}{
		{"Texts", descriptorpb.FieldDescriptorProto_TYPE_STRING, ""},
		{"Numbers", descriptorpb.FieldDescriptorProto_TYPE_INT64, ""},
		{"Flags", descriptorpb.FieldDescriptorProto_TYPE_BOOL, ""},
		{"Colors", descriptorpb.FieldDescriptorProto_TYPE_ENUM, ".t.Color"},
		{"Messages", descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".t.All"},
		{"Floats", descriptorpb.FieldDescriptorProto_TYPE_FLOAT, ""},
	} {
		v := &descriptorpb.FieldDescriptorProto{Name: proto.String("value"), Number: proto.Int32(2), Type: value.typ.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if value.of != "" {
			v.TypeName = proto.String(value.of)
		}
		all.NestedType = append(all.NestedType, &descriptorpb.DescriptorProto{
			Name: proto.String(value.name + "Entry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
			Field: []*descriptorpb.FieldDescriptorProto{
				{Name: proto.String("key"), Number: proto.Int32(1), Type: descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}, v,
			},
		})
		add(strings.ToLower(value.name), int32(301+i), descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, descriptorpb.FieldDescriptorProto_LABEL_REPEATED, ".t.All."+value.name+"Entry")
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"), MessageType: []*descriptorpb.DescriptorProto{all},
		EnumType: []*descriptorpb.EnumDescriptorProto{{Name: proto.String("Color"), Value: []*descriptorpb.EnumValueDescriptorProto{
			{Name: proto.String("RED"), Number: proto.Int32(0)}, {Name: proto.String("BLUE"), Number: proto.Int32(1)},
		}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	types := descriptors.New()
	if told, err := types.Add("t", set); err != nil || len(told) > 0 {
		t.Fatal(told, err)
	}
	return document.Decoder{Types: types}
}

func fixed32(num protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, num, protowire.Fixed32Type), v)
}

func fixed64(num protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, num, protowire.Fixed64Type), v)
}

// A value of each kind, as a document and as a field of the wire shows it.
func TestEveryKind(t *testing.T) {
	d := everyKind(t)
	num, str, sub := handmade.Num, handmade.Str, handmade.Sub
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		data        []byte
		tree, value string
	}{
		{fixed64(1, math.Float64bits(1.5)), `{"a_double":1.5}`, "i64 1.5"},
		{fixed64(1, math.Float64bits(math.Inf(1))), `{"a_double":"Infinity"}`, "i64 +Inf"},
		{fixed64(1, math.Float64bits(math.Inf(-1))), `{"a_double":"-Infinity"}`, "i64 -Inf"},
		{fixed64(1, math.Float64bits(math.NaN())), `{"a_double":"NaN"}`, "i64 NaN"},
		{fixed64(1, math.Float64bits(1e-6)), `{"a_double":0.000001}`, "i64 1e-06"},
		{fixed64(1, math.Float64bits(9e-7)), `{"a_double":9e-07}`, "i64 9e-07"},
		{fixed64(1, math.Float64bits(1e20)), `{"a_double":100000000000000000000}`, "i64 1e+20"},
		{fixed64(1, math.Float64bits(1e21)), `{"a_double":1e+21}`, "i64 1e+21"},
		{fixed64(1, 0), `{"a_double":0}`, "i64 0"},
		{fixed32(2, math.Float32bits(-0.1)), `{"a_float":-0.1}`, "i32 -0.1"},
		{num(3, 1<<64-1), `{"a_int64":"-1"}`, "varint -1"},
		{num(4, 1<<64-1), `{"a_uint64":"18446744073709551615"}`, "varint 18446744073709551615"},
		{num(5, 1<<64-1), `{"a_int32":-1}`, "varint -1"},
		{fixed64(6, 10), `{"a_fixed64":"10"}`, "i64 0x000000000000000a"},
		{fixed32(7, 10), `{"a_fixed32":10}`, "i32 0x0000000a"},
		{num(8, 0), `{"a_bool":false}`, "varint false"},
		{num(8, 2), `{"a_bool":true}`, "varint true"},
		{str(9, "a\"b"), `{"a_string":"a\"b"}`, `len "a\"b"`},
		{str(9, long), `{"a_string":"` + long + `"}`, `len "` + long + `"`},
		{str(9, long+"yz"), `{"a_string":"` + long + `yz"}`, `len "` + long + `…" and 2 bytes more`},
		{str(9, ""), `{"a_string":""}`, `len ""`},
		{str(12, "\x01\x02"), `{"a_bytes":"AQI="}`, "len 2 bytes"},
		{str(12, ""), `{"a_bytes":""}`, "len empty"},
		{num(13, 1<<32+1), `{"a_uint32":1}`, "varint 4294967297"},
		{num(14, 1), `{"a_enum":"BLUE"}`, "varint 1 BLUE"},
		{num(14, 2), `{"a_enum":2}`, "varint 2"},
		{fixed32(15, 1<<32-1), `{"a_sfixed32":-1}`, "i32 0xffffffff"},
		{fixed64(16, 1<<64-1), `{"a_sfixed64":"-1"}`, "i64 0xffffffffffffffff"},
		{num(17, 3), `{"a_sint32":-2}`, "varint -2"},
		{num(17, 1<<32+3), `{"a_sint32":-2}`, "varint -2147483650"},
		{num(18, 3), `{"a_sint64":"-2"}`, "varint -2"},

		// Lists, packed or not.
		{str(105, "\x01\x02\x03"), `{"many_int32":[1,2,3]}`, "len packed, 3 bytes"},
		{handmade.Msg(str(105, "\x01"), num(105, 2)), `{"many_int32":[1,2]}`, "len packed, 1 bytes"},
		{str(105, "\x01\x80"), `{"many_int32":[1]}`, "len packed, 2 bytes"},
		{str(115, "\x01\x00\x00\x00\x02\x00\x00\x00"), `{"many_sfixed32":[1,2]}`, "len packed, 8 bytes"},
		{handmade.Msg(str(109, "a"), str(109, "b")), `{"many_string":["a","b"]}`, `len "a"`},
		{str(112, "ab"), `{"many_bytes":["YWI="]}`, "len 2 bytes"},
		{handmade.Msg(sub(111, num(5, 1)), sub(111)), `{"many_message":[{"a_int32":1},{}]}`, "len "},
		{handmade.Msg(num(114, 1), num(114, 0)), `{"many_enum":["BLUE","RED"]}`, "varint 1 BLUE"},

		// What comes twice, and what has no type or another one.
		{handmade.Msg(num(5, 1), num(5, 2)), `{"a_int32":2}`, "varint 1"},
		{handmade.Msg(sub(11, num(5, 1)), sub(11, num(3, 2))), `{"a_message":{"a_int64":"2","a_int32":1}}`, "len "},
		{handmade.Msg(str(201, "a"), str(202, "b")), `{"right":"b"}`, `len "a"`},
		{handmade.Msg(str(202, "b"), str(201, "a")), `{"left":"a"}`, `len "b"`},
		{str(5, "text"), `{"@unknown":{"5":"text"}}`, `len "text"`},
		{num(9, 7), `{"@unknown":{"9":7}}`, "varint 7"},
		{num(999, 1<<53), `{"@unknown":{"999":9007199254740992}}`, "varint 9007199254740992"},
		{num(999, 1<<53+1), `{"@unknown":{"999":"9007199254740993"}}`, "varint 9007199254740993"},
		{sub(999, num(1<<14, 1)), `{"@unknown":{"999":{"16384":1}}}`, "len "},
		{sub(999, num(1<<14+1, 1)), `{"@unknown":{"999":{"@bytes":"iIAIAQ=="}}}`, "len 4 bytes"},
		{str(999, "\x08"), `{"@unknown":{"999":{"@bytes":"CA=="}}}`, "len 1 bytes"},
		{str(999, ""), `{"@unknown":{"999":""}}`, `len ""`},

		// Maps.
		{handmade.Msg(sub(301, str(1, "b"), str(2, "y")), sub(301, str(1, "a"), str(2, "x"))), `{"texts":{"a":"x","b":"y"}}`, "len "},
		{handmade.Msg(sub(301, str(1, "a"), str(2, "x")), sub(301, str(1, "a"), str(2, "y"))), `{"texts":{"a":"y"}}`, "len "},
		{sub(301, str(2, "x")), `{"texts":{"":"x"}}`, "len "},
		{sub(301, str(2, "x"), str(1, "late"), str(2, "y")), `{"texts":{"late":"y"}}`, "len "},
		{
			handmade.Msg(sub(301, str(1, "a")), sub(302, str(1, "a")), sub(303, str(1, "a")), sub(304, str(1, "a")), sub(305, str(1, "a")), sub(306, str(1, "a"))),
			`{"texts":{"a":""},"numbers":{"a":"0"},"flags":{"a":false},"colors":{"a":"RED"},"messages":{"a":{}},"floats":{"a":0}}`, "len ",
		},
		{sub(305, str(1, "a"), sub(2, num(5, 1)), sub(2, num(3, 2))), `{"messages":{"a":{"a_int64":"2","a_int32":1}}}`, "len "},
	} {
		doc := d.Message("t.All", c.data)
		if got := string(doc.Compact()); got != c.tree {
			t.Errorf("%x:\n got %s\nwant %s", c.data, got, c.tree)
		}
		fields, problem := d.Wire("t.All", c.data, 100)
		if problem != "" || len(fields) == 0 || fields[0].Wire+" "+fields[0].Value != c.value {
			t.Errorf("%x: %s %+v, not %s", c.data, problem, fields, c.value)
		}
		if fields[0].Inner != (c.value == "len ") {
			t.Errorf("%x: its own fields follow: %v", c.data, fields[0].Inner)
		}
	}
}

// What is wrong in the bytes is said at its place, and what stands before is shown.
func TestDamagedFields(t *testing.T) {
	d := everyKind(t)
	num, str, sub := handmade.Num, handmade.Str, handmade.Sub
	torn := []byte{0x4a, 9, 'x'} // a_string of 9 bytes
	for _, c := range []struct {
		data                    []byte
		tree, problem, atTheEnd string
	}{
		{handmade.Msg(num(5, 1), torn), `{"a_int32":1,"@undecoded":"J\tx"}`, "field 9 is 9 bytes long where 1 remain at byte 2", "field 9 is 9 bytes long where 1 remain at byte 2"},
		{sub(11, num(5, 1), torn), `{"a_message":{"a_int32":1,"@undecoded":"J\tx"}}`, "a_message: field 9 is 9 bytes long where 1 remain at byte 2", "field 9 is 9 bytes long where 1 remain at byte 2 of the message at 2"},
		{handmade.Msg(sub(111), sub(111, torn)), `{"many_message":[{},{"@undecoded":"J\tx"}]}`, "many_message[1]: field 9 is 9 bytes long where 1 remain at byte 0", "field 9 is 9 bytes long where 1 remain at byte 0 of the message at 6"},
		{sub(305, str(1, "k"), sub(2, torn)), `{"messages":{"k":{"@undecoded":"J\tx"}}}`, `messages."k": field 9 is 9 bytes long where 1 remain at byte 0`, "field 9 is 9 bytes long where 1 remain at byte 0 of the message at 8"},
		{str(9, "\xff"), `{"a_string":"\ufffd"}`, "a_string: the string is not valid UTF-8", ""},
		{handmade.Msg(str(109, "a"), str(109, "\xff")), `{"many_string":["a","\ufffd"]}`, "many_string[1]: the string is not valid UTF-8", ""},
		{str(105, "\x01\x80"), `{"many_int32":[1]}`, "many_int32[1]: a packed value is cut off", ""},
	} {
		doc := d.Message("t.All", c.data)
		if got := string(doc.Compact()); got != c.tree || len(doc.Problems) != 1 || doc.Problems[0] != c.problem || doc.Type != "t.All" {
			t.Errorf("%x:\n got %s %q\nwant %s %q", c.data, got, doc.Problems, c.tree, c.problem)
		}
		if _, problem := d.Wire("t.All", c.data, 100); problem != c.atTheEnd {
			t.Errorf("%x: %s", c.data, problem)
		}
	}
}

// The types with a form of their own, at the ends of what they can hold.
func TestFormsOfTheirOwn(t *testing.T) {
	num, str, sub := handmade.Num, handmade.Str, handmade.Sub
	neg := func(n int64) uint64 { return uint64(n) }
	const notDuration, notTime = "not a valid duration", "not a valid timestamp"
	for _, c := range []struct{ name, data, want, problem string }{
		{"Duration", "", `"0s"`, ""},
		{"Duration", string(num(1, 315_576_000_000)), `"315576000000s"`, ""},
		{"Duration", string(num(1, 315_576_000_001)), `{"seconds":"315576000001"}`, notDuration},
		{"Duration", string(num(1, neg(-315_576_000_000))), `"-315576000000s"`, ""},
		{"Duration", string(num(1, neg(-315_576_000_001))), `{"seconds":"-315576000001"}`, notDuration},
		{"Duration", string(handmade.Msg(num(1, 1), num(2, 999_999_999))), `"1.999999999s"`, ""},
		{"Duration", string(num(2, 1_000_000_000)), `{"nanos":1000000000}`, notDuration},
		{"Duration", string(num(2, neg(-1_000_000_000))), `{"nanos":-1000000000}`, notDuration},
		{"Duration", string(num(2, neg(-999_000_000))), `"-0.999s"`, ""},
		{"Duration", string(handmade.Msg(num(1, 1), num(2, neg(-1)))), `{"seconds":"1","nanos":-1}`, notDuration},
		{"Duration", string(handmade.Msg(num(1, neg(-1)), num(2, 1))), `{"seconds":"-1","nanos":1}`, notDuration},
		{"Duration", string(handmade.Msg(num(1, neg(-1)), num(2, neg(-5000)))), `"-1.000005s"`, ""},
		{"Duration", string(str(1, "x")), `{"@unknown":{"1":"x"}}`, notDuration},
		{"Timestamp", "", `"1970-01-01T00:00:00Z"`, ""},
		{"Timestamp", string(num(1, neg(-62_135_596_800))), `"0001-01-01T00:00:00Z"`, ""},
		{"Timestamp", string(num(1, neg(-62_135_596_801))), `{"seconds":"-62135596801"}`, notTime},
		{"Timestamp", string(handmade.Msg(num(1, 253_402_300_799), num(2, 999_999_999))), `"9999-12-31T23:59:59.999999999Z"`, ""},
		{"Timestamp", string(num(1, 253_402_300_800)), `{"seconds":"253402300800"}`, notTime},
		{"Timestamp", string(num(2, neg(-1))), `{"nanos":-1}`, notTime},
		{"Timestamp", string(num(2, 1_000_000_000)), `{"nanos":1000000000}`, notTime},
		{"FieldMask", string(handmade.Msg(str(1, "a_b.c"), str(2, "x"), str(1, "d"))), `"aB.c,d"`, ""},
		{"FieldMask", "\x0a\x05a", `""`, "field 1 is 5 bytes long where 1 remain at byte 0"},
		{"Int64Value", "", `"0"`, ""},
		{"Int64Value", string(handmade.Msg(num(1, 1), num(1, 2))), `"2"`, ""},
		{"BoolValue", "", `false`, ""},
		{"StringValue", string(str(1, "a")), `"a"`, ""},
		{"Struct", "", `{}`, ""},
		{"ListValue", "", `[]`, ""},
		{"ListValue", string(handmade.Msg(sub(1), sub(1, num(4, 1)))), `[null,true]`, ""},
		{"Value", "", `null`, ""},
		{"Value", string(num(1, 0)), `null`, ""},
		{"Value", string(sub(6, sub(1, str(3, "a")))), `["a"]`, ""},
		{"Any", "", `{}`, ""},
		{"Any", string(str(2, "x")), `{"@type":"","@value":"x"}`, `message type "" is not known`},
		{"Any", string(handmade.Msg(str(1, "a/google.protobuf.Duration"), str(2, string(num(1, 5))), num(3, 1))), `{"@type":"a/google.protobuf.Duration","value":"5s"}`, ""},
		{"Any", string(handmade.Msg(str(1, "a/b.C"), []byte("\x12\x05x"))), `{"@type":"a/b.C","@undecoded":{"@bytes":"EgV4"}}`, "field 2 is 5 bytes long where 1 remain at byte 7"},
	} {
		doc := document.Message("google.protobuf."+c.name, []byte(c.data))
		problem := ""
		if len(doc.Problems) > 0 {
			problem = doc.Problems[0]
		}
		if got := string(doc.Compact()); got != c.want || problem != c.problem {
			t.Errorf("%s %x:\n got %s %q\nwant %s %q", c.name, c.data, got, doc.Problems, c.want, c.problem)
		}
	}
}

// A text that is to be read again keeps what cannot be decoded as its bytes.
func TestKept(t *testing.T) {
	num, str := handmade.Num, handmade.Str
	b64 := base64.StdEncoding.EncodeToString
	const cla, dur = "envoy.config.endpoint.v3.ClusterLoadAssignment", "google.protobuf.Any"
	deep := num(1, 1)
	for range 110 {
		deep = handmade.Sub(6, handmade.Sub(1, deep)) // a Value of a list of Values
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{cla, handmade.Msg(str(1, "c"), num(99, 7), str(98, "x")), `{"cluster_name":"c","@unknown":"` + b64(handmade.Msg(num(99, 7), str(98, "x"))) + `"}`},
		{cla, handmade.Msg(str(1, "c"), []byte("\x12\x05x")), `{"cluster_name":"c","@undecoded":"` + b64([]byte("\x12\x05x")) + `"}`},
		{cla, str(1, "\xff"), `{"@unknown":"` + b64(str(1, "\xff")) + `"}`},
		{dur, handmade.Msg(str(1, "a/b.C"), str(2, "x")), `{"@type":"a/b.C","@value":"eA=="}`},
		{dur, str(1, "a/b.C"), `{"@type":"a/b.C","@value":""}`},
		{dur, handmade.Msg(str(1, "a/"+cla), str(2, string(str(1, "c")))), `{"@type":"a/` + cla + `","cluster_name":"c"}`},
		{dur, handmade.Msg(str(1, "a/b.C"), str(1, "a/d.E")), `{"@any":"` + b64(handmade.Msg(str(1, "a/b.C"), str(1, "a/d.E"))) + `"}`},
		{dur, handmade.Msg(str(1, "a/b.C"), str(2, "x"), str(2, "y")), `{"@any":"` + b64(handmade.Msg(str(1, "a/b.C"), str(2, "x"), str(2, "y"))) + `"}`},
		{dur, num(1, 7), `{"@any":"` + b64(num(1, 7)) + `"}`},
		{dur, str(1, "\xff"), `{"@any":"` + b64(str(1, "\xff")) + `"}`},
		{dur, []byte("\x0a\x05x"), `{"@any":"` + b64([]byte("\x0a\x05x")) + `"}`},
		{dur, nil, `{}`},
	} {
		if got := string(document.Kept(c.name, c.data).Compact()); got != c.want {
			t.Errorf("%s %x:\n got %s\nwant %s", c.name, c.data, got, c.want)
		}
	}
	if got := string(document.Kept("google.protobuf.Value", deep).Compact()); !strings.Contains(got, `{"@undecoded":"`) {
		t.Errorf("what is too deep is not kept: %s", got)
	}
}

// A text in JSON that is none, or of another type, is shown as it was sent.
func TestJSONThatIsNot(t *testing.T) {
	const cla = "envoy.config.endpoint.v3.ClusterLoadAssignment"
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, c := range []struct{ name, text, want, problem string }{
		{"", " \n", `{}`, ""},
		{"", `{"a":1} 2`, `"{\"a\":1} 2"`, "not JSON: more than one value"},
		{"", `{"a":`, `"{\"a\":"`, "not JSON: EOF"},
		{"", `[1,`, `"[1,"`, "not JSON: EOF"},
		{"", `[1`, `"[1"`, "not JSON: EOF"},
		{"", `{"a"`, `"{\"a\""`, "not JSON: EOF"},
		{"", `{1:2}`, `"{1:2}"`, "not JSON: invalid character '1'"},
		{"", nest(100), nest(100), ""},
		{"", nest(101), `"` + nest(101) + `"`, "not JSON: nested too deep"},
		{cla, `{"clusterName":"c"}`, `{"cluster_name":"c"}`, ""},
		{cla, `{"cluster_name":5}`, `{"cluster_name":5}`, "shown as it was sent: "},
		{"a.B", `{"x":1}`, `{"x":1}`, `message type "a.B" is not known`},
	} {
		doc := document.JSON(c.name, []byte(c.text))
		problem := ""
		if len(doc.Problems) > 0 {
			problem = doc.Problems[0]
		}
		if got := string(doc.Compact()); got != c.want || !strings.HasPrefix(problem, c.problem) || (problem == "") != (c.problem == "") {
			t.Errorf("%s of %q:\n got %s %q\nwant %s %q", c.text, c.name, got, problem, c.want, c.problem)
		}
	}
}

// What is shown, and said, has its bounds: one less, all, and one more.
func TestProblemsAreBounded(t *testing.T) {
	var data []byte
	for i := range 103 {
		data = append(data, handmade.AnyOf(2, fmt.Sprintf("a/b.C%d", i), handmade.Num(1, 1))...)
	}
	doc := document.Message(response, data)
	if len(doc.Problems) != 100 || len(doc.Missing) != 100 || doc.Problems[99] != `resources[99]: message type "b.C99" is not known` || doc.Missing[99] != "b.C99" {
		t.Errorf("%d problems, %d missing", len(doc.Problems), len(doc.Missing))
	}
	twice := document.Message(response, handmade.Msg(handmade.AnyOf(2, "a/b.C", handmade.Num(1, 1)), handmade.AnyOf(2, "a/b.C", handmade.Num(1, 1))))
	if len(twice.Problems) != 1 || len(twice.Missing) != 1 {
		t.Errorf("%q, %q", twice.Problems, twice.Missing)
	}
	// Of messages in messages as many as can be read at once are shown.
	for n, deep := range map[int]bool{99: false, 100: false, 101: true} {
		v := handmade.Num(4, 1)
		for range n {
			v = handmade.Sub(11, v)
		}
		d := everyKind(t).Message("t.All", v)
		if got := len(d.Problems) > 0; got != deep {
			t.Errorf("%d deep: %q", n, d.Problems)
		}
	}
}
