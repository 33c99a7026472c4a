package main

import (
	"slices"
	"strings"

	annotations "github.com/cncf/xds/go/udpa/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// line is what the table says of one message type.
type line struct {
	name, flags string
	fields      []field
}

type field struct {
	num  protoreflect.FieldNumber
	kind byte
	sub  string // full name of a message
}

const anyName = "google.protobuf.Any"

// descriptors are all linked message types, map entries included, by name.
func descriptors() map[string]protoreflect.MessageDescriptor {
	all := make(map[string]protoreflect.MessageDescriptor)
	var add func(md protoreflect.MessageDescriptor)
	add = func(md protoreflect.MessageDescriptor) {
		all[string(md.FullName())] = md
		for i := range md.Messages().Len() {
			add(md.Messages().Get(i))
		}
	}
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		// Options and descriptors of descriptors are never sent.
		if p := fd.Path(); p != "google/protobuf/descriptor.proto" {
			for i := range fd.Messages().Len() {
				add(fd.Messages().Get(i))
			}
		}
		return true
	})
	return all
}

// collect derives the table.
func collect() []line {
	all := descriptors()
	texts := closure(all, holdsText)
	reaches := closure(all, mustSee)
	var lines []line
	for name, md := range all {
		if !texts[name] || name == anyName {
			continue
		}
		l := line{name: name, flags: flags(md)}
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if f, ok := row(fd, texts, reaches); ok {
				l.fields = append(l.fields, f)
			}
		}
		slices.SortFunc(l.fields, func(a, b field) int { return int(a.num - b.num) })
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return lines
}

// closure is the set of types for which has is true of themselves or of what
// they can hold at any depth. An Any counts as true.
func closure(all map[string]protoreflect.MessageDescriptor, has func(protoreflect.MessageDescriptor) bool) map[string]bool {
	set := map[string]bool{anyName: true}
	for grown := true; grown; {
		grown = false
		for name, md := range all {
			if set[name] {
				continue
			}
			found := has(md)
			for i := range md.Fields().Len() {
				if m := md.Fields().Get(i).Message(); m != nil && set[string(m.FullName())] {
					found = true
				}
			}
			if found {
				set[name], grown = true, true
			}
		}
	}
	return set
}

func isText(fd protoreflect.FieldDescriptor) bool {
	return fd.Kind() == protoreflect.StringKind || fd.Kind() == protoreflect.BytesKind
}

func holdsText(md protoreflect.MessageDescriptor) bool {
	for i := range md.Fields().Len() {
		if isText(md.Fields().Get(i)) {
			return true
		}
	}
	return false
}

// mustSee says whether the fields of a type itself have to be looked at.
func mustSee(md protoreflect.MessageDescriptor) bool {
	if flags(md) != "" {
		return true
	}
	for i := range md.Fields().Len() {
		if fd := md.Fields().Get(i); isSecret(fd) || isJWKS(fd) || isLoose(fd) {
			return true
		}
	}
	return false
}

func isSecret(fd protoreflect.FieldDescriptor) bool {
	return proto.GetExtension(fd.Options(), annotations.E_Sensitive).(bool) || secret.match(fd.FullName())
}

func isJWKS(fd protoreflect.FieldDescriptor) bool  { return jwks.match(fd.FullName()) }
func isLoose(fd protoreflect.FieldDescriptor) bool { return loose.match(fd.FullName()) }

// flags of a type: "*" if a field that is not known here may be a secret of a
// newer API, "k" or "h" and a number if that field names what the others hold,
// "h" if that is a header.
func flags(md protoreflect.MessageDescriptor) string {
	s := ""
	if strings.HasSuffix(string(md.FullName()), ".Secret") {
		s = "*"
	}
	for i := range md.Fields().Len() {
		if fd := md.Fields().Get(i); isSecret(fd) {
			s = "*"
		}
	}
	if unnamed.match(md.FullName()) {
		return s
	}
	if md.IsMapEntry() {
		// The keys of other maps name extensions and namespaces.
		value := md.Fields().ByNumber(2)
		if isText(md.Fields().ByNumber(1)) && (isText(value) || md.FullName() == "google.protobuf.Struct.FieldsEntry") {
			s += "k1"
		}
		return s
	}
	named := namedByHand.match(md.FullName())
	var key protoreflect.FieldDescriptor
	for _, n := range []protoreflect.Name{"name", "key"} {
		if fd := md.Fields().ByName(n); fd != nil && fd.Kind() == protoreflect.StringKind && !fd.IsList() {
			key = fd
		}
	}
	for _, n := range []protoreflect.Name{"value", "raw_value", "string_value", "default_value"} {
		if fd := md.Fields().ByName(n); fd != nil && (isText(fd) || fd.Message() != nil) {
			named = true
		}
	}
	if key == nil || !named {
		return s
	}
	mark := "k"
	if md.Name() == "HeaderValue" {
		mark = "h"
	}
	return s + mark + string(rune('0'+key.Number()))
}

// row is what the table says of one field; false if it never is
// length-delimited.
func row(fd protoreflect.FieldDescriptor, texts, reaches map[string]bool) (field, bool) {
	f := field{num: fd.Number(), kind: '-'}
	if m := fd.Message(); m != nil {
		if name := string(m.FullName()); texts[name] {
			f.sub = name
			f.kind = ':'
			if reaches[name] {
				f.kind = '>'
			}
		}
	}
	switch {
	case public.match(fd.FullName()):
		if f.kind = '.'; fd.Message() == nil && !isText(fd) {
			f.kind = '-'
		}
	case isSecret(fd):
		f.kind = '!'
	case isJWKS(fd):
		f.kind = 'j'
	case isLoose(fd):
		f.kind = 't'
	case isText(fd):
		f.kind = 's'
	case fd.FullName() == "google.protobuf.Value.number_value":
		f.kind = '#'
	case fd.Message() == nil && !fd.IsList():
		return f, false
	}
	return f, true
}
