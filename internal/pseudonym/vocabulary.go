package pseudonym

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/xdsproxy/xdsproxy/internal/xds"
)

// vocabulary is what names nothing that belongs to anybody: it stays.
type vocabulary struct {
	types   map[string]bool // full names of messages, enums and services, and packages
	api     map[string]bool // words of which names of the API consist, in lower case
	fields  map[string]bool // names of fields, as JSON writes them and as protobuf does
	camel   map[string]bool // names as generated code writes them
	enums   map[string]bool // names of enum values
	headers map[string]bool
	values  map[string]bool                           // whole values
	jwk     map[string]bool                           // members of a JSON web key
	allowed map[protoreflect.FullName]map[string]bool // by field: the values that it may have at all
	english map[string]bool                           // words of errors and comments
}

var newVocabulary = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{
		types: make(map[string]bool), api: make(map[string]bool), fields: make(map[string]bool), camel: make(map[string]bool), enums: make(map[string]bool),
		allowed: make(map[protoreflect.FullName]map[string]bool),
		headers: set(headerNames), values: set(wholeValues), english: set(englishWords), jwk: set("keys kty use alg kid n e crv x y x5c x5t"),
	}
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		v.types[string(f.Package())] = true
		v.split(string(f.Package()))
		v.messages(f.Messages())
		v.enumerations(f.Enums())
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			v.name(string(s.FullName()))
			for j := range s.Methods().Len() {
				v.camel[string(s.Methods().Get(j).Name())] = true
			}
		}
		return true
	})
	return v
})

func set(list string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

func (v *vocabulary) name(full string) {
	v.types[full] = true
	own := full[strings.LastIndexByte(full, '.')+1:]
	v.camel[own], v.camel[own+"ValidationError"] = true, true
	v.split(own)
}

// split takes the words of which a name of the API consists.
func (v *vocabulary) split(name string) {
	start := 0
	for i := 0; i <= len(name); i++ {
		if i == len(name) || !isLetter(name[i]) || i > start && name[i] < 'a' && name[i-1] >= 'a' {
			if i > start {
				v.api[lower(name[start:i])] = true
			}
			start = i
			if i < len(name) && !isLetter(name[i]) {
				start++
			}
		}
	}
}

func (v *vocabulary) messages(ms protoreflect.MessageDescriptors) {
	for i := range ms.Len() {
		m := ms.Get(i)
		v.name(string(m.FullName()))
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			name, json := string(f.Name()), f.JSONName()
			v.fields[name], v.fields[json] = true, true
			if json != "" {
				v.camel[json], v.camel[strings.ToUpper(json[:1])+json[1:]] = true, true
			}
			v.split(name)
			v.rules(f)
		}
		for j := range m.Oneofs().Len() {
			v.split(string(m.Oneofs().Get(j).Name()))
		}
		v.messages(m.Messages())
		v.enumerations(m.Enums())
	}
}

// rules takes the values that a field of text may have at all, such as the flags of a
// response: a client rejects any other one.
func (v *vocabulary) rules(f protoreflect.FieldDescriptor) {
	allow := func(value string) {
		if v.allowed[f.FullName()] == nil {
			v.allowed[f.FullName()] = make(map[string]bool)
		}
		v.allowed[f.FullName()][value] = true
	}
	var rules func(protoreflect.Message)
	rules = func(m protoreflect.Message) {
		m.Range(func(fd protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			switch {
			case fd.Kind() == protoreflect.MessageKind && !fd.IsList() && !fd.IsMap():
				rules(value.Message())
			case fd.Kind() == protoreflect.StringKind && fd.Name() == "in":
				for i := range value.List().Len() {
					allow(value.List().Get(i).String())
				}
			case fd.Kind() == protoreflect.StringKind && fd.Name() == "const":
				allow(value.String())
			}
			return true
		})
	}
	f.Options().ProtoReflect().Range(func(fd protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if fd.FullName() == "validate.rules" {
			rules(value.Message())
		}
		return true
	})
}

func (v *vocabulary) enumerations(es protoreflect.EnumDescriptors) {
	for i := range es.Len() {
		e := es.Get(i)
		v.name(string(e.FullName()))
		for j := range e.Values().Len() {
			name := string(e.Values().Get(j).Name())
			v.enums[name] = true
			v.split(name)
		}
	}
}

// stays says whether a word in lower case may stay in a text that people read.
func (v *vocabulary) stays(w string) bool { return v.api[w] || v.english[w] }

// value says whether a value stays as it is.
func (v *vocabulary) value(s string) bool {
	switch {
	case v.values[s], v.types[s], isMasked(s):
		return true
	case v.enums[s] && (strings.ToUpper(s) == s || strings.Contains(s, "_")): // TLSv1_3
		return true
	case strings.HasPrefix(s, "/"):
		m := xds.LookupMethod(s)
		return m.Path == s && m.Request != "" && !strings.Contains(s, "?")
	}
	if v.headers[lower(s)] && strings.ContainsAny(s, "-:") || v.extension(s) {
		return true
	}
	if at := strings.LastIndexByte(s, '/'); at > 0 { // a type URL, or that of a Kubernetes type
		return s[:at] == "type.googleapis.com" && v.types[s[at+1:]] || v.isGroup(s)
	}
	return false
}

// field says whether the key of an object stays that stands for a message.
func (v *vocabulary) field(s string) bool {
	return v.fields[s] || s == "@type" || v.jwk[s] || v.value(s) || strings.Contains(s, ".") && v.path(s)
}

// path says whether s leads through fields.
func (v *vocabulary) path(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !v.fields[part] {
			return false
		}
	}
	return true
}

// key says whether the key of a Struct stays: not a word that may be a name, too.
func (v *vocabulary) key(s string) bool {
	return v.value(s) || v.fields[s] && (strings.Contains(s, "_") || lower(s) != s)
}

func isMasked(s string) bool {
	return strings.HasPrefix(s, "[masked:") && strings.IndexByte(s, ']') == len(s)-1 || s != "" && strings.Trim(s, "*") == ""
}

// isGroup says whether s is the type of an API group, such as
// networking.istio.io/v1alpha3/VirtualService.
func (v *vocabulary) isGroup(s string) bool {
	s = strings.TrimPrefix(s, "type.googleapis.com/")
	if strings.HasPrefix(s, "istio.") && !strings.Contains(s, "/") {
		return true // its types are public, too
	}
	for _, root := range [...]string{"envoy.", "google.", "grpc.", "xds.", "udpa.", "hashicorp.", "solo.io.", "kuma."} {
		if strings.HasPrefix(s, root) && v.madeOfAPI(s) {
			return true
		}
	}
	group, rest, _ := strings.Cut(s, "/")
	version, kind, _ := strings.Cut(rest, "/")
	if !strings.HasPrefix(version, "v") || !isAPIVersion(version[1:]) || strings.Contains(kind, "/") {
		return false
	}
	for _, root := range [...]string{"istio.io", "k8s.io", "envoyproxy.io", "consul.hashicorp.com", "solo.io", "linkerd.io", "projectcontour.io"} {
		if group == root || strings.HasSuffix(group, "."+root) {
			return true // its types are public
		}
	}
	return false
}

// extension says whether s is the name of an extension of Envoy or Istio, or of
// one of their own runtime features.
func (v *vocabulary) extension(s string) bool {
	root, rest, ok := strings.Cut(s, ".")
	switch {
	case !ok, root != "envoy" && root != "istio" && root != "xds" && root != "udpa":
		return false
	case strings.HasPrefix(rest, "reloadable_features.") || strings.HasPrefix(rest, "restart_features."):
		return true // there are new ones with every release
	}
	return v.madeOfAPI(rest)
}

// madeOfAPI says whether all words of a name are words of the API.
func (v *vocabulary) madeOfAPI(s string) bool {
	for start, i := 0, 0; i <= len(s); i++ {
		if i < len(s) && isLetter(s[i]) && !(i > start && s[i] < 'a' && s[i-1] >= 'a') {
			continue
		}
		if w := lower(s[start:i]); w != "" && !v.api[w] && !v.english[w] {
			return false
		}
		if start = i; i < len(s) && !isLetter(s[i]) {
			if s[i] >= 0x80 || isDigit(s[i]) && i > 0 && isDigit(s[i-1]) {
				return false
			}
			start++
		}
	}
	return true
}

// form is the length of the form that begins at i, where a word begins.
func (v *vocabulary) form(s string, i int) int {
	rest := s[i:]
	for _, f := range forms {
		if rest[0] == f[0] && strings.HasPrefix(rest, f) && (!isWord(f[len(f)-1]) || len(rest) == len(f) || !isWord(rest[len(f)])) {
			return len(f)
		}
	}
	if n := strings.Index(rest[:min(len(rest), 16)], "://"); n > 0 && schemes[rest[:n]] {
		return n
	}
	n, dashed := 0, 0
	for n < len(rest) && n <= maxWhole && (isWord(rest[n]) || rest[n] == '_' || rest[n] == '.') {
		n++
	}
	for dashed < len(rest) && dashed < 64 && (isWord(rest[dashed]) || rest[dashed] == '-' || dashed == 0 && rest[0] == ':') {
		dashed++
	}
	if dashed > 0 && (rest[0] == ':' || strings.IndexByte(rest[:dashed], '-') > 0) && (i == 0 || s[i-1] != '-') && v.headers[lower(rest[:dashed])] {
		return dashed
	}
	if i > 0 && s[i-1] == '.' {
		return 0
	}
	run := strings.TrimRight(rest[:n], "._")
	for run != "" && strings.IndexByte(run, '.') > 0 {
		if v.types[run] || v.extension(run) {
			return len(run)
		}
		run = run[:strings.LastIndexByte(run, '.')]
	}
	return 0
}
