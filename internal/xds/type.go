package xds

import (
	"slices"
	"strings"
)

// Type is what is known of a resource type. The zero Type stands for one that
// is not known.
type Type struct {
	Short string // the customary abbreviation, such as "CDS"

	// V3 and V2 are full message names, V2 "" where version 3 brought the type.
	// Also is another message whose resources are of the same state, or "".
	V3, V2, Also string

	// NameField is the JSON name of field 1 where that is the resource's name,
	// else "".
	NameField string

	// Core types are those that every client has, gRPC's included (gRFC A27).
	Core bool
	// Full types are those of which each state-of-the-world response has all
	// resources (xDS protocol, "Grouping Resources into Responses").
	Full bool
	// Whole types are those of which absence from a state-of-the-world response
	// deletes: by the protocol the Full ones, and SRDS because Envoy does so.
	Whole bool
	// Wildcard types are those of which a request without names may stand for
	// all: by the protocol the Full ones, SRDS and VHDS because Envoy asks so,
	// and Istio's.
	Wildcard bool
	// Named types are those whose resources are asked for by name.
	Named bool

	// Parents are the types whose resources refer to those of this one. They
	// belong to the table.
	Parents []string
}

// envoy says whether the type is of Envoy's API.
func (t *Type) envoy() bool { return strings.HasPrefix(t.V3, "envoy.") }

// ByURL finds the type that a type URL or a full message name is of.
func ByURL(typeURL string) Type {
	if t := byName[TypeName(typeURL)]; t != nil {
		return *t
	}
	return Type{}
}

// ByShort finds the type of an abbreviation.
func ByShort(short string) Type {
	if i := row(short); i >= 0 {
		return types[i]
	}
	return Type{}
}

func row(short string) int {
	return slices.IndexFunc(types[:], func(t Type) bool { return t.Short == short })
}

// ShortType is the customary abbreviation of a resource type, such as "CDS",
// the same for versions 2 and 3. A type without one gives the last part of its
// name: "ServiceEntry" for "networking.istio.io/v1alpha3/ServiceEntry".
func ShortType(typeURL string) string {
	name := TypeName(typeURL)
	if t := byName[name]; t != nil {
		return t.Short
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// TypeKey names the state that messages of a type share. The version 2 and the
// version 3 URL of one resource type have the same key; other types are their
// own.
func TypeKey(typeURL string) string {
	if t := byName[TypeName(typeURL)]; t != nil {
		return t.Short
	}
	return typeURL
}

// TypeURL is the type URL that a short type stands for, or "" if there is none
// of that name. "CDS" and "v3.CDS" mean version 3, "v2.CDS" version 2.
func TypeURL(word string) string {
	short, v2 := strings.CutPrefix(word, "v2.")
	if !v2 {
		short = strings.TrimPrefix(word, "v3.")
	}
	t := ByShort(short)
	name := t.V3
	if v2 {
		name = t.V2
	}
	if name == "" {
		return ""
	}
	return TypePrefix + name
}

// TypeWord is the shortest word for a type URL that TypeURL turns into the same
// again, or "" if there is none.
func TypeWord(typeURL string) string {
	name, ok := strings.CutPrefix(typeURL, TypePrefix)
	t := byName[name]
	switch {
	case !ok || t == nil:
		return ""
	case t.V3 == name:
		return t.Short
	case t.V2 == name:
		return "v2." + t.Short
	}
	return ""
}

// Order lists the types of Envoy's API in the order in which they are shown:
// what refers before what it refers to, as far as that goes.
func Order() []string { return shorts((*Type).envoy) }

// Core lists the core types, in the same order.
func Core() []string { return shorts(func(t *Type) bool { return t.Core }) }

// Rank is the place of a type in Order. All others come after these.
func Rank(short string) int {
	if i := row(short); i >= 0 && types[i].envoy() {
		return i
	}
	return len(types)
}

// ShortTypes returns every abbreviation that ShortType or the Type of a Method
// can be, in alphabetical order.
func ShortTypes() []string {
	out := shorts(func(*Type) bool { return true })
	for i := range services {
		if t := services[i].typ; t != "" {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func shorts(of func(*Type) bool) (out []string) {
	for i := range types {
		if of(&types[i]) {
			out = append(out, types[i].Short)
		}
	}
	return out
}
