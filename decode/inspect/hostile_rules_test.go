package inspect_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/xdsproxy/xdsproxy/decode/descriptors"
	"github.com/xdsproxy/xdsproxy/decode/handmade"
	"github.com/xdsproxy/xdsproxy/decode/inspect"
)

// A description from elsewhere may have whatever constraint on whatever field: a
// message of its type is looked at, and nothing ends.
func FuzzForeignRules(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed, []byte(nil))
	}
	f.Fuzz(func(t *testing.T, seed uint64, body []byte) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{foreign(rnd)}})
		if err != nil {
			t.Fatal(err)
		}
		types := descriptors.New()
		if told, err := types.Add("x", set); err != nil || len(told) > 0 {
			t.Fatal(told, err)
		}
		in := inspect.New(types)
		in.Inspect("type.googleapis.com/h.M", body, false)
		for range 5 {
			m := dynamicpb.NewMessage(types.Find("h.M"))
			handmade.Fill(rnd, m, 3, rnd.Float64())
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if facts := in.Inspect("type.googleapis.com/h.M", b, false); !facts.Known || facts.Undecodable != "" {
				t.Fatalf("%+v", facts)
			}
		}
	})
}

// foreign is a file with a type that has constraints without sense.
func foreign(rnd *rand.Rand) *descriptorpb.FileDescriptorProto {
	field := func(name string, number int, of descriptorpb.FieldDescriptorProto_Type, typeName string, list bool) *descriptorpb.FieldDescriptorProto {
		fd := &descriptorpb.FieldDescriptorProto{
			Name: proto.String(name), Number: proto.Int32(int32(number)), Type: of.Enum(),
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		}
		if typeName != "" {
			fd.TypeName = proto.String(typeName)
		}
		if list {
			fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		return fd
	}
	m := &descriptorpb.DescriptorProto{Name: proto.String("M"), OneofDecl: []*descriptorpb.OneofDescriptorProto{
		{Name: proto.String("o"), Options: &descriptorpb.OneofOptions{}},
	}}
	proto.SetExtension(m.OneofDecl[0].Options, validate.E_Required, true)
	enum := &descriptorpb.EnumDescriptorProto{Name: proto.String("E"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: proto.String("A"), Number: proto.Int32(0)}}}
	for i := range 24 {
		name, fd := fmt.Sprintf("f%d", i), (*descriptorpb.FieldDescriptorProto)(nil)
		switch kind := descriptorpb.FieldDescriptorProto_Type(1 + rnd.IntN(18)); {
		case i < 3:
			fd = field(name, i+1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false)
			fd.OneofIndex = proto.Int32(0)
		case kind == descriptorpb.FieldDescriptorProto_TYPE_GROUP: // a map, in place of what proto3 does not have
			entry := fmt.Sprintf("F%dEntry", i)
			m.NestedType = append(m.NestedType, &descriptorpb.DescriptorProto{
				Name: proto.String(entry), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
				Field: []*descriptorpb.FieldDescriptorProto{
					field("key", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "", false),
					field("value", 2, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".h.M", false),
				},
			})
			fd = field(name, i+1, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE, ".h.M."+entry, true)
		case kind == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
			of := []string{".h.M", ".google.protobuf.Duration", ".google.protobuf.UInt32Value", ".google.protobuf.Empty"}
			fd = field(name, i+1, kind, of[rnd.IntN(len(of))], rnd.IntN(2) == 0)
		case kind == descriptorpb.FieldDescriptorProto_TYPE_ENUM:
			fd = field(name, i+1, kind, ".h.E", rnd.IntN(2) == 0)
		default:
			fd = field(name, i+1, kind, "", rnd.IntN(2) == 0)
		}
		rules := &validate.FieldRules{}
		handmade.Fill(rnd, rules.ProtoReflect(), 1+rnd.IntN(4), rnd.Float64())
		fd.Options = &descriptorpb.FieldOptions{}
		proto.SetExtension(fd.Options, validate.E_Rules, rules)
		m.Field = append(m.Field, fd)
	}
	return &descriptorpb.FileDescriptorProto{
		Name: proto.String("h.proto"), Package: proto.String("h"), Syntax: proto.String("proto3"),
		Dependency:  []string{"google/protobuf/duration.proto", "google/protobuf/wrappers.proto", "google/protobuf/empty.proto"},
		MessageType: []*descriptorpb.DescriptorProto{m}, EnumType: []*descriptorpb.EnumDescriptorProto{enum},
	}
}

// A map entry whose key comes again, as a number, crashes nobody: messages of version 2 are dynamic, and the reader of
// these does not expect it.
func TestKeyOfAnotherWireType(t *testing.T) {
	field := func(b []byte, n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	entry := protowire.AppendVarint(protowire.AppendTag(field(nil, 1, []byte("key")), 1, protowire.VarintType), 1)
	named := field(nil, 5, entry) // endpoints, without the name of the cluster, which a constraint asks for
	for _, of := range []string{"envoy.api.v2.ClusterLoadAssignment", "envoy.config.endpoint.v3.ClusterLoadAssignment"} {
		if f := inspect.New(nil).Inspect("type.googleapis.com/"+of, named, false); !f.Known {
			t.Errorf("%s: %+v", of, f)
		}
	}
}
