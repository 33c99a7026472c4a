// Package descriptors has the message types that were described by their users
// and are not linked: from descriptor sets, as protoc writes them, in a registry
// of its own.
//
// In the packages of xDS and protobuf (envoy, xds, udpa, google) what is linked
// wins: this program goes by it. A declaration that has the name of a linked one
// there is left out, and whatever refers to it refers to the linked one. In other
// packages the description wins: Envoy brings an old copy of Istio's workloads.
//
// A set may come from anywhere: what is wrong in it is left out and named, and the
// rest can be used.
package descriptors

import (
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	_ "google.golang.org/protobuf/types/known/anypb" // what has a form of its own is never a described type
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"
)

// Types are the linked message types and those that were described. The nil
// pointer has the linked ones only. It may be used by several goroutines.
type Types struct {
	mu    sync.Mutex // held while something is added
	known atomic.Pointer[known]
}

// New has the linked types.
func New() *Types { return &Types{} }

// Find is the message type with this full name; nil if there is none.
func (t *Types) Find(name protoreflect.FullName) protoreflect.MessageDescriptor {
	if md := t.described(name); md != nil {
		return md
	}
	if mt, err := protoregistry.GlobalTypes.FindMessageByName(name); err == nil {
		return mt.Descriptor()
	}
	return nil
}

// FindMessageByName is Find for who makes messages.
func (t *Types) FindMessageByName(name protoreflect.FullName) (protoreflect.MessageType, error) {
	if md := t.described(name); md != nil {
		return dynamicpb.NewMessageType(md), nil
	}
	return protoregistry.GlobalTypes.FindMessageByName(name)
}

// described is the type of this name as it was described; nil if it was not.
func (t *Types) described(name protoreflect.FullName) protoreflect.MessageDescriptor {
	if k := t.now(); k != nil {
		md, _ := k.all[name].(protoreflect.MessageDescriptor)
		return md
	}
	return nil
}

// Names are the full names of the message types that were described, sorted.
func (t *Types) Names() []protoreflect.FullName {
	var out []protoreflect.FullName
	if k := t.now(); k != nil {
		for name, d := range k.all {
			if md, is := d.(protoreflect.MessageDescriptor); is && !md.IsMapEntry() {
				out = append(out, name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// Set is all that was added, as a descriptor set that can be added again; empty if
// that is nothing.
func (t *Types) Set() []byte {
	k := t.now()
	if k == nil || len(k.order) == 0 {
		return nil
	}
	set := &descriptorpb.FileDescriptorSet{File: k.order}
	// The error is impossible: all of it was read from such a set.
	b, _ := proto.MarshalOptions{Deterministic: true, AllowPartial: true}.Marshal(set)
	return b
}

func (t *Types) now() *known {
	if t == nil {
		return nil
	}
	return t.known.Load()
}
