package types

import (
	"testing"

	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Types of version 3 are those of generated code, and those of version 2 are there as
// well: with all that is in the files that are kept of it, to the last of them.
func TestRegistered(t *testing.T) {
	v3, err := protoregistry.GlobalTypes.FindMessageByName("envoy.service.discovery.v3.DiscoveryRequest")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := v3.New().Interface().(*discovery.DiscoveryRequest); !ok {
		t.Errorf("version 3 is %T", v3.New().Interface())
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(old, &set); err != nil || len(set.GetFile()) < 100 {
		t.Fatal(len(set.GetFile()), err)
	}
	messages, enums := 0, 0
	var all func(prefix protoreflect.FullName, in []*descriptorpb.DescriptorProto, of []*descriptorpb.EnumDescriptorProto)
	all = func(prefix protoreflect.FullName, in []*descriptorpb.DescriptorProto, of []*descriptorpb.EnumDescriptorProto) {
		for _, e := range of {
			name := prefix.Append(protoreflect.Name(e.GetName()))
			if _, err := protoregistry.GlobalTypes.FindEnumByName(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			enums++
		}
		for _, m := range in {
			name := prefix.Append(protoreflect.Name(m.GetName()))
			_, err := protoregistry.GlobalTypes.FindMessageByName(name)
			if entry := m.GetOptions().GetMapEntry(); entry == (err == nil) {
				t.Errorf("%s, which is an entry of a map: %t: %v", name, entry, err)
			}
			messages++
			all(name, m.GetNestedType(), m.GetEnumType())
		}
	}
	for _, f := range set.GetFile() {
		if _, err := protoregistry.GlobalFiles.FindFileByPath(f.GetName()); err != nil {
			t.Error(err)
		}
		all(protoreflect.FullName(f.GetPackage()), f.GetMessageType(), f.GetEnumType())
	}
	if messages < 500 || enums < 50 {
		t.Errorf("%d messages, %d enums", messages, enums)
	}
}

// A message of version 2 is read by its names, a map in it, too.
func TestOld(t *testing.T) {
	kind, err := protoregistry.GlobalTypes.FindMessageByURL("type.googleapis.com/envoy.api.v2.Cluster")
	if err != nil {
		t.Fatal(err)
	}
	m := kind.New().Interface()
	text := `{"name":"c","type":"EDS","metadata":{"filter_metadata":{"a":{"b":1}}},"load_assignment":{"cluster_name":"d"}}`
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	again := kind.New().Interface()
	if err := proto.Unmarshal(b, again); err != nil || !proto.Equal(m, again) {
		t.Errorf("%v %v, %v", m, again, err)
	}
}
