package constraints

import (
	"cmp"
	"fmt"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// problem is what is wrong with a value; no reason is none.
type problem struct{ reason, cause string }

// test looks at one value.
type test func(protoreflect.Value) problem

// valueRules are the constraints on a value: of a field, or of an element of a list
// or a map.
type valueRules struct {
	tests       []test
	ignoreEmpty bool
	wrapped     bool // the tests are for what is in a wrapper, such as a UInt32Value
	into        bool // it is a message, and its own constraints count
}

func (r *valueRules) idle() bool { return len(r.tests) == 0 && !r.into }

// fieldRules are the constraints on a field. Of one that is not repeated, those on
// its value are its own; items are those of elements, or of values of a map.
type fieldRules struct {
	valueRules
	fd       protoreflect.FieldDescriptor
	required string // what is said if the message is not there, or nothing
	unique   bool
	fewest   uint64
	most     *uint64
	keys     valueRules
	items    valueRules
}

func (f *fieldRules) idle() bool {
	return f.required == "" && !f.unique && f.fewest == 0 && f.most == nil && f.valueRules.idle() && f.keys.idle() && f.items.idle()
}

// size says what is wrong with so many elements.
func (f *fieldRules) size(n uint64) string {
	one, all := "item(s)", "items"
	if f.fd.IsMap() {
		one, all = "pair(s)", "pairs"
	}
	switch {
	case f.fewest > 0 && f.most != nil && *f.most == f.fewest && n != f.fewest:
		return fmt.Sprintf("value must contain exactly %d %s", f.fewest, one)
	case f.fewest > 0 && f.most != nil && (n < f.fewest || n > *f.most):
		return fmt.Sprintf("value must contain between %d and %d %s, inclusive", f.fewest, *f.most, all)
	case f.fewest > 0 && n < f.fewest:
		return fmt.Sprintf("value must contain at least %d %s", f.fewest, one)
	case f.most != nil && n > *f.most:
		return fmt.Sprintf("value must contain no more than %d %s", *f.most, one)
	}
	return ""
}

func compile(fd protoreflect.FieldDescriptor) *fieldRules {
	f := &fieldRules{fd: fd}
	rules, _ := proto.GetExtension(fd.Options(), validate.E_Rules).(*validate.FieldRules)
	switch {
	case fd.IsMap():
		r := cmp.Or(rules.GetMap(), &validate.MapRules{})
		f.ignoreEmpty, f.fewest, f.most = r.GetIgnoreEmpty(), r.GetMinPairs(), r.MaxPairs
		f.keys, f.items = valueOf(fd.MapKey(), r.GetKeys()), valueOf(fd.MapValue(), r.GetValues())
	case fd.IsList():
		r := cmp.Or(rules.GetRepeated(), &validate.RepeatedRules{})
		f.ignoreEmpty, f.unique, f.fewest, f.most = r.GetIgnoreEmpty(), r.GetUnique(), r.GetMinItems(), r.MaxItems
		f.items = valueOf(fd, r.GetItems())
	default:
		f.valueRules = valueOf(fd, rules)
		switch {
		case f.wrapped && rules.GetMessage().GetRequired():
			f.required = "value is required and must not be nil."
		case rules.GetAny().GetRequired(), rules.GetDuration().GetRequired(), rules.GetTimestamp().GetRequired(),
			rules.GetType() == nil && rules.GetMessage().GetRequired():
			f.required = isRequired
		}
	}
	return f
}
