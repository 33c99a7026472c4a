package descriptors

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// maxNamed bounds how many of a kind are named.
const maxNamed = 3

// told says what of a set is not as it says, a sentence for each kind.
func (a *adding) told() (out []string) {
	if len(a.lacking) > 0 {
		out = append(out, fmt.Sprintf("the descriptors of %q lack %s, which they import: what is of a type from there shows as numbers", a.from, named(a.lacking)))
	}
	if len(a.linked) > 0 {
		out = append(out, fmt.Sprintf("the descriptors of %q have another form of %s than xdsproxy: its own counts", a.from, named(a.linked)))
	}
	if len(a.other) > 0 {
		out = append(out, fmt.Sprintf("the descriptors of %q have another form of %s than those that were read before: the first counts", a.from, named(a.other)))
	}
	if n := len(a.wrong); n > 0 {
		text := a.wrong[0]
		if n > 1 {
			text += fmt.Sprintf(" (and %d more)", n-1)
		}
		out = append(out, fmt.Sprintf("a part of the descriptors of %q cannot be used: %s", a.from, text))
	}
	return out
}

// named is such as "a.proto, b.proto and 4 more".
func named(names []string) string {
	var b strings.Builder
	for i, name := range names[:min(len(names), maxNamed)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(shown(name))
	}
	if n := len(names) - maxNamed; n > 0 {
		fmt.Fprintf(&b, " and %d more", n)
	}
	return b.String()
}

// shown is a name as it can be printed.
func shown(name string) string {
	if quoted := strconv.Quote(name); len(quoted) != len(name)+2 || strings.ContainsRune(name, ' ') {
		return quoted
	}
	return name
}

// sameMessage says whether a message is declared as a linked one, but for options.
func sameMessage(linked protoreflect.Descriptor, m *descriptorpb.DescriptorProto) bool {
	md, is := linked.(protoreflect.MessageDescriptor)
	if !is || md.Fields().Len() != len(m.Field) {
		return false
	}
	for _, f := range m.Field {
		fd := md.Fields().ByNumber(protoreflect.FieldNumber(f.GetNumber()))
		if fd == nil || string(fd.Name()) != f.GetName() || int(fd.Kind()) != int(f.GetType()) ||
			fd.Cardinality() != protoreflect.Cardinality(f.GetLabel()) {
			return false
		}
	}
	for _, n := range m.NestedType {
		sub := md.Messages().ByName(protoreflect.Name(n.GetName()))
		if sub == nil || !sameMessage(sub, n) {
			return false
		}
	}
	for _, e := range m.EnumType {
		sub := md.Enums().ByName(protoreflect.Name(e.GetName()))
		if sub == nil || !sameEnum(sub, e) {
			return false
		}
	}
	return true
}

func sameEnum(linked protoreflect.Descriptor, e *descriptorpb.EnumDescriptorProto) bool {
	ed, is := linked.(protoreflect.EnumDescriptor)
	if !is || ed.Values().Len() != len(e.Value) {
		return false
	}
	for _, v := range e.Value {
		if was := ed.Values().ByName(protoreflect.Name(v.GetName())); was == nil || was.Number() != protoreflect.EnumNumber(v.GetNumber()) {
			return false
		}
	}
	return true
}
