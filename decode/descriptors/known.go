package descriptors

import (
	"crypto/sha256"
	"maps"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// known is what was described up to now. It does not change.
type known struct {
	all   map[protoreflect.FullName]protoreflect.Descriptor // messages and enums
	built map[string]protoreflect.FileDescriptor            // by their paths
	// said is what was said last of the files of each path, and order all of that,
	// as it came.
	said  map[string]*descriptorpb.FileDescriptorProto
	order []*descriptorpb.FileDescriptorProto
	sets  map[[sha256.Size]byte]bool // that were added
}

func (k *known) clone() *known {
	if k == nil {
		return &known{
			all: map[protoreflect.FullName]protoreflect.Descriptor{}, built: map[string]protoreflect.FileDescriptor{},
			said: map[string]*descriptorpb.FileDescriptorProto{}, sets: map[[sha256.Size]byte]bool{},
		}
	}
	return &known{all: maps.Clone(k.all), built: maps.Clone(k.built), said: maps.Clone(k.said), sets: maps.Clone(k.sets), order: slices.Clone(k.order)}
}

// has says whether there is a file of this path, linked or described.
func (k *known) has(path string) bool {
	_, err := k.FindFileByPath(path)
	return err == nil
}

// FindFileByPath is for protodesc.
func (k *known) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if fd := k.built[path]; fd != nil {
		return fd, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

// FindDescriptorByName is for protodesc.
func (k *known) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	if d := k.all[name]; d != nil {
		return d, nil
	}
	return protoregistry.GlobalFiles.FindDescriptorByName(name)
}

// take takes a file that was made of what was said.
func (k *known) take(fd protoreflect.FileDescriptor, said *descriptorpb.FileDescriptorProto) {
	k.built[fd.Path()], k.said[said.GetName()] = fd, said
	k.order = append(k.order, said)
	k.declare(fd)
}

func (k *known) declare(in interface {
	Messages() protoreflect.MessageDescriptors
	Enums() protoreflect.EnumDescriptors
},
) {
	for i := range in.Enums().Len() {
		e := in.Enums().Get(i)
		k.all[e.FullName()] = e
	}
	for i := range in.Messages().Len() {
		m := in.Messages().Get(i)
		k.all[m.FullName()] = m
		k.declare(m)
	}
}
