package types

import (
	_ "embed"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/runtime/protoimpl"
	"google.golang.org/protobuf/types/dynamicpb"
)

// old is a FileDescriptorSet of Envoy's API before version 3. It is not compressed,
// since every command would unpack it at its start.
//
//go:embed v2.fds
var old []byte

// Registered are descriptors whose parts are parsed when they are first asked for,
// as those of generated code are. What is wrong here is wrong in what was built.
func init() {
	for set := old; len(set) > 0; { // field 1 of the set is a file
		_, _, tag := protowire.ConsumeTag(set)
		file, n := protowire.ConsumeBytes(set[max(tag, 0):])
		must(protowire.ParseError(min(tag, n)))
		set = set[tag+n:]
		if !linked(file) {
			register(protoimpl.DescBuilder{RawDescriptor: file}.Build().File)
		}
	}
}

// linked says whether the program has generated code of this file.
func linked(file []byte) bool {
	_, _, tag := protowire.ConsumeTag(file) // field 1, which comes first, is its path
	path, _ := protowire.ConsumeString(file[max(tag, 0):])
	_, err := protoregistry.GlobalFiles.FindFileByPath(path)
	return err == nil
}

// declared is what declares types: a file or a message.
type declared interface {
	Messages() protoreflect.MessageDescriptors
	Enums() protoreflect.EnumDescriptors
}

func register(in declared) {
	for i := range in.Enums().Len() {
		must(protoregistry.GlobalTypes.RegisterEnum(dynamicpb.NewEnumType(in.Enums().Get(i))))
	}
	for i := range in.Messages().Len() {
		md := in.Messages().Get(i)
		if !md.IsMapEntry() {
			must(protoregistry.GlobalTypes.RegisterMessage(dynamicpb.NewMessageType(md)))
		}
		register(md)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
