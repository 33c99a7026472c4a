package lenient

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Text is JSON, or what was made of YAML.
type Text struct {
	json  []byte
	notes []*Fault
	place func(offset int) (line, col int)
}

// JSON is a text in JSON.
func JSON(data []byte) Text { return Text{json: data} }

// Types finds the message types that an Any holds; protoregistry.GlobalTypes
// does.
type Types interface {
	FindMessageByName(protoreflect.FullName) (protoreflect.MessageType, error)
}

// Into fills a message, which is empty. The notes are of what is read in another
// way than it is written; there are not too many of them.
func (t Text) Into(m proto.Message, types Types) (notes []*Fault, err *Fault) {
	r := reader{lexer: lexer{data: t.json, place: t.place}, types: types, notes: t.notes}
	err = r.message(m.ProtoReflect(), "the message", false)
	if err == nil && r.space() != 0 {
		err = r.syntax()
	}
	return r.notes, err
}

// Whole is Into where it is a fault, too, that something is left out.
func (t Text) Whole(m proto.Message, types Types) *Fault {
	notes, err := t.Into(m, types)
	if i := slices.IndexFunc(notes, (*Fault).LeftOut); i >= 0 && err == nil {
		err = notes[i]
	}
	return err
}

// maxMessages is how deep messages may be nested in one that is in an Any, that
// one among them: Envoy reads it again in binary, for which protobuf has a bound
// of its own.
const maxMessages = 101

// reader fills messages. What a field is called in faults is what it is called
// in the text.
type reader struct {
	lexer
	types  Types
	notes  []*Fault
	nested int    // messages, up to the next Any
	exact  *Exact // nil: as Envoy reads
	lost   bool   // there is no value to go on behind
}

func (r *reader) note(at int, kind Kind, format string, args ...any) {
	if len(r.notes) < maxNotes || r.exact != nil && len(r.notes) < maxFaults {
		r.notes = append(r.notes, r.wrong(at, format, args...).is(kind))
	}
}

// message fills a message from a value. inAny says that it is the content of an
// Any, whose members stand beside "@type".
func (r *reader) message(m protoreflect.Message, what string, inAny bool) *Fault {
	if r.nested++; r.nested > maxMessages {
		return r.wrong(r.pos, "nested too deep")
	}
	defer func() { r.nested-- }()
	special := specialOf(m.Descriptor().FullName())
	if special.read != nil && !inAny && !(special.object && r.space() == '{') {
		if special.null && r.isNull() {
			return r.word("null")
		}
		return special.read(r, m, what)
	}
	if c := r.space(); c != '{' {
		return r.not(r.pos, what, "message")
	}
	var seen seen
	typed := false
	member := func(key string, at int) *Fault {
		switch {
		case r.exact != nil && (key == unknownKey || key == undecodedKey):
			return r.tail(m, key)
		case !inAny:
		case key == typeKey && typed:
			return r.wrong(at, `the member "@type" stands twice`)
		case key == typeKey:
			typed = true
			return r.skip()
		case special.read != nil && key != "value":
			return r.wrong(at, `an Any of this type has no member but "@type" and "value"`)
		case special.read != nil:
			return r.message(m, what, false)
		}
		return r.field(m, key, at, &seen)
	}
	return r.object(func(key string, at int) *Fault {
		return r.value(func() *Fault { return member(key, at) })
	})
}

// not says that a value is not of a type. A token that is none is a syntax error.
func (r *reader) not(at int, what, kind string) *Fault {
	r.pos = at
	if err := r.skip(); err != nil {
		return err
	}
	return r.wrong(at, "%s is of type %s, and this value is not", Clipped(what), kind)
}

// seen are the fields and oneofs that were met in a message: no more than it has.
type seen []protoreflect.Descriptor

func (s *seen) add(d protoreflect.Descriptor) (again bool) {
	again = slices.Contains(*s, d)
	if !again {
		*s = append(*s, d)
	}
	return again
}

func (r *reader) field(m protoreflect.Message, key string, at int, seen *seen) *Fault {
	fields := m.Descriptor().Fields()
	fd := fields.ByJSONName(key)
	if fd == nil {
		fd = fields.ByName(protoreflect.Name(key))
	}
	if fd == nil {
		r.note(at, UnknownField, "there is no field %s", Quoted(key))
		return r.skip()
	}
	if r.isNull() && !takesNull(fd) {
		return r.word("null")
	}
	if o := fd.ContainingOneof(); o != nil && !o.IsSynthetic() && seen.add(o) {
		return r.wrong(at, "%s: oneof %s is already set", Clipped(key), o.Name())
	}
	if seen.add(fd) {
		r.note(at, twice(fd), "the field %s stands twice", Quoted(key))
	} else if fd.Cardinality() == protoreflect.Repeated || fd.Message() != nil {
		m.Clear(fd) // of a message that stands twice, the lists in it do not add up
	}
	switch {
	case fd.IsMap():
		return r.mapping(m.Mutable(fd).Map(), fd, key)
	case fd.IsList() && r.space() == '[':
		return r.elements(m.Mutable(fd).List(), fd, key)
	case fd.IsList():
		return r.element(m.Mutable(fd).List(), fd, key)
	case fd.Message() != nil:
		return r.message(m.Mutable(fd).Message(), key, false)
	}
	return r.set(m, fd, key)
}

// twice says what becomes of a field that stands twice.
func twice(fd protoreflect.FieldDescriptor) Kind {
	if !fd.IsList() && !fd.IsMap() && (fd.Message() == nil || specialOf(fd.Message().FullName()).read != nil) {
		return TwiceLast
	}
	return TwiceBoth
}

// takesNull says whether null is a value of a field.
func takesNull(fd protoreflect.FieldDescriptor) bool {
	return fd.Message() != nil && fd.Message().FullName() == "google.protobuf.Value" ||
		fd.Enum() != nil && fd.Enum().FullName() == "google.protobuf.NullValue"
}

func (r *reader) elements(l protoreflect.List, fd protoreflect.FieldDescriptor, what string) *Fault {
	return r.list(func() *Fault { return r.value(func() *Fault { return r.element(l, fd, what) }) })
}

func (r *reader) element(l protoreflect.List, fd protoreflect.FieldDescriptor, what string) *Fault {
	if r.space() == '[' && !takesLists(fd) {
		return r.elements(l, fd, what)
	}
	v, ok, err := r.single(l.NewElement, fd, what)
	if ok && (err == nil || r.exact != nil) { // others keep their places
		l.Append(v)
	}
	return err
}

func takesLists(fd protoreflect.FieldDescriptor) bool {
	if fd.Message() == nil {
		return false
	}
	name := fd.Message().FullName()
	return name == "google.protobuf.Value" || name == "google.protobuf.ListValue"
}

// single is an element of a list or a value of a map; false if it is left out.
func (r *reader) single(empty func() protoreflect.Value, fd protoreflect.FieldDescriptor, what string) (protoreflect.Value, bool, *Fault) {
	if r.isNull() && !takesNull(fd) {
		return empty(), true, r.word("null")
	}
	if fd.Message() == nil {
		return r.scalar(fd, what)
	}
	v := empty()
	return v, true, r.message(v.Message(), what, false)
}

func (r *reader) mapping(m protoreflect.Map, fd protoreflect.FieldDescriptor, what string) *Fault {
	if r.space() != '{' {
		return r.not(r.pos, what, "map")
	}
	if r.nested++; r.nested > maxMessages {
		return r.wrong(r.pos, "nested too deep")
	}
	defer func() { r.nested-- }()
	keys := make(map[string]struct{})
	entry := func(key string, at int) *Fault {
		if _, twice := keys[key]; twice {
			return r.wrong(at, "the key %s stands twice in the map", Quoted(key))
		}
		keys[key] = struct{}{}
		k, ok := mapKey(fd.MapKey(), key)
		if !ok {
			return r.wrong(at, "a key of %s is not of type %s", Clipped(what), fd.MapKey().Kind())
		}
		v, ok, err := r.single(m.NewValue, fd.MapValue(), what)
		if ok && err == nil {
			m.Set(k, v)
		}
		return err
	}
	return r.object(func(key string, at int) *Fault {
		return r.value(func() *Fault { return entry(key, at) })
	})
}

const typeKey = "@type"

// any reads an Any: its type may come last.
func (r *reader) any(m protoreflect.Message, what string) *Fault {
	if r.space() != '{' {
		return r.not(r.pos, what, "Any")
	}
	if r.exact != nil {
		if done, err := r.instead(m); done || err != nil {
			return err
		}
	}
	from, depth := r.pos, r.depth
	url, at, others := "", -1, false
	err := r.object(func(key string, _ int) *Fault {
		if at >= 0 {
			return errEnough
		}
		if key != typeKey {
			others = true
			return r.skip()
		}
		if c := r.space(); c != '"' && c != '\'' {
			return r.not(r.pos, typeKey, "string")
		}
		var err *Fault
		at = r.pos
		url, err = r.text()
		return err
	})
	if err != nil && err != errEnough {
		return err
	}
	if at < 0 {
		if others {
			return r.wrong(from, `the member "@type" is missing`)
		}
		return nil // Envoy takes {} for an Any with nothing in it
	}
	slash := strings.LastIndexByte(url, '/')
	if slash <= 0 && r.exact == nil {
		return r.wrong(at, `the member "@type" is not a type`)
	}
	name := url[slash+1:]
	mt, missing := r.types.FindMessageByName(protoreflect.FullName(name))
	if missing != nil {
		return r.wrong(at, "the type %s is not known to xdsproxy", Quoted(name)).is(UnknownType)
	}
	r.pos, r.depth = from, depth
	inner := mt.New()
	nested := r.nested
	r.nested = 0
	err = r.message(inner, "the "+string(inner.Descriptor().Name()), true)
	r.nested = nested
	if err != nil {
		return err
	}
	value, cannot := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(inner.Interface())
	if cannot != nil {
		return r.wrong(from, "it cannot be written as protobuf")
	}
	fields := m.Descriptor().Fields()
	m.Set(fields.ByNumber(1), protoreflect.ValueOfString(url))
	m.Set(fields.ByNumber(2), protoreflect.ValueOfBytes(value))
	return nil
}

// errEnough ends a walk.
var errEnough = &Fault{}
