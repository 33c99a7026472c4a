// Package unmarshal reads messages of any type from bytes that anybody may have sent.
package unmarshal

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// Message reads b into m, as proto.Unmarshal does.
//
// proto.Unmarshal panics for a dynamic message (envoy.api.v2, and types that a user described) where the key of a map
// entry comes once more as another wire type (google.golang.org/protobuf 1.36.12). Here that is an error like any other
// damage. m is not to be used after an error.
func Message(b []byte, m proto.Message) error {
	return With(proto.UnmarshalOptions{}, b, m)
}

// With is Message with options.
func With(o proto.UnmarshalOptions, b []byte, m proto.Message) (err error) {
	defer caught(&err, m.ProtoReflect().Descriptor().FullName())
	return o.Unmarshal(b, m)
}

// Packed is the message in an Any, if its type is known.
func Packed(a *anypb.Any) (m proto.Message, err error) {
	defer caught(&err, a.MessageName())
	return a.UnmarshalNew()
}

// ToJSON writes m as JSON, for which it reads the messages in Anys.
func ToJSON(o protojson.MarshalOptions, m proto.Message) (text []byte, err error) {
	defer caught(&err, m.ProtoReflect().Descriptor().FullName())
	return o.Marshal(m)
}

func caught(err *error, of protoreflect.FullName) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("cannot read %s: %v", of, r)
	}
}
