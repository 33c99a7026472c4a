// Package constraints judges messages by the constraints that are written into
// their types for protoc-gen-validate. It reads them from the descriptors, and says
// what the code says that protoc-gen-validate generates for Go: that code, in all of
// Envoy's types, would be a quarter of the program. Its tests compare both.
package constraints

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/envoyproxy/protoc-gen-validate/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Violation is one constraint that a message violates.
type Violation struct {
	Field  string      // as the .proto file has it, such as "endpoints[0]"
	Reason string      // empty if it is of the message in the field
	Cause  string      // why a value is none of its type; mostly empty
	Inside []Violation // of the message in the field
}

// Judge remembers the types that it met. One goroutine at a time may use it.
type Judge struct {
	types map[protoreflect.MessageDescriptor]*typeRules
}

// New returns a Judge that has met no type.
func New() *Judge {
	return &Judge{types: make(map[protoreflect.MessageDescriptor]*typeRules)}
}

// Violations are those of a message and of the messages in it, at most so many,
// in the order of the fields. The message of an Any is not looked at.
func (j *Judge) Violations(m protoreflect.Message, most int) []Violation {
	return j.judge(m, &most)
}

// judge stops when none of left is left.
func (j *Judge) judge(m protoreflect.Message, left *int) []Violation {
	t := j.of(m.Descriptor())
	out := list{j: j, left: left}
	for _, f := range t.plain {
		out.field(m, f)
	}
	for _, o := range t.oneofs {
		member := m.WhichOneof(o.od)
		if member != nil {
			out.field(m, o.members[member.Number()])
		} else if o.required {
			out.add(string(o.od.Name()), problem{reason: isRequired})
		}
	}
	for _, f := range t.optional {
		if m.Has(f.fd) {
			out.field(m, f)
		}
	}
	return out.found
}

const isRequired = "value is required"

// list collects violations of one message.
type list struct {
	j     *Judge
	left  *int
	found []Violation
}

func (l *list) add(field string, p problem) {
	if *l.left > 0 {
		*l.left--
		l.found = append(l.found, Violation{Field: field, Reason: p.reason, Cause: p.cause})
	}
}

func (l *list) field(m protoreflect.Message, f *fieldRules) {
	if *l.left <= 0 || f.idle() {
		return
	}
	name := string(f.fd.Name())
	switch {
	case f.fd.IsMap():
		l.pairs(f, name, m.Get(f.fd).Map())
	case f.fd.IsList():
		l.items(f, name, m.Get(f.fd).List())
	case f.fd.Message() != nil && !m.Has(f.fd):
		if f.required != "" {
			l.add(name, problem{reason: f.required})
		}
	default:
		l.value(&f.valueRules, func() string { return name }, m.Get(f.fd))
	}
}

func (l *list) items(f *fieldRules, name string, items protoreflect.List) {
	if f.ignoreEmpty && items.Len() == 0 {
		return
	}
	if reason := f.size(uint64(items.Len())); reason != "" {
		l.add(name, problem{reason: reason})
	}
	if !f.unique && f.items.idle() {
		return
	}
	var seen map[any]bool
	if f.unique {
		seen = make(map[any]bool)
	}
	for i := range items.Len() {
		if *l.left <= 0 {
			return
		}
		at := func() string { return fmt.Sprintf("%s[%d]", name, i) }
		v := items.Get(i)
		if f.unique {
			key := v.Interface()
			if b, ok := key.([]byte); ok {
				key = string(b)
			}
			if seen[key] {
				l.add(at(), problem{reason: "repeated value must contain unique items"})
			}
			seen[key] = true
		}
		l.value(&f.items, at, v)
	}
}

func (l *list) pairs(f *fieldRules, name string, pairs protoreflect.Map) {
	if f.ignoreEmpty && pairs.Len() == 0 {
		return
	}
	if reason := f.size(uint64(pairs.Len())); reason != "" {
		l.add(name, problem{reason: reason})
	}
	if f.keys.idle() && f.items.idle() {
		return
	}
	keys := make([]protoreflect.MapKey, 0, pairs.Len())
	pairs.Range(func(k protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, k)
		return true
	})
	slices.SortFunc(keys, compareKeys)
	for _, k := range keys {
		if *l.left <= 0 {
			return
		}
		at := func() string { return fmt.Sprintf("%s[%v]", name, k.Interface()) }
		l.value(&f.keys, at, k.Value())
		l.value(&f.items, at, pairs.Get(k))
	}
}

func compareKeys(a, b protoreflect.MapKey) int {
	switch a.Interface().(type) {
	case string:
		return cmp.Compare(a.String(), b.String())
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	case uint32, uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	}
	return 0
}

// value judges a value, whose name is made when it is needed.
func (l *list) value(r *valueRules, name func() string, v protoreflect.Value) {
	if r.into && *l.left > 0 {
		if inside := l.j.judge(v.Message(), l.left); len(inside) > 0 {
			l.found = append(l.found, Violation{Field: name(), Inside: inside})
		}
		return
	}
	if r.wrapped {
		v = v.Message().Get(v.Message().Descriptor().Fields().Get(0))
	}
	if r.ignoreEmpty && isZero(v) {
		return
	}
	for _, test := range r.tests {
		if p := test(v); p.reason != "" {
			l.add(name(), p)
		}
	}
}

func isZero(v protoreflect.Value) bool {
	x := v.Interface()
	if b, ok := x.([]byte); ok {
		return len(b) == 0
	}
	return x == reflect.Zero(reflect.TypeOf(x)).Interface()
}

// typeRules are the constraints of a type, in the order in which they are judged.
type typeRules struct {
	plain    []*fieldRules
	oneofs   []oneofRules
	optional []*fieldRules
}

type oneofRules struct {
	od       protoreflect.OneofDescriptor
	required bool
	members  map[protoreflect.FieldNumber]*fieldRules
}

func (j *Judge) of(md protoreflect.MessageDescriptor) *typeRules {
	if t := j.types[md]; t != nil {
		return t
	}
	t := &typeRules{}
	j.types[md] = t
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		switch o := fd.ContainingOneof(); {
		case o == nil:
			if f := compile(fd); !f.idle() {
				t.plain = append(t.plain, f)
			}
		case o.IsSynthetic():
			t.optional = append(t.optional, compile(fd))
		}
	}
	for i := range md.Oneofs().Len() {
		od := md.Oneofs().Get(i)
		if od.IsSynthetic() {
			continue
		}
		o := oneofRules{od: od, members: make(map[protoreflect.FieldNumber]*fieldRules)}
		o.required, _ = proto.GetExtension(od.Options(), validate.E_Required).(bool)
		for k := range od.Fields().Len() {
			o.members[od.Fields().Get(k).Number()] = compile(od.Fields().Get(k))
		}
		t.oneofs = append(t.oneofs, o)
	}
	return t
}
