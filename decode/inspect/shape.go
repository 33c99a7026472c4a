package inspect

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsproxy/xdsproxy/internal/protoscan"
)

// typeFacts is what an Inspector needs of one message type, ready to be used
// on the wire format. It is made when the type is met first.
type typeFacts struct {
	name   string
	md     protoreflect.MessageDescriptor
	made   bool
	fields []fieldFacts
	byNum  []uint16 // index into fields plus one; of numbers below its length

	any      bool
	mapEntry bool
	oneofs   int // how many have more than one field
	// required are sets of fields, as bits by index, of which one must be
	// there. Types with more than 64 fields count the others as always absent.
	required []uint64
	refs     *refType
}

type fieldFacts struct {
	name  string
	num   protowire.Number
	class fieldClass
	wire  protowire.Type
	list  bool
	// implicit says that the zero value is the same as none.
	implicit bool
	oneof    int // index plus one; 0: in none
	// deprecated fields and deprecatedValues of an enum are no longer to be used.
	deprecated       bool
	deprecatedValues map[int32]string
	use              Use // of a field that names a cluster, else 0
	sub              *typeFacts
	rule             *rule
}

// fieldClass is how a value is brought to the one form that it is hashed in.
type fieldClass uint8

const (
	classFixed fieldClass = iota // 4 or 8 bytes as they are
	classVarint
	classInt32 // and enums: only 32 bits count, with their sign
	classUint32
	classBool
	classString
	classBytes
	classMessage
	classMap
)

// field finds a field by number; -1 if it is not known.
func (t *typeFacts) field(num protowire.Number) int {
	if int(num) < len(t.byNum) {
		return int(t.byNum[num]) - 1
	}
	for i := len(t.fields) - 1; i >= 0; i-- {
		if t.fields[i].num == num {
			return i
		}
	}
	return -1
}

const anyName = "google.protobuf.Any"

// byName finds the facts of a type; nil if the registry does not have it.
func (in *Inspector) byName(name []byte) *typeFacts {
	if t := in.types[string(name)]; t != nil {
		return t
	}
	md := in.known.Find(protoreflect.FullName(name))
	if md == nil {
		return nil
	}
	return in.of(md)
}

// of returns the facts of a type, which may yet have to be made.
func (in *Inspector) of(md protoreflect.MessageDescriptor) *typeFacts {
	name := string(md.FullName())
	if t := in.types[name]; t != nil {
		return t
	}
	t := &typeFacts{name: name, md: md, any: name == anyName, mapEntry: md.IsMapEntry()}
	in.types[name] = t
	return t
}

func (in *Inspector) make(t *typeFacts) {
	t.made = true
	fields := t.md.Fields()
	oneofs := make(map[protoreflect.FullName]int)
	top := protowire.Number(0)
	t.fields = make([]fieldFacts, fields.Len())
	for i := range t.fields {
		fd := fields.Get(i)
		t.fields[i] = in.fieldFacts(fd)
		if o := fd.ContainingOneof(); o != nil && o.Fields().Len() > 1 {
			if oneofs[o.FullName()] == 0 {
				oneofs[o.FullName()] = len(oneofs) + 1
			}
			t.fields[i].oneof = oneofs[o.FullName()]
		}
		if fd.Number() < 128 {
			top = max(top, fd.Number())
		}
	}
	t.oneofs = len(oneofs)
	t.byNum = make([]uint16, top+1)
	for i := range t.fields {
		if n := t.fields[i].num; n <= top {
			t.byNum[n] = uint16(i + 1)
		}
	}
	in.addRules(t)
	in.addRefs(t)
}

func (in *Inspector) fieldFacts(fd protoreflect.FieldDescriptor) fieldFacts {
	f := fieldFacts{
		name: string(fd.Name()), num: fd.Number(), wire: protoscan.WireType(fd.Kind()), list: fd.IsList(),
		implicit: !fd.HasPresence() && !fd.IsList() && !fd.IsMap(),
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		f.class = classBool
	case protoreflect.Int32Kind, protoreflect.EnumKind:
		f.class = classInt32
	case protoreflect.Uint32Kind, protoreflect.Sint32Kind:
		f.class = classUint32
	case protoreflect.Int64Kind, protoreflect.Uint64Kind, protoreflect.Sint64Kind:
		f.class = classVarint
	case protoreflect.StringKind:
		f.class = classString
		if fd.ParentFile().Syntax() == protoreflect.Proto2 {
			f.class = classBytes // need not be UTF-8
		}
	case protoreflect.BytesKind:
		f.class = classBytes
	case protoreflect.MessageKind:
		f.class = classMessage
		f.sub = in.of(fd.Message())
	}
	if fd.IsMap() {
		f.class = classMap
	}
	if o, ok := fd.Options().(*descriptorpb.FieldOptions); ok {
		f.deprecated = o.GetDeprecated()
	}
	if ed := fd.Enum(); ed != nil {
		f.deprecatedValues = deprecatedValues(ed)
	}
	return f
}

func deprecatedValues(ed protoreflect.EnumDescriptor) (out map[int32]string) {
	for i := range ed.Values().Len() {
		v := ed.Values().Get(i)
		o, ok := v.Options().(*descriptorpb.EnumValueOptions)
		if !ok || !o.GetDeprecated() || v.Number() == 0 {
			continue
		}
		if out == nil {
			out = make(map[int32]string)
		}
		out[int32(v.Number())] = string(v.Name())
	}
	return out
}

// addRules translates the constraints of protoc-gen-validate, if the program
// has their definition, which the generated types bring along.
func (in *Inspector) addRules(t *typeFacts) {
	if in.fieldRules == nil || t.mapEntry {
		return
	}
	for i := range t.fields {
		f := &t.fields[i]
		fd := t.md.Fields().ByNumber(f.num)
		if opts := fd.Options(); proto.HasExtension(opts, in.fieldRules) {
			if rules, ok := proto.GetExtension(opts, in.fieldRules).(proto.Message); ok {
				f.rule = compileRule(fd, rules.ProtoReflect())
			}
		}
		if f.rule == nil {
			continue
		}
		if f.rule.failsAbsent(fd) {
			t.required = append(t.required, bit(i))
		}
		if f.class == classMap {
			in.addEntryRules(f.sub, f.rule)
		}
	}
	for i := range t.md.Oneofs().Len() {
		o := t.md.Oneofs().Get(i)
		opts := o.Options()
		if in.oneofRequired == nil || !proto.HasExtension(opts, in.oneofRequired) {
			continue
		}
		if must, _ := proto.GetExtension(opts, in.oneofRequired).(bool); must {
			set := uint64(0)
			for j := range o.Fields().Len() {
				set |= bit(t.field(o.Fields().Get(j).Number()))
			}
			t.required = append(t.required, set)
		}
	}
}

// addEntryRules puts the rules on keys and values of a map where the walk finds
// them: into the type of its entries, which no other map has.
func (in *Inspector) addEntryRules(entry *typeFacts, r *rule) {
	if !entry.made {
		in.make(entry)
	}
	for i, r := range []*rule{r.keys, r.values} {
		if entry.fields[i].rule = r; r != nil && r.failsAbsent(entry.md.Fields().Get(i)) {
			entry.required = append(entry.required, bit(i))
		}
	}
}

// bit is that of a field in a set; fields from the 65th on have none.
func bit(i int) uint64 { return 1 << i }
