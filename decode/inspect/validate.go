package inspect

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// validator is what protoc-gen-validate generates for each message.
type validator interface{ ValidateAll() error }

// violation is one of its errors, violations a list of them.
type (
	violation interface {
		Field() string
		Reason() string
		Cause() error
	}
	violations interface{ AllErrors() []error }
)

// validate has the generated code judge a message.
func (in *Inspector) validate(t *typeFacts, b []byte) {
	own := len(in.path) == 0
	if len(in.facts.Invalid) >= maxInvalid && !own {
		return
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByName(t.md.FullName())
	if err != nil {
		return
	}
	msg := mt.New().Interface()
	v, ok := msg.(validator)
	if !ok {
		return
	}
	if err := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(b, msg); err != nil {
		return
	}
	if err := v.ValidateAll(); err != nil {
		inside := in.facts.Invalid
		if own { // which come last, and first in the list
			in.facts.Invalid = nil
		}
		in.violations(err, t.md, in.where())
		if own {
			in.facts.InvalidOwn = len(in.facts.Invalid)
			in.facts.Invalid = append(in.facts.Invalid, inside[:min(len(inside), maxInvalid-len(in.facts.Invalid))]...)
		}
	}
}

// violations adds an error of a message to the facts, with the names of fields
// as the .proto files have them.
func (in *Inspector) violations(err error, md protoreflect.MessageDescriptor, at string) {
	if len(in.facts.Invalid) >= maxInvalid {
		return
	}
	if list, ok := err.(violations); ok {
		for _, e := range list.AllErrors() {
			in.violations(e, md, at)
		}
		return
	}
	v, ok := err.(violation)
	if !ok {
		in.facts.Invalid = append(in.facts.Invalid, at+": "+err.Error())
		return
	}
	name, sub := protoField(md, v.Field())
	if at != "" {
		name = at + "." + name
	}
	switch cause := v.Cause(); cause.(type) {
	case violation, violations:
		in.violations(cause, sub, name)
	case nil:
		in.facts.Invalid = append(in.facts.Invalid, name+": "+v.Reason())
	default:
		in.facts.Invalid = append(in.facts.Invalid, name+": "+v.Reason()+": "+cause.Error())
	}
}

// protoField translates a field of generated code, such as "LbEndpoints[0]",
// and returns the type of its messages, or nil.
func protoField(md protoreflect.MessageDescriptor, field string) (string, protoreflect.MessageDescriptor) {
	name, index := field, ""
	if i := strings.IndexByte(field, '['); i >= 0 {
		name, index = field[:i], field[i:]
	}
	if md == nil {
		return field, nil
	}
	same := func(n protoreflect.Name) bool { return strings.EqualFold(strings.ReplaceAll(string(n), "_", ""), name) }
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if !same(fd.Name()) {
			continue
		}
		if fd.IsMap() {
			fd2 := fd.MapValue()
			return string(fd.Name()) + index, fd2.Message()
		}
		return string(fd.Name()) + index, fd.Message()
	}
	for i := range md.Oneofs().Len() {
		if n := md.Oneofs().Get(i).Name(); same(n) {
			return string(n) + index, nil
		}
	}
	return field, nil
}
