package constraints

import (
	"fmt"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
)

// valueOf compiles the rules on a value of a field, on one of its elements if it is
// a list. Rules that no type of Envoy's has are not known: a test says if one does.
func valueOf(fd protoreflect.FieldDescriptor, rules *validate.FieldRules) valueRules {
	r := valueRules{}
	switch of := rules.GetType().(type) {
	case nil:
		r.into = fd.Message() != nil && fd.Message().ParentFile().Package() != "google.protobuf" && !rules.GetMessage().GetSkip()
		return r
	case *validate.FieldRules_String_:
		r.ignoreEmpty, r.tests = of.String_.GetIgnoreEmpty(), textTests(of.String_)
	case *validate.FieldRules_Bytes:
		r.ignoreEmpty, r.tests = of.Bytes.GetIgnoreEmpty(), bytesTests(of.Bytes)
	case *validate.FieldRules_Enum:
		r.tests = enumTests(fd, of.Enum)
	case *validate.FieldRules_Duration:
		r.tests = durationTests(of.Duration)
		return r
	case *validate.FieldRules_Any, *validate.FieldRules_Timestamp, *validate.FieldRules_Repeated, *validate.FieldRules_Map:
		return r
	default: // numbers and bool, each of which has a type with fields of the same names
		m := rules.ProtoReflect()
		one := m.Descriptor().Oneofs().ByName("type")
		r.ignoreEmpty, r.tests = numberTests(m.Get(m.WhichOneof(one)).Message())
	}
	r.wrapped = fd.Message() != nil
	return r
}

// when makes a test of what a value must be, and of what is said if it is not.
func when[T any](of func(protoreflect.Value) T, right func(T) bool, reason string) test {
	return func(v protoreflect.Value) problem {
		if right(of(v)) {
			return problem{}
		}
		return problem{reason: reason}
	}
}

func enumTests(fd protoreflect.FieldDescriptor, r *validate.EnumRules) (tests []test) {
	// Of an element of a list the number is said, else the name.
	names := func(list ...int32) string {
		out := make([]any, len(list))
		for i, n := range list {
			out[i] = n
			if v := fd.Enum().Values().ByNumber(protoreflect.EnumNumber(n)); v != nil && !fd.IsList() {
				out[i] = v.Name()
			}
		}
		return fmt.Sprint(out)
	}
	add := func(right func(int32) bool, reason string) {
		tests = append(tests, when(func(v protoreflect.Value) int32 { return int32(v.Enum()) }, right, reason))
	}
	if r.Const != nil {
		said := names(r.GetConst())
		add(func(n int32) bool { return n == r.GetConst() }, "value must equal "+said[1:len(said)-1])
	}
	tests = append(tests, listed(func(v protoreflect.Value) int32 { return int32(v.Enum()) }, r.GetIn(), r.GetNotIn(), names(r.GetIn()...), names(r.GetNotIn()...))...)
	if r.GetDefinedOnly() {
		known := fd.Enum().Values()
		add(func(n int32) bool { return known.ByNumber(protoreflect.EnumNumber(n)) != nil }, "value must be one of the defined enum values")
	}
	return tests
}

// listed are the rules in and not_in, of which the second counts only without the first.
func listed[T comparable](of func(protoreflect.Value) T, in, out []T, saidIn, saidOut string) []test {
	set := make(map[T]bool)
	switch {
	case len(in) > 0:
		for _, v := range in {
			set[v] = true
		}
		return []test{when(of, func(v T) bool { return set[v] }, "value must be in list "+saidIn)}
	case len(out) > 0:
		for _, v := range out {
			set[v] = true
		}
		return []test{when(of, func(v T) bool { return !set[v] }, "value must not be in list "+saidOut)}
	}
	return nil
}

func durationTests(r *validate.DurationRules) []test {
	b := bounds[int64]{}
	for _, of := range []struct {
		d  *durationpb.Duration
		to **bound[int64]
	}{{r.GetLt(), &b.lt}, {r.GetLte(), &b.lte}, {r.GetGt(), &b.gt}, {r.GetGte(), &b.gte}} {
		if of.d != nil {
			*of.to = &bound[int64]{int64(of.d.AsDuration()), of.d.AsDuration().String()}
		}
	}
	if b == (bounds[int64]{}) {
		return nil
	}
	within := b.test()
	return []test{func(v protoreflect.Value) problem {
		m := v.Message()
		fields := m.Descriptor().Fields()
		d := &durationpb.Duration{Seconds: m.Get(fields.ByName("seconds")).Int(), Nanos: int32(m.Get(fields.ByName("nanos")).Int())}
		if err := d.CheckValid(); err != nil {
			return problem{"value is not a valid duration", err.Error()}
		}
		return problem{reason: within(int64(d.AsDuration()))}
	}}
}
