package inspect

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/decode/constraints"
	"github.com/xdsproxy/xdsproxy/internal/unmarshal"
)

// validate has a message judged by its constraints.
func (in *Inspector) validate(t *typeFacts, b []byte) {
	own := len(in.path) == 0
	if len(in.facts.Invalid) >= maxInvalid && !own {
		return
	}
	mt, err := protoregistry.GlobalTypes.FindMessageByName(t.md.FullName())
	if err != nil {
		return
	}
	msg := mt.New()
	if err := unmarshal.With(proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}, b, msg.Interface()); err != nil {
		return
	}
	inside := in.facts.Invalid
	if own { // which come last, and first in the list
		in.facts.Invalid = nil
	}
	in.violations(in.judge.Violations(msg, maxInvalid-len(in.facts.Invalid)), in.where())
	if own {
		in.facts.InvalidOwn = len(in.facts.Invalid)
		in.facts.Invalid = append(in.facts.Invalid, inside[:min(len(inside), maxInvalid-len(in.facts.Invalid))]...)
	}
}

// violations adds those of a message to the facts.
func (in *Inspector) violations(list []constraints.Violation, at string) {
	for _, v := range list {
		name := v.Field
		if at != "" {
			name = at + "." + name
		}
		if v.Reason == "" {
			in.violations(v.Inside, name)
			continue
		}
		line := name + ": " + v.Reason
		if v.Cause != "" {
			line += ": " + v.Cause
		}
		in.facts.Invalid = append(in.facts.Invalid, line)
	}
}
